package plot

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"l2mt/infer/compare"
)

// Point is a value of the varied setting, with the methods that are compared there.
type Point struct {
	Name string        `json:"name"`
	Rows []compare.Row `json:"rows"`
}

// Table draws the relative errors of an evaluation, in the order of the table.
func Table(table *compare.Table) *Picture {
	return Errors("Test error relative to single-task learning", "",
		[]Point{{Rows: table.Rows}})
}

// Errors draws relative errors with their standard errors, as marks beside the names of the values.
// At a single value the methods have the names. There is no picture where nothing has a relative
// error.
func Errors(title, axis string, values []Point) *Picture {
	if len(values) == 1 {
		rows := values[0].Rows
		values = nil
		for _, row := range rows {
			name := row.Title
			row.Title = ""
			values = append(values, Point{name, []compare.Row{row}})
		}
	}
	var methods, upwards []string
	for _, point := range values {
		for _, row := range point.Rows {
			if finite(row.Relative) && !slices.Contains(methods, row.Title) {
				methods = append(methods, row.Title)
			}
		}
		upwards = slices.Insert(upwards, 0, point.Name)
	}
	if methods == nil {
		return nil
	}
	p := newPlot(title, "relative error, with standard error")
	p.Y.Label.Text = axis
	p.NominalY(upwards...)
	p.Add(plotter.NewGrid())
	for i, method := range methods {
		n := float64(len(methods))
		shift := (float64(i) - (n-1)/2) /
			(2 * n) // so that bars do not cover each other
		addMethod(p, i, method, values, shift)
	}
	// At 1 there is single-task learning.
	dotted := draw.LineStyle{Color: color.Gray{Y: 120}, Width: 1,
		Dashes: []vg.Length{2, 2}}
	ends := []float64{-0.6, float64(len(values)) - 0.4}
	addLine(p, "", points([]float64{1, 1}, ends), dotted)
	return panels(9, 2.4+0.32*vg.Length(len(values)+len(methods)/2), p)
}

func finite(f compare.Float) bool {
	return math.Abs(float64(f)) <= math.MaxFloat64
}

// addMethod draws method i: its marks below each other, with a shift.
func addMethod(p *plot.Plot, i int, title string, points []Point, shift float64) {
	look := draw.LineStyle{
		Width:  0.8,
		Dashes: plotutil.Dashes(i / len(palette)),
		Color:  palette[i%len(palette)],
	}
	var xys plotter.XYs
	var bars plotter.XErrors
	for k, point := range points {
		for _, row := range point.Rows {
			if row.Title != title || !finite(row.Relative) {
				continue
			}
			half := 0.
			if finite(row.StandardError) {
				half = float64(row.StandardError)
			}
			xys = append(xys, plotter.XY{
				X: float64(row.Relative),
				Y: float64(len(points)-1-k) - shift,
			})
			bars = append(bars, struct{ Low, High float64 }{half, half})
		}
	}
	marks := draw.GlyphStyle{
		Color:  look.Color,
		Radius: 3.5,
		Shape:  plotutil.Shape(i),
	}
	scatter := &plotter.Scatter{
		XYs:        xys,
		GlyphStyle: marks,
	}
	p.Add(&plotter.XErrorBars{XYs: xys, XErrors: bars,
		LineStyle: look, CapWidth: 5}, scatter)
	if title != "" {
		p.Legend.Add(title, scatter)
	}
}
