package plot

import (
	"fmt"
	"image/color"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg/draw"

	"l2mt/train"
)

// found is the mean o of the covariances found.
func found(m train.Metrics) float64 { return float64(m.Found) }

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
	addCourse(objective, 0, "loss", metrics, func(m train.Metrics) float64 { return m.Loss })
	addCourse(objective, 1, "residual |f - v(o)|", metrics, func(m train.Metrics) float64 { return m.Residual })
	addCourse(objective, 2, "standard deviation of v(o)", metrics, func(m train.Metrics) float64 { return m.Deviation })
	addCourse(quality, 0, "covariance found", metrics, found)
	addCourse(quality, 1, "best tuple", metrics, func(m train.Metrics) float64 { return float64(m.Tuple) })
	addCourse(quality, 2, "single-task learning", metrics, func(train.Metrics) float64 { return 1 })
	if y := &objective.Y; y.Min > 1/largest && y.Max < largest { // whole decades around the values
		y.Scale = plot.LogScale{}
		y.Tick.Marker = plot.LogTicks{Prec: -1}
		y.Min = math.Pow(10, math.Floor(math.Log10(y.Min)))
		y.Max = math.Pow(10, math.Ceil(math.Log10(y.Max)))
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
		if y := number(m); !math.IsNaN(y) {
			points = append(points, plotter.XY{X: float64(m.Epoch), Y: y})
		}
	}
	if points == nil {
		return
	}
	// Lines that cover each other differ in their dashes.
	style := draw.LineStyle{Width: 1.5, Dashes: plotutil.Dashes(i)}
	style.Color = palette[i%len(palette)]
	addLine(p, name, points, style)
}

// Curve is a column's part in predictions: at X, in the unit of the table, for the mean of
// all tasks and for each task.
type Curve struct {
	Column string      `json:"column"`
	X      []float64   `json:"x"`
	Shared []float64   `json:"shared"`
	Tasks  [][]float64 `json:"tasks"`
	// Knots are quantiles of the column, where its data are.
	Knots []float64 `json:"knots"`
	// Change is the difference of the largest and the least value, over all tasks.
	Change float64 `json:"change"`
	// Apart is the tasks' distance from Shared, the root mean square.
	Apart float64 `json:"apart"`
}

// mostThin bounds the tasks that are drawn.
const mostThin = 100

// Draw draws the tasks thin, their mean thick, and the knots as marks below.
func (c Curve) Draw() *Picture {
	p := newPlot(c.Column, "")
	p.Add(plotter.NewGrid())
	thin := draw.LineStyle{Width: 0.5, Color: color.Gray{0xaa}}
	for _, y := range c.Tasks[:min(len(c.Tasks), mostThin)] {
		addLine(p, "", points(c.X, y), thin)
	}
	thick := draw.LineStyle{Width: 2, Color: palette[0]}
	addLine(p, "", points(c.X, c.Shared), thick)
	below := slices.Repeat([]float64{p.Y.Min}, len(c.Knots))
	marks := draw.GlyphStyle{Shape: draw.PyramidGlyph{}, Color: palette[0], Radius: plotter.DefaultGlyphStyle.Radius}
	p.Add(&plotter.Scatter{XYs: points(c.Knots, below), GlyphStyle: marks})
	return panels(3.4, 2.6, p)
}

// Accuracy draws predictions against what came true, for numbers with their residuals.
func Accuracy(predicted [][2]float64, classes bool) *Picture {
	if len(predicted) == 0 {
		return nil
	}
	var x, y, residuals []float64
	for _, p := range predicted {
		x = append(x, p[0])
		y = append(y, p[1])
		residuals = append(residuals, p[1]-p[0])
	}
	ends := []float64{slices.Min(x), slices.Max(x)}
	gray := draw.LineStyle{Width: 1, Color: color.Gray{0x88}}
	dots := draw.GlyphStyle{Shape: draw.CircleGlyph{}, Color: palette[0], Radius: 2}
	scatter := func(title, label string, y, line []float64) *plot.Plot {
		p := newPlot(title, "predicted")
		p.Y.Label.Text = label
		addLine(p, "", points(ends, line), gray)
		p.Add(plotter.NewGrid(), &plotter.Scatter{XYs: points(x, y), GlyphStyle: dots})
		return p
	}
	if classes {
		return panels(4.5, 3.5, scatter("Calibration", "came true", y, ends))
	}
	truth := scatter("Predicted and true", "true", y, ends)
	return panels(8.5, 3.5, truth, scatter("Residuals", "true less predicted", residuals, []float64{0, 0}))
}
