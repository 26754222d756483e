package plot

import (
	"fmt"
	"image/color"
	"maps"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg/draw"

	"l2mt/infer/report"
	"l2mt/train"
)

// found is the mean o of the covariances found.
func found(m train.Metrics) float64 {
	return float64(m.Found)
}

const meanOutcome = "Mean o of held-out problems"

// Training draws the loss, the error of the covariances found and the scalars of the start over
// epochs.
func Training(metrics []train.Metrics) *Picture {
	if len(metrics) == 0 {
		return nil
	}
	objective := overEpochs("Objective")
	quality := overEpochs(meanOutcome)
	parameters := overEpochs("Parameters above the embeddings")
	addCourse(objective, 0, "loss", metrics, func(m train.Metrics) float64 {
		return m.Loss
	})
	addCourse(objective, 1, "residual |f - v(o)|", metrics,
		func(m train.Metrics) float64 {
			return m.Residual
		})
	addCourse(objective, 2, "standard deviation of v(o)", metrics,
		func(m train.Metrics) float64 {
			return m.Deviation
		})
	addCourse(quality, 0, "covariance found", metrics, found)
	addCourse(quality, 1, "best tuple", metrics,
		func(m train.Metrics) float64 {
			return float64(m.Tuple)
		})
	addCourse(quality, 2, "single-task learning",
		metrics, func(train.Metrics) float64 {
			return 1
		})
	y := &objective.Y
	if y.Min > 1/largest && y.Max < largest { // whole decades around the values
		y.Scale = plot.LogScale{}
		y.Tick.Marker = plot.LogTicks{Prec: -1}
		y.Min = math.Pow(10, math.Floor(math.Log10(y.Min)))
		y.Max = math.Pow(10, math.Ceil(math.Log10(y.Max)))
	}
	n := 0
	for _, name := range slices.Sorted(maps.Keys(metrics[0].Scalars)) {
		for i := range metrics[0].Scalars[name] {
			addCourse(parameters, n, fmt.Sprintf("%s %d", name, i+1),
				metrics, func(m train.Metrics) float64 {
					v := m.Scalars[name]
					if i < len(v) {
						return v[i]
					}
					return math.NaN()
				})
			n++
		}
	}
	return panels(15, 5, objective, quality, parameters)
}

// Runs draws the mean o of the covariances found on held-out problems over the
// epochs of several runs. Runs of one name share a colour.
func Runs(names []string, runs [][][]train.Metrics) *Picture {
	p := overEpochs(meanOutcome)
	for i, name := range names {
		for _, metrics := range runs[i] {
			addCourse(p, i, name, metrics, found)
			name = "" // once in the legend
		}
	}
	return panels(8, 5, p)
}

// overEpochs is an empty plot of numbers over the epochs.
func overEpochs(title string) *plot.Plot {
	p := newPlot(title, "epoch")
	p.X.Tick.Marker = plainTicks{whole: true}
	p.Add(plotter.NewGrid())
	return p
}

// addCourse draws line i of a plot: a number over the epochs, NaN where nothing was measured.
func addCourse(p *plot.Plot, i int, name string, metrics []train.Metrics,
	number func(train.Metrics) float64) {
	var points plotter.XYs
	for _, m := range metrics {
		y := number(m)
		if !math.IsNaN(y) {
			points = append(points, plotter.XY{
				X: float64(m.Epoch),
				Y: y,
			})
		}
	}
	if points == nil {
		return
	}
	// Lines that cover each other differ in their dashes.
	style := draw.LineStyle{
		Width:  1.5,
		Dashes: plotutil.Dashes(i),
		Color:  palette[i%len(palette)],
	}
	addLine(p, name, points, style)
}

// mostThin bounds the tasks that are drawn.
const mostThin = 100

// confident is how many standard errors a band of 95 % is wide to each side.
const confident = 1.96

// Bend draws a curve: the tasks thin, their mean thick in its band, and the knots as marks below.
func Bend(c report.Curve) *Picture {
	p := newPlot(c.Column, "")
	if c.Days {
		p.X.Tick.Marker = plot.TimeTicks{
			Format: time.DateOnly,
			Time:   report.Date,
		}
	}
	p.Add(plotter.NewGrid())
	side := func(deviations float64) plotter.XYs {
		y := slices.Clone(c.Shared)
		floats.AddScaled(y, deviations, c.Band)
		return points(c.X, y)
	}
	if c.Band != nil {
		upper := side(confident)
		slices.Reverse(upper)
		edge := append(side(-confident), upper...)
		blue := color.NRGBA{0, 114, 178, 70}
		p.Add(&plotter.Polygon{
			XYs:   []plotter.XYs{edge},
			Color: blue,
		})
	}
	thin := draw.LineStyle{
		Width: 0.5,
		Color: color.Gray{0xaa},
	}
	for _, y := range c.Tasks[:min(len(c.Tasks), mostThin)] {
		addLine(p, "", points(c.X, y), thin)
	}
	thick := draw.LineStyle{
		Width: 2,
		Color: palette[0],
	}
	addLine(p, "", points(c.X, c.Shared), thick)
	below := slices.Repeat([]float64{p.Y.Min}, len(c.Knots))
	marks := draw.GlyphStyle{
		Shape:  draw.PyramidGlyph{},
		Color:  palette[0],
		Radius: 2.5,
	}
	p.Add(&plotter.Scatter{
		XYs:        points(c.Knots, below),
		GlyphStyle: marks,
	})
	return panels(3.4, 2.6, p)
}

// Accuracy draws predictions against true targets, and the residuals.
func Accuracy(predicted [][2]float64) (pictures []*Picture) {
	if len(predicted) == 0 {
		return nil
	}
	residuals := slices.Clone(predicted)
	for i := range residuals {
		residuals[i][1] -= predicted[i][0]
	}
	return []*Picture{
		panels(4.5, 3.5,
			scatter("Predicted and true", "true", 1, nil, predicted)),
		panels(4.5, 3.5,
			scatter("Residuals", "true less predicted", 0, nil, residuals)),
	}
}

// scatter draws sets of points, which may have names, and a gray line of a slope on which they
// ought to be.
func scatter(title, label string, slope float64, names []string, sets ...[][2]float64) *plot.Plot {
	p := newPlot(title, "predicted")
	p.Y.Label.Text = label
	aim := plotter.NewFunction(func(x float64) float64 {
		return slope * x
	})
	aim.Color = color.Gray{0x88}
	p.Add(plotter.NewGrid(), aim)
	for i, set := range sets {
		var xys plotter.XYs
		for _, point := range set {
			xys = append(xys, plotter.XY{
				X: point[0],
				Y: point[1],
			})
		}
		dots := draw.GlyphStyle{
			Shape:  draw.CircleGlyph{},
			Color:  palette[i],
			Radius: 2.5,
		}
		marks := &plotter.Scatter{
			XYs:        xys,
			GlyphStyle: dots,
		}
		p.Add(marks)
		if len(sets) > 1 {
			p.Legend.Add(names[i], marks)
		}
	}
	return p
}

// Calibration draws probabilities against the shares of rows that came true, a set of points for
// each class, and the threshold of a decision, which is 0 for none.
func Calibration(sets [][][2]float64, classes []string, threshold float64) *Picture {
	p := scatter("Calibration", "came true", 1, classes, sets...)
	ends := []float64{0, 1}
	if threshold > 0 {
		style := draw.LineStyle{
			Width:  1.5,
			Dashes: plotutil.Dashes(1),
			Color:  palette[1],
		}
		addLine(p, "threshold",
			points([]float64{threshold, threshold}, ends), style)
	}
	p.Add(&plotter.Line{XYs: points(ends, ends)}) // unseen, so that all probabilities are there
	return panels(4.5, 3.8, p)
}
