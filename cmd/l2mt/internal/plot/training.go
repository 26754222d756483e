package plot

import (
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

// Training draws the loss, the error of the covariances found and the scalars of the start over
// epochs.
func Training(metrics []train.Metrics) *Picture {
	if len(metrics) == 0 {
		return nil
	}
	objective, quality, parameters := overEpochs("Objective"), overEpochs(relativeError), overEpochs("Parameters above the embeddings")
	addCourse(objective, 0, "loss", metrics, func(m train.Metrics) float64 { return m.Loss })
	addCourse(objective, 1, "residual |f - v(o)|", metrics, func(m train.Metrics) float64 { return m.Residual })
	addCourse(objective, 2, "standard deviation of v(o)", metrics, func(m train.Metrics) float64 { return m.Deviation })
	addCourse(quality, 0, "covariance found", metrics, found)
	addCourse(quality, 1, "best tuple", metrics, func(m train.Metrics) float64 { return measured(m.Tuple) })
	addCourse(quality, 2, "single-task learning", metrics, func(train.Metrics) float64 { return 1 })
	if y := &objective.Y; y.Min > 1/largest && y.Max < largest { // whole decades around the values
		y.Scale, y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
		y.Min, y.Max = math.Pow(10, math.Floor(math.Log10(y.Min))), math.Pow(10, math.Ceil(math.Log10(y.Max)))
	}
	n := 0
	for _, name := range slices.Sorted(maps.Keys(metrics[0].Scalars)) {
		for i := range metrics[0].Scalars[name] {
			addCourse(parameters, n, fmt.Sprintf("%s %d", name, i+1), metrics, func(m train.Metrics) float64 {
				if v := m.Scalars[name]; i < len(v) {
					return v[i]
				}
				return math.NaN()
			})
			n++
		}
	}
	return &Picture{width: 15 * vg.Inch, height: 5 * vg.Inch, plots: []*plot.Plot{objective, quality, parameters}}
}

// Runs draws the relative error of the covariances found on held-out problems over the
// epochs of several runs, those of a name in one colour.
func Runs(names []string, runs [][][]train.Metrics) *Picture {
	p := overEpochs(relativeError)
	for i, name := range names {
		for _, metrics := range runs[i] {
			addCourse(p, i, name, metrics, found)
			name = "" // once in the legend
		}
	}
	return &Picture{width: 8 * vg.Inch, height: 5 * vg.Inch, plots: []*plot.Plot{p}}
}

// overEpochs is an empty plot of numbers over the epochs.
func overEpochs(title string) *plot.Plot {
	p := newPlot(title, "epoch", "")
	p.X.Tick.Marker = plainTicks{whole: true}
	p.Add(plotter.NewGrid())
	return p
}

// addCourse draws line i of a plot, if anything was measured.
func addCourse(p *plot.Plot, i int, name string, metrics []train.Metrics, of course) {
	var points plotter.XYs
	for _, m := range metrics {
		if y := of(m); !math.IsNaN(y) {
			points = append(points, plotter.XY{X: float64(m.Epoch), Y: y})
		}
	}
	if points == nil {
		return
	}
	// Lines that cover each other differ in their dashes.
	addLine(p, name, points, draw.LineStyle{Color: palette[i%len(palette)], Width: vg.Points(1.5), Dashes: plotutil.Dashes(i)})
}
