package plot

import (
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"l2mt/infer/compare"
)

// Point is a value of what is varied, with the methods that are compared at it.
type Point struct {
	Name string        `json:"name"`
	Rows []compare.Row `json:"rows"`
}

// Table draws the relative errors of an evaluation, in the order of the table.
func Table(table *compare.Table) *Picture {
	return Errors("Test error relative to single-task learning", "", []Point{{Rows: table.Rows}})
}

// Errors draws relative errors with their standard errors: as curves where the names of the
// points are numbers, else as marks beside names. At a single point the methods have the names.
// There is no picture where nothing has a relative error.
func Errors(title, axis string, points []Point) *Picture {
	at := positions(points)
	if len(points) == 1 {
		rows := points[0].Rows
		points = nil
		at = nil
		for _, row := range rows {
			points = append(points, Point{row.Title, []compare.Row{{Relative: row.Relative, StandardError: row.StandardError}}})
		}
	}
	var methods []string
	for _, point := range points {
		for _, row := range point.Rows {
			if finite(row.Relative) && !slices.Contains(methods, row.Title) {
				methods = append(methods, row.Title)
			}
		}
	}
	if methods == nil {
		return nil
	}
	const label = "relative error, with standard error"
	p := newPlot(title, label, "")
	p.X.Padding = vg.Points(8)
	p.Add(plotter.NewGrid())
	for i, method := range methods {
		n := float64(len(methods))
		aside := (float64(i) - (n-1)/2) / (2 * n) // of the others, so that bars do not cover each other
		addMethod(p, i, method, points, at, aside)
	}
	picture := &Picture{width: 9 * vg.Inch, height: vg.Length(2.4+0.32*float64(len(points)+len(methods)/2)) * vg.Inch, plots: []*plot.Plot{p}}
	from := plotter.XY{X: 1, Y: -0.6}
	to := plotter.XY{X: 1, Y: float64(len(points)) - 0.4}
	if at == nil {
		var upwards []string
		for _, point := range slices.Backward(points) {
			upwards = append(upwards, point.Name)
		}
		p.NominalY(upwards...)
	} else {
		p.X.Label.Text = axis
		p.Y.Label.Text = label
		p.Y.Padding = vg.Points(8)
		picture.width = 8 * vg.Inch
		picture.height = 7.5 * vg.Inch
		from = plotter.XY{X: p.X.Min, Y: 1}
		to = plotter.XY{X: p.X.Max, Y: 1}
		var ticks plot.ConstantTicks
		for k, x := range at {
			ticks = append(ticks, plot.Tick{Value: x, Label: points[k].Name})
		}
		if p.X.Tick.Marker = ticks; floats.Min(at) > 0 && floats.Max(at) > 10*floats.Min(at) {
			p.X.Scale = plot.LogScale{}
		}
	}
	// At 1 there is single-task learning.
	dotted := draw.LineStyle{Color: color.Gray{Y: 120}, Width: vg.Points(1), Dashes: []vg.Length{vg.Points(2), vg.Points(2)}}
	addLine(p, "", plotter.XYs{from, to}, dotted)
	return picture
}

// positions are the names of the points, nil if one is none.
func positions(points []Point) (at []float64) {
	for _, p := range points {
		x, err := strconv.ParseFloat(p.Name, 64)
		if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
			return nil
		}
		at = append(at, x)
	}
	return at
}

func finite(f compare.Float) bool { return !math.IsNaN(float64(f)) && !math.IsInf(float64(f), 0) }

// addMethod draws method i: a curve where the points are at numbers, else marks below each other.
func addMethod(p *plot.Plot, i int, title string, points []Point, at []float64, aside float64) {
	look := draw.LineStyle{Color: palette[i%len(palette)], Width: vg.Points(0.8), Dashes: plotutil.Dashes(i / len(palette))}
	curve := draw.LineStyle{Color: look.Color, Width: vg.Points(1.2), Dashes: look.Dashes}
	var xys plotter.XYs
	var bars plotter.YErrors
	for k, point := range points {
		for _, row := range point.Rows {
			if row.Title != title || !finite(row.Relative) {
				continue
			}
			if row.Model == compare.L2MT {
				curve.Width = vg.Points(2.4)
			}
			xy := plotter.XY{X: float64(row.Relative), Y: float64(len(points)-1-k) - aside}
			if at != nil {
				xy = plotter.XY{X: at[k], Y: float64(row.Relative)}
			}
			half := 0.
			if finite(row.StandardError) {
				half = float64(row.StandardError)
			}
			xys = append(xys, xy)
			bars = append(bars, struct{ Low, High float64 }{half, half})
		}
	}
	scatter := &plotter.Scatter{XYs: xys, GlyphStyle: draw.GlyphStyle{Color: look.Color, Radius: vg.Points(3.5), Shape: plotutil.Shape(i)}}
	if at == nil {
		p.Add(&plotter.XErrorBars{XYs: xys, XErrors: plotter.XErrors(bars), LineStyle: look, CapWidth: plotter.DefaultCapWidth}, scatter)
	} else {
		p.Add(&plotter.YErrorBars{XYs: xys, YErrors: bars, LineStyle: look, CapWidth: plotter.DefaultCapWidth}, scatter)
		addLine(p, "", xys, curve)
	}
	if title != "" {
		p.Legend.Add(title, scatter)
	}
}
