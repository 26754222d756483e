package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	What string `arg:"" enum:"training,table,correlation,sweep,embedding" help:"Picture: loss, correlations and parameters over the epochs of a training run (training), relative errors of the methods of an evaluation (table) or of a sweep (sweep), task correlations of an inference or of a sweep's case study (correlation), or the map of the training tasks as a network sees them (embedding)."`
	Dir  string `arg:"" type:"existingdir" help:"Directory that the command wrote."`
	Out  string `required:"" type:"path" help:"Picture to write, as .png or .svg."`
}

// Validate is of the command line, before anything is read.
func (c *plotCmd) Validate() error {
	if end := strings.ToLower(filepath.Ext(c.Out)); c.Out != "" && !slices.Contains([]string{".png", ".svg"}, end) {
		return fmt.Errorf("--out=%s: pictures are written as .png or .svg", c.Out)
	}
	return nil
}

func (c *plotCmd) Run(e *env) error {
	picture, err := c.draw()
	if picture == nil && err == nil {
		err = fmt.Errorf("%w: single-task learning makes no error there, so nothing is relative to it", data.ErrInvalid)
	}
	if err := plot.Save(c.Out, picture, err); err != nil {
		return err
	}
	return e.print(map[string]string{"picture": c.Out}, func(w io.Writer) { fmt.Fprintln(w, c.Out) })
}

func (c *plotCmd) draw() (*plot.Picture, error) {
	switch c.What {
	case "training":
		metrics, err := run.LoadMetrics(c.Dir)
		if err != nil {
			return nil, err
		}
		return plot.Training(metrics)
	case "table":
		table, err := run.LoadTable(c.Dir)
		if err != nil {
			return nil, err
		}
		return plot.Table(table)
	case "sweep":
		r, err := sweep.Load(c.Dir)
		if err != nil {
			return nil, err
		}
		return r.Picture()
	case "embedding":
		atlas, err := solve.LoadAtlas(c.Dir)
		if err != nil {
			return nil, err
		}
		return plot.Embedding(atlas)
	}
	r, _, err := run.LoadInference(c.Dir)
	if err == nil {
		return plot.Correlations(r.Correlations())
	}
	s, none := sweep.Load(c.Dir)
	switch {
	case errors.Is(none, fs.ErrNotExist):
		return nil, err
	case none != nil:
		return nil, none
	case len(s.Correlations) == 0:
		return nil, fmt.Errorf("%w: the sweep has no case study", errUsage)
	}
	return plot.Correlations(s.Correlations)
}
