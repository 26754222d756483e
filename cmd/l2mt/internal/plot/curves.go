package plot

import (
	"image/color"
	"math"

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
		least := math.Inf(1)
		add := func(y []float64, width vg.Length, look color.Color) error {
			points := make(plotter.XYs, len(y))
			for i, v := range y {
				points[i] = plotter.XY{X: c.X[i], Y: v}
				least = min(least, v)
			}
			line, err := plotter.NewLine(points)
			if err != nil {
				return err
			}
			line.Width, line.Color = width, look
			p.Add(line)
			return nil
		}
		for _, y := range c.Tasks[:min(len(c.Tasks), mostThin)] {
			if err := add(y, vg.Points(0.5), color.Gray{0xaa}); err != nil {
				return nil, err
			}
		}
		if err := add(c.Shared, vg.Points(2), palette[0]); err != nil {
			return nil, err
		}
		data := make(plotter.XYs, len(c.Knots))
		for i, knot := range c.Knots {
			data[i] = plotter.XY{X: knot, Y: least}
		}
		marks, err := plotter.NewScatter(data)
		if err != nil {
			return nil, err
		}
		marks.Shape, marks.Color = draw.PyramidGlyph{}, palette[0]
		p.Add(marks)
		plots = append(plots, p)
	}
	return &Picture{vg.Length(3*len(plots)) * vg.Inch, 3 * vg.Inch, plots}, nil
}
