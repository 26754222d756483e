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

// course is a number over the epochs. A dashed line remains visible upon another.
type course struct {
	name   string
	dashed bool
	of     func(m train.Metrics) float64
}

// found is the relative error of the covariances found.
func found(m train.Metrics) float64 { return measured(m.Found) }

// measured is NaN, which is not drawn, where nothing was.
func measured(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

const relativeError = "Relative error on held-out problems"

// Training draws the loss, the error of the covariances found and the scalars over epochs.
func Training(metrics []train.Metrics) (*Picture, error) {
	objective, err := overEpochs("Objective", metrics,
		course{"loss", false, func(m train.Metrics) float64 { return m.Loss }},
		course{"residual |f - v(o)|", false, func(m train.Metrics) float64 { return m.Residual }},
		course{"standard deviation of v(o)", false, func(m train.Metrics) float64 { return m.Deviation }})
	if err != nil {
		return nil, err
	}
	if y := &objective.Y; y.Min > 1/largest && y.Max < largest { // whole decades around the values
		y.Scale, y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
		y.Min, y.Max = math.Pow(10, math.Floor(math.Log10(y.Min))), math.Pow(10, math.Ceil(math.Log10(y.Max)))
	}
	quality, err := overEpochs(relativeError, metrics,
		course{"covariance found", false, found},
		course{"best tuple", true, func(m train.Metrics) float64 { return measured(m.Tuple) }},
		course{"single-task learning", true, func(train.Metrics) float64 { return 1 }})
	if err != nil {
		return nil, err
	}
	var scalars []course
	for _, name := range slices.Sorted(maps.Keys(metrics[0].Scalars)) {
		for i := range metrics[0].Scalars[name] {
			scalars = append(scalars, course{fmt.Sprintf("%s %d", name, i+1), i%2 == 1, func(m train.Metrics) float64 { return m.Scalars[name][i] }})
		}
	}
	parameters, err := overEpochs("Parameters above the embeddings", metrics, scalars...)
	return &Picture{15 * vg.Inch, 5 * vg.Inch, []*plot.Plot{objective, quality, parameters}}, err
}

// Runs draws the relative error of the covariances found on held-out problems over the
// epochs of several runs, those of a name in one colour.
func Runs(names []string, runs [][][]train.Metrics) (*Picture, error) {
	p, err := overEpochs(relativeError, nil)
	for i, name := range names {
		for _, metrics := range runs[i] {
			if err == nil {
				err = course{name, false, found}.add(p, metrics, palette[i%len(palette)])
			}
			name = "" // once in the legend
		}
	}
	return &Picture{8 * vg.Inch, 5 * vg.Inch, []*plot.Plot{p}}, err
}

// overEpochs is a plot of numbers over the epochs.
func overEpochs(title string, metrics []train.Metrics, lines ...course) (*plot.Plot, error) {
	p := newPlot(title, "epoch", "")
	p.X.Tick.Marker = plainTicks{whole: true}
	p.Add(plotter.NewGrid())
	for i, l := range lines {
		if err := l.add(p, metrics, palette[i%len(palette)]); err != nil {
			return nil, fmt.Errorf("plot %q, line %q: %w", title, l.name, err)
		}
	}
	return p, nil
}

func (c course) add(p *plot.Plot, metrics []train.Metrics, colour color.Color) error {
	var points plotter.XYs
	for _, m := range metrics {
		if y := c.of(m); !math.IsNaN(y) {
			points = append(points, plotter.XY{X: float64(m.Epoch), Y: y})
		}
	}
	if points == nil { // nothing was measured
		return nil
	}
	style := draw.LineStyle{Color: colour, Width: vg.Points(1.5)}
	if c.dashed {
		style.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
	}
	return addLine(p, c.name, points, style)
}
