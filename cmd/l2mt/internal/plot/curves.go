package plot

import (
	"image/color"

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
		p.Add(plotter.NewGrid())
		thin := draw.LineStyle{Width: vg.Points(0.5), Color: color.Gray{0xaa}}
		for _, y := range c.Tasks[:min(len(c.Tasks), mostThin)] {
			if err := addLine(p, "", points(c.X, y), thin); err != nil {
				return nil, err
			}
		}
		if err := addLine(p, "", points(c.X, c.Shared), draw.LineStyle{Width: vg.Points(2), Color: palette[0]}); err != nil {
			return nil, err
		}
		below := make([]float64, len(c.Knots))
		floats.AddConst(p.Y.Min, below)
		marks, err := plotter.NewScatter(points(c.Knots, below))
		if err != nil {
			return nil, err
		}
		marks.Shape, marks.Color = draw.PyramidGlyph{}, palette[0]
		p.Add(marks)
		plots = append(plots, p)
	}
	return &Picture{vg.Length(3*len(plots)) * vg.Inch, 3 * vg.Inch, plots}, nil
}
