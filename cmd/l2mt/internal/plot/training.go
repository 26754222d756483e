package plot

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"l2mt/train"
)

// course is a number over the epochs, NaN where nothing was measured.
type course func(m train.Metrics) float64

// found is the relative error of the covariances found.
func found(m train.Metrics) float64 { return measured(m.Found) }

func measured(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

const relativeError = "Relative error on held-out problems"

// Training draws the loss, the error of the covariances found and the scalars over epochs.
func Training(metrics []train.Metrics) (*Picture, error) {
	objective, quality, parameters := overEpochs("Objective"), overEpochs(relativeError), overEpochs("Parameters above the embeddings")
	err := errors.Join(
		addCourse(objective, 0, "loss", metrics, func(m train.Metrics) float64 { return m.Loss }),
		addCourse(objective, 1, "residual |f - v(o)|", metrics, func(m train.Metrics) float64 { return m.Residual }),
		addCourse(objective, 2, "standard deviation of v(o)", metrics, func(m train.Metrics) float64 { return m.Deviation }),
		addCourse(quality, 0, "covariance found", metrics, found),
		addCourse(quality, 1, "best tuple", metrics, func(m train.Metrics) float64 { return measured(m.Tuple) }),
		addCourse(quality, 2, "single-task learning", metrics, func(train.Metrics) float64 { return 1 }))
	if y := &objective.Y; y.Min > 1/largest && y.Max < largest { // whole decades around the values
		y.Scale, y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
		y.Min, y.Max = math.Pow(10, math.Floor(math.Log10(y.Min))), math.Pow(10, math.Ceil(math.Log10(y.Max)))
	}
	n := 0
	for _, name := range slices.Sorted(maps.Keys(metrics[0].Scalars)) {
		for i := range metrics[0].Scalars[name] {
			err = errors.Join(err, addCourse(parameters, n, fmt.Sprintf("%s %d", name, i+1), metrics, func(m train.Metrics) float64 { return m.Scalars[name][i] }))
			n++
		}
	}
	return &Picture{15 * vg.Inch, 5 * vg.Inch, []*plot.Plot{objective, quality, parameters}}, err
}

// Runs draws the relative error of the covariances found on held-out problems over the
// epochs of several runs, those of a name in one colour.
func Runs(names []string, runs [][][]train.Metrics) (*Picture, error) {
	p := overEpochs(relativeError)
	for i, name := range names {
		for _, metrics := range runs[i] {
			if err := addCourse(p, i, name, metrics, found); err != nil {
				return nil, err
			}
			name = "" // once in the legend
		}
	}
	return &Picture{8 * vg.Inch, 5 * vg.Inch, []*plot.Plot{p}}, nil
}

// overEpochs is an empty plot of numbers over the epochs.
func overEpochs(title string) *plot.Plot {
	p := newPlot(title, "epoch", "")
	p.X.Tick.Marker = plainTicks{whole: true}
	p.Add(plotter.NewGrid())
	return p
}

// addCourse draws line i of a plot, if anything was measured.
func addCourse(p *plot.Plot, i int, name string, metrics []train.Metrics, of course) error {
	var points plotter.XYs
	for _, m := range metrics {
		if y := of(m); !math.IsNaN(y) {
			points = append(points, plotter.XY{X: float64(m.Epoch), Y: y})
		}
	}
	if points == nil {
		return nil
	}
	// Lines that cover each other differ in their dashes.
	return addLine(p, name, points, draw.LineStyle{Color: palette[i%len(palette)], Width: vg.Points(1.5), Dashes: plotutil.Dashes(i)})
}
