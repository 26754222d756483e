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
	// Apart is how far tasks are from Shared, the root mean square.
	Apart float64 `json:"apart"`
}

// mostThin bounds the tasks that are drawn.
const mostThin = 100

// Draw draws the tasks thin, their mean thick, and the knots as marks below.
func (c Curve) Draw() *Picture {
	p := newPlot(c.Column, "", "")
	p.Add(plotter.NewGrid())
	thin := draw.LineStyle{Width: vg.Points(0.5), Color: color.Gray{0xaa}}
	for _, y := range c.Tasks[:min(len(c.Tasks), mostThin)] {
		addLine(p, "", points(c.X, y), thin)
	}
	addLine(p, "", points(c.X, c.Shared), draw.LineStyle{Width: vg.Points(2), Color: palette[0]})
	below := make([]float64, len(c.Knots))
	floats.AddConst(p.Y.Min, below)
	marks := draw.GlyphStyle{Shape: draw.PyramidGlyph{}, Color: palette[0], Radius: plotter.DefaultGlyphStyle.Radius}
	p.Add(&plotter.Scatter{XYs: points(c.Knots, below), GlyphStyle: marks})
	return &Picture{width: 3.4 * vg.Inch, height: 2.6 * vg.Inch, plots: []*plot.Plot{p}}
}
