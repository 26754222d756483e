package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"l2mt/data"
	"l2mt/infer/compare"
	"l2mt/infer/solve"
	"l2mt/train"
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

// save writes what a function that plots returned, and says where.
func (f *plotFlags) save(e *env, p *picture, err error) error {
	if p == nil && err == nil {
		err = fmt.Errorf("%w: single-task learning makes no error there, so nothing is relative to it", data.ErrInvalid)
	}
	if err := savePicture(f.Out, p, err); err != nil {
		return err
	}
	return e.print(map[string]string{"picture": f.Out}, func(w io.Writer) { fmt.Fprintln(w, f.Out) })
}

func (f *plotFlags) load(name string, v any) error { return loadJSON(filepath.Join(f.Dir, name), v) }

type plotTrainingCmd struct {
	plotFlags `embed:""`
}

func (c *plotTrainingCmd) Run(e *env) error {
	metrics, err := readMetrics(c.Dir)
	if err != nil {
		return err
	}
	picture, err := plotTraining(metrics)
	return c.save(e, picture, err)
}

// metricsFile is where a training run keeps its metrics.
const metricsFile = "metrics.jsonl"

func readMetrics(dir string) ([]train.Metrics, error) {
	path := filepath.Join(dir, metricsFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	metrics, err := parseMetrics(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, data.ErrFormat, err)
	}
	return metrics, nil
}

// parseMetrics reads the metrics of the start and of all epochs, which have the
// same parameters.
func parseMetrics(raw []byte) (metrics []train.Metrics, err error) {
	for lines := json.NewDecoder(bytes.NewReader(raw)); ; {
		var m train.Metrics
		err := lines.Decode(&m)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", len(metrics)+1, err)
		}
		metrics = append(metrics, m)
		for name, v := range metrics[0].Scalars {
			if len(m.Scalars[name]) != len(v) {
				return nil, fmt.Errorf("line %d: %d numbers of %s; the first line has %d", len(metrics), len(m.Scalars[name]), name, len(v))
			}
		}
	}
	if len(metrics) == 0 {
		return nil, errors.New("it is empty")
	}
	return metrics, nil
}

type plotTableCmd struct {
	plotFlags `embed:""`
}

func (c *plotTableCmd) Run(e *env) error {
	var table compare.Table
	if err := c.load("table.json", &table); err != nil {
		return err
	}
	picture, err := plotTable(&table)
	return c.save(e, picture, err)
}

type plotCorrelationCmd struct {
	plotFlags `embed:""`
}

func (c *plotCorrelationCmd) Run(e *env) error {
	var r inferred
	if err := c.load("result.json", &r); err != nil {
		return err
	}
	picture, err := plotCorrelations(r.Tasks, r.views())
	return c.save(e, picture, err)
}

type plotSweepCmd struct {
	plotFlags   `embed:""`
	Correlation bool `help:"Draw the correlations of a case study instead."`
}

func (c *plotSweepCmd) Run(e *env) error {
	var r sweepResult
	if err := c.load(sweepFile, &r); err != nil {
		return err
	}
	plot := plotSweep
	if c.Correlation {
		plot = plotCase
	}
	picture, err := plot(&r)
	return c.save(e, picture, err)
}

type plotEmbeddingCmd struct {
	plotFlags `embed:""`
	Problem   string `type:"path" placeholder:"FILE" help:"Problem file with tasks to show among those of training."`
	Name      string `help:"Name of one problem of the file; by default all are taken."`
	dataFlags `embed:""`
}

func (c *plotEmbeddingCmd) Run(e *env) error {
	atlas, err := solve.LoadAtlas(c.Dir)
	if err != nil {
		return err
	}
	var places []solve.Place
	if c.Problem != "" {
		if places, err = c.places(); err != nil {
			return err
		}
	}
	picture, err := plotEmbedding(atlas, places...)
	return c.save(e, picture, err)
}

// places are where the network sees the problems of the file.
func (c *plotEmbeddingCmd) places() (places []solve.Place, err error) {
	network, err := loadNetwork(c.Dir)
	if err != nil {
		return nil, err
	}
	flags := problemFlags{Problem: c.Problem, Name: c.Name, dataFlags: c.dataFlags}
	problems, err := flags.open()
	if err != nil {
		return nil, err
	}
	for _, p := range problems {
		embedding, err := network.Embed(p)
		if err != nil {
			return nil, err
		}
		places = append(places, embedding.Place())
	}
	return places, nil
}
