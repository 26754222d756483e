package plot

import (
	"image/color"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Curve is what a column adds to predictions: at X, in the unit of the table, for the mean of
// all tasks and for each of them.
type Curve struct {
	Column string      `json:"column"`
	X      []float64   `json:"x"`
	Shared []float64   `json:"shared"`
	Tasks  [][]float64 `json:"tasks"`
	// Knots are quantiles of the column, where its data are.
	Knots []float64 `json:"knots"`
	// Change is how far it goes from its least to its largest value, over all tasks.
	Change float64 `json:"change"`
}

// mostCurves is the number of columns that are drawn, and mostThin of tasks in each.
const (
	mostCurves = 6
	mostThin   = 100
)

// Curves draws the first of some columns: the tasks thin, their mean thick, and the knots as
// marks below.
func Curves(all []Curve) (*Picture, error) {
	var plots []*plot.Plot
	for _, c := range all[:min(len(all), mostCurves)] {
		p := newPlot(c.Column, "", "")
		p.X.Tick.Marker, p.Y.Tick.Marker = plainTicks{}, plainTicks{}
		p.Add(plotter.NewGrid())
		least := floats.Min(c.Shared)
		for i, y := range append(slices.Clip(c.Tasks[:min(len(c.Tasks), mostThin)]), c.Shared) {
			line, err := plotter.NewLine(points(c.X, y))
			if err != nil {
				return nil, err
			}
			line.Width, line.Color, least = vg.Points(0.5), color.Gray{0xaa}, min(least, floats.Min(y))
			if i == min(len(c.Tasks), mostThin) {
				line.Width, line.Color = vg.Points(2), palette[0]
			}
			p.Add(line)
		}
		marks, err := plotter.NewScatter(points(c.Knots, slices.Repeat([]float64{least}, len(c.Knots))))
		if err != nil {
			return nil, err
		}
		marks.Shape, marks.Color = draw.PyramidGlyph{}, palette[0]
		p.Add(marks)
		plots = append(plots, p)
	}
	return &Picture{vg.Length(3*len(plots)) * vg.Inch, 3 * vg.Inch, plots}, nil
}

func points(x, y []float64) plotter.XYs {
	all := make(plotter.XYs, len(x))
	for i := range x {
		all[i] = plotter.XY{X: x[i], Y: y[i]}
	}
	return all
}
