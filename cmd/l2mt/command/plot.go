package command

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/cmd/l2mt/internal/run"
	"l2mt/cmd/l2mt/internal/sweep"
	"l2mt/data"
	"l2mt/infer/solve"
)

type plotCmd struct {
	Training    plotTrainingCmd    `cmd:"" help:"Loss, correlations and parameters over the epochs of a training run."`
	Table       plotTableCmd       `cmd:"" help:"Relative errors of the methods of an evaluation."`
	Correlation plotCorrelationCmd `cmd:"" help:"Task correlations of an inference."`
	Sweep       plotSweepCmd       `cmd:"" help:"Relative errors of a sweep."`
	Embedding   plotEmbeddingCmd   `cmd:"" help:"Map of the training tasks as a network sees them."`
}

// plotFlags are what all pictures have in common.
type plotFlags struct {
	Dir string `arg:"" type:"existingdir" help:"Directory that the command wrote."`
	Out string `required:"" type:"path" help:"Picture to write, as .png or .svg."`
}

// Validate is of the command line, before anything is read.
func (f *plotFlags) Validate() error {
	if end := strings.ToLower(filepath.Ext(f.Out)); f.Out != "" && !slices.Contains([]string{".png", ".svg"}, end) {
		return fmt.Errorf("--out=%s: pictures are written as .png or .svg", f.Out)
	}
	return nil
}

// save writes what a function that draws returned, and says where.
func (f *plotFlags) save(e *env, p *plot.Picture, err error) error {
	if p == nil && err == nil {
		err = fmt.Errorf("%w: single-task learning makes no error there, so nothing is relative to it", data.ErrInvalid)
	}
	if err := plot.Save(f.Out, p, err); err != nil {
		return err
	}
	return e.print(map[string]string{"picture": f.Out}, func(w io.Writer) { fmt.Fprintln(w, f.Out) })
}

type plotTrainingCmd struct {
	plotFlags `embed:""`
}

func (c *plotTrainingCmd) Run(e *env) error {
	metrics, err := run.LoadMetrics(c.Dir)
	if err != nil {
		return err
	}
	picture, err := plot.Training(metrics)
	return c.save(e, picture, err)
}

type plotTableCmd struct {
	plotFlags `embed:""`
}

func (c *plotTableCmd) Run(e *env) error {
	table, err := run.LoadTable(c.Dir)
	if err != nil {
		return err
	}
	picture, err := plot.Table(table)
	return c.save(e, picture, err)
}

type plotCorrelationCmd struct {
	plotFlags `embed:""`
}

func (c *plotCorrelationCmd) Run(e *env) error {
	r, _, err := run.LoadInference(c.Dir)
	if err != nil {
		return err
	}
	picture, err := plot.Correlations(r.Correlations())
	return c.save(e, picture, err)
}

type plotSweepCmd struct {
	plotFlags   `embed:""`
	Correlation bool `help:"Draw the correlations of a case study instead."`
}

func (c *plotSweepCmd) Run(e *env) error {
	r, err := sweep.Load(c.Dir)
	switch {
	case err != nil:
		return err
	case c.Correlation && len(r.Correlations) == 0:
		return fmt.Errorf("%w: the sweep has no case study", errUsage)
	case c.Correlation:
		picture, err := plot.Correlations(r.Correlations)
		return c.save(e, picture, err)
	}
	picture, err := r.Picture()
	return c.save(e, picture, err)
}

type plotEmbeddingCmd struct {
	plotFlags `embed:""`
	Problems  string `type:"path" placeholder:"FILE" help:"Problem file with tasks to show among those of training."`
	Name      string `help:"Name of one problem of the file; by default all are taken."`
	dataFlags `embed:""`
}

func (c *plotEmbeddingCmd) Run(e *env) error {
	atlas, err := solve.LoadAtlas(c.Dir)
	if err != nil {
		return err
	}
	var embedded []solve.Embedded
	if c.Problems != "" {
		if embedded, err = c.embedded(); err != nil {
			return err
		}
	}
	picture, err := plot.Embedding(atlas, embedded...)
	return c.save(e, picture, err)
}

// embedded are the problems of the file as the network embeds them.
func (c *plotEmbeddingCmd) embedded() (embedded []solve.Embedded, err error) {
	network, err := run.LoadNetwork(c.Dir)
	if err != nil {
		return nil, err
	}
	flags := problemFlags{Problems: c.Problems, Name: c.Name, dataFlags: c.dataFlags}
	problems, err := flags.open()
	if err != nil {
		return nil, err
	}
	for _, p := range problems {
		embedding, err := network.Embed(p)
		if err != nil {
			return nil, err
		}
		tasks, ok := embedding.Tasks()
		if !ok {
			return nil, fmt.Errorf("%s: the network embeds pairs of tasks, and an atlas takes tasks", c.Dir)
		}
		embedded = append(embedded, tasks)
	}
	return embedded, nil
}
