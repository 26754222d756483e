package plot

import (
	"fmt"
	"image/color"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"l2mt/train"
)

// Training draws the loss, the correlations and the scalars over epochs.
func Training(metrics []train.Metrics) (*Picture, error) {
	losses := []course{
		{"loss", false, func(m train.Metrics) float64 { return m.Loss }},
		{"residual |f - v(o)|", false, func(m train.Metrics) float64 { return m.Residual }},
		{"standard deviation of v(o)", false, func(m train.Metrics) float64 { return m.Deviation }},
	}
	correlations := []course{
		{"held out, within problems", false, func(m train.Metrics) float64 { return m.HeldOut.Within }},
		{"training, within problems", false, func(m train.Metrics) float64 { return m.Training.Within }},
		{"held out, overall", true, func(m train.Metrics) float64 { return m.HeldOut.Overall }},
		{"training, overall", true, func(m train.Metrics) float64 { return m.Training.Overall }},
	}
	quality := "Rank correlation of f with the relative error"
	if metrics[0].Found != nil {
		quality = "Relative error on held-out problems"
		correlations = []course{
			{"covariance found", false, found},
			{"best tuple", true, func(m train.Metrics) float64 { return *m.Tuple }},
			{"single-task learning", true, func(train.Metrics) float64 { return 1 }},
		}
	}
	var scalars []course
	for _, name := range slices.Sorted(maps.Keys(metrics[0].Scalars)) {
		for i := range metrics[0].Scalars[name] {
			scalars = append(scalars, course{fmt.Sprintf("%s %d", name, i+1), i%2 == 1, func(m train.Metrics) float64 { return m.Scalars[name][i] }})
		}
	}
	var plots []*plot.Plot
	for _, d := range []struct {
		title string
		lines []course
	}{
		{"Objective", losses},
		{quality, correlations},
		{"Parameters above the embeddings", scalars},
	} {
		p := overEpochs(d.title)
		for i, l := range d.lines {
			if err := l.add(p, metrics, palette[i%len(palette)]); err != nil {
				return nil, fmt.Errorf("plot %q, line %q: %w", d.title, l.name, err)
			}
		}
		plots = append(plots, p)
	}
	if y := &plots[0].Y; y.Min > 1/largest && y.Max < largest { // whole decades around the values
		y.Scale, y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
		y.Min, y.Max = math.Pow(10, math.Floor(math.Log10(y.Min))), math.Pow(10, math.Ceil(math.Log10(y.Max)))
	}
	if metrics[0].Found == nil {
		plots[1].Y.Min, plots[1].Y.Max = min(plots[1].Y.Min, 0), 1
	}
	return &Picture{15 * vg.Inch, 5 * vg.Inch, plots}, nil
}

// found is the relative error of the covariances found.
func found(m train.Metrics) float64 { return *m.Found }

// Runs draws the relative error of the covariances found on held-out problems, or where it
// was not measured the rank correlation, over the epochs of several runs, those of a name in
// one colour.
func Runs(names []string, runs [][][]train.Metrics) (*Picture, error) {
	title, of := "Relative error on held-out problems", found
	for _, metrics := range slices.Concat(runs...) {
		if metrics[0].Found == nil {
			title, of = "Rank correlation on held-out problems", func(m train.Metrics) float64 { return m.HeldOut.Within }
		}
	}
	p := overEpochs(title)
	for i, name := range names {
		for _, metrics := range runs[i] {
			l := course{name, false, of}
			if err := l.add(p, metrics, palette[i%len(palette)]); err != nil {
				return nil, err
			}
			name = "" // once in the legend
		}
	}
	return &Picture{8 * vg.Inch, 5 * vg.Inch, []*plot.Plot{p}}, nil
}

func overEpochs(title string) *plot.Plot {
	p := newPlot(title, "epoch", "")
	p.X.Tick.Marker = plainTicks{least: 1}
	p.Add(plotter.NewGrid())
	return p
}

// course is a number over the epochs. A dashed line remains visible upon another.
type course struct {
	name   string
	dashed bool
	of     func(m train.Metrics) float64
}

func (c course) add(p *plot.Plot, metrics []train.Metrics, colour color.Color) error {
	var points plotter.XYs
	for _, m := range metrics {
		if y := c.of(m); !math.IsNaN(y) {
			points = append(points, plotter.XY{X: float64(m.Epoch), Y: y})
		}
	}
	style := draw.LineStyle{Color: colour, Width: vg.Points(1.5)}
	if c.dashed {
		style.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
	}
	return addLine(p, c.name, points, style)
}
