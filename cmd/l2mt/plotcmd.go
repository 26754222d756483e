package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image/color"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	rainbow "gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"l2mt/data"
	"l2mt/infer"
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

// drawn says where the picture is.
func (f *plotFlags) drawn(e *env, err error) error {
	if err != nil {
		return err
	}
	return e.print(map[string]string{"picture": f.Out}, func(w io.Writer) { fmt.Fprintln(w, f.Out) })
}

func (f *plotFlags) load(name string, v any) error { return loadJSON(filepath.Join(f.Dir, name), v) }

type plotTrainingCmd struct {
	plotFlags `embed:""`
}

func (c *plotTrainingCmd) Run(e *env) error {
	path := filepath.Join(c.Dir, "metrics.jsonl")
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	metrics, err := parseMetrics(raw)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", path, data.ErrFormat, err)
	}
	return c.drawn(e, plotTraining(c.Out, metrics))
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
	var table infer.Table
	if err := c.load("table.json", &table); err != nil {
		return err
	}
	return c.drawn(e, plotTable(c.Out, &table))
}

type plotCorrelationCmd struct {
	plotFlags `embed:""`
}

func (c *plotCorrelationCmd) Run(e *env) error {
	var r inferred
	if err := c.load("result.json", &r); err != nil {
		return err
	}
	return c.drawn(e, plotCorrelations(c.Out, r.Tasks, r.views()))
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
	switch {
	case !c.Correlation:
		return c.drawn(e, plotSweep(c.Out, &r))
	case len(r.Correlations) == 0:
		return fmt.Errorf("%w: %s: the sweep has no case study", errUsage, c.Dir)
	}
	return c.drawn(e, plotCase(c.Out, &r))
}

type plotEmbeddingCmd struct {
	plotFlags `embed:""`
}

func (c *plotEmbeddingCmd) Run(e *env) error {
	atlas, err := infer.LoadAtlas(c.Dir)
	if err != nil {
		return err
	}
	return c.drawn(e, plotEmbedding(c.Out, atlas))
}

// plotEmbedding draws the tasks of an atlas in the plane, by classical scaling
// of their distances. Tasks of one name, which differ in their rows, share a
// colour, and their name stands at their mean.
func plotEmbedding(path string, atlas *infer.Atlas) error {
	var names []string
	var e [][]float32
	for _, p := range atlas.Problems {
		names, e = append(names, p.Tasks...), append(e, p.E...)
	}
	at, kept, err := scaled(e)
	if err != nil {
		return fmt.Errorf("plot %s: %w", path, err)
	}
	groups := map[string]plotter.XYs{}
	for i, name := range names {
		groups[name] = append(groups[name], at[i])
	}
	p := plot.New()
	p.Title.Text = fmt.Sprintf("%d training tasks as the network sees them", len(names))
	p.Title.Padding, p.Title.TextStyle.Font.Size = vg.Points(8), 13
	p.X.Label.Text = fmt.Sprintf("first coordinate (the two keep %.0f %% of the squared distances; a task and its mirror image are one)", 100*kept)
	p.Y.Label.Text = "second coordinate"
	p.Add(plotter.NewGrid())
	colours := rainbow.Rainbow(len(groups), 0, 0.9, 0.9, 0.7, 1).Colors()
	var placed plotter.XYs
	var labels []plot.Plotter // above all marks
	for i, name := range slices.Sorted(maps.Keys(groups)) {
		mean := centre(groups[name])
		if err := drawGroup(p, groups[name], mean, colours[i]); err != nil {
			return fmt.Errorf("plot %s: %w", path, err)
		}
		mean = clearOf(mean, placed, at)
		placed = append(placed, mean)
		label, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{mean}, Labels: []string{name}})
		if err != nil {
			return fmt.Errorf("plot %s: %w", path, err)
		}
		style := &label.TextStyle[0]
		style.Color, style.Font.Size = colours[i], 10
		style.XAlign, style.YAlign = text.XCenter, text.YBottom
		label.Offset.Y = vg.Points(3)
		labels = append(labels, label)
	}
	p.Add(labels...)
	p.X.Padding, p.Y.Padding = vg.Points(10), vg.Points(10)
	return savePlots(path, 9*vg.Inch, 8*vg.Inch, p)
}

// drawGroup draws tasks of one name, tied to their mean.
func drawGroup(p *plot.Plot, tasks plotter.XYs, mean plotter.XY, c color.Color) error {
	for _, t := range tasks {
		tie, err := plotter.NewLine(plotter.XYs{mean, t})
		if err != nil {
			return err
		}
		tie.LineStyle = draw.LineStyle{Color: c, Width: vg.Points(0.4)}
		p.Add(tie)
	}
	marks, err := plotter.NewScatter(tasks)
	if err != nil {
		return err
	}
	marks.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(2.5), Shape: draw.CircleGlyph{}}
	p.Add(marks)
	return nil
}

// clearOf moves the place of a label up or down, as little as needed, until it
// covers no other one. The size of a label is taken as a share of the picture.
func clearOf(at plotter.XY, placed, all plotter.XYs) plotter.XY {
	left, right, low, high := plotter.XYRange(all)
	width, height := 0.06*(right-left), 0.02*(high-low)
	free := at
	for step := 1; slices.ContainsFunc(placed, func(o plotter.XY) bool {
		return math.Abs(o.X-free.X) < width && math.Abs(o.Y-free.Y) < height
	}); step++ {
		free.Y = at.Y + height/2*float64(step/2)*float64(1-2*(step%2))
	}
	return free
}

func centre(points plotter.XYs) (c plotter.XY) {
	for _, p := range points {
		c.X += p.X / float64(len(points))
		c.Y += p.Y / float64(len(points))
	}
	return c
}

// scaled places embeddings in the plane by classical scaling: the two leading
// eigenvectors of the doubly centred matrix of squared distances. As in the
// atlas, a task and the task with all labels flipped are the same. It also
// returns the share of the positive eigenvalues that the two have.
func scaled(e [][]float32) (at plotter.XYs, kept float64, err error) {
	n := len(e)
	squared := mat.NewSymDense(n, nil)
	mean, all := make([]float64, n), 0.0
	for i := range n {
		for j := range n {
			minus, plus := 0.0, 0.0
			for k, v := range e[i] {
				d, s := float64(v-e[j][k]), float64(v+e[j][k])
				minus += d * d
				plus += s * s
			}
			d := min(minus, plus)
			squared.SetSym(i, j, d)
			mean[i] += d / float64(n)
		}
		all += mean[i] / float64(n)
	}
	for i := range n {
		for j := i; j < n; j++ {
			squared.SetSym(i, j, -(squared.At(i, j)-mean[i]-mean[j]+all)/2)
		}
	}
	var eigen mat.EigenSym
	if n < 3 || !eigen.Factorize(squared, true) {
		return nil, 0, fmt.Errorf("%w: %d tasks cannot be placed in the plane", data.ErrInvalid, n)
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	values := eigen.Values(nil)
	positive := 0.0
	for _, v := range values {
		positive += max(v, 0)
	}
	if positive == 0 {
		return nil, 0, fmt.Errorf("%w: all embeddings are the same", data.ErrInvalid)
	}
	at = make(plotter.XYs, n)
	for i := range at {
		at[i].X = vectors.At(i, n-1) * math.Sqrt(max(values[n-1], 0))
		at[i].Y = vectors.At(i, n-2) * math.Sqrt(max(values[n-2], 0))
	}
	return at, (max(values[n-1], 0) + max(values[n-2], 0)) / positive, nil
}
