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

// Errors draws relative errors with their standard errors: as curves where the names of the
// points are numbers, else as marks beside names. At a single point the methods have the names.
// There is no picture where nothing has a relative error.
func Errors(title, axis string, points []Point) *Picture {
	places := positions(points)
	if len(points) == 1 {
		rows := points[0].Rows
		points = nil
		places = nil
		for _, row := range rows {
			name := row.Title
			row.Title = ""
			points = append(points, Point{name, []compare.Row{row}})
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
	p := newPlot(title, label)
	p.X.Padding = 8
	p.Add(plotter.NewGrid())
	for i, method := range methods {
		n := float64(len(methods))
		shift := (float64(i) - (n-1)/2) /
			(2 * n) // so that bars do not cover each other
		addMethod(p, i, method, points, places, shift)
	}
	picture := panels(9, 2.4+0.32*vg.Length(len(points)+len(methods)/2), p)
	from := plotter.XY{
		X: 1,
		Y: -0.6,
	}
	to := plotter.XY{
		X: 1,
		Y: float64(len(points)) - 0.4,
	}
	if places == nil {
		var upwards []string
		for _, point := range slices.Backward(points) {
			upwards = append(upwards, point.Name)
		}
		p.NominalY(upwards...)
	} else {
		p.X.Label.Text = axis
		p.Y.Label.Text = label
		p.Y.Padding = 8
		picture = panels(8, 7.5, p)
		from = plotter.XY{
			X: p.X.Min,
			Y: 1,
		}
		to = plotter.XY{
			X: p.X.Max,
			Y: 1,
		}
		var ticks plot.ConstantTicks
		for k, x := range places {
			ticks = append(ticks, plot.Tick{
				Value: x,
				Label: points[k].Name,
			})
		}
		p.X.Tick.Marker = ticks
		start := floats.Min(places)
		if start > 0 && floats.Max(places) > 10*start {
			p.X.Scale = plot.LogScale{}
		}
	}
	// At 1 there is single-task learning.
	dotted := draw.LineStyle{Color: color.Gray{Y: 120}, Width: 1,
		Dashes: []vg.Length{2, 2}}
	addLine(p, "", plotter.XYs{from, to}, dotted)
	return picture
}

// positions are the points' names as numbers, nil if one is no number.
func positions(points []Point) (places []float64) {
	for _, p := range points {
		x, err := strconv.ParseFloat(p.Name, 64)
		if err != nil || !finite(compare.Float(x)) {
			return nil
		}
		places = append(places, x)
	}
	return places
}

func finite(f compare.Float) bool {
	return math.Abs(float64(f)) <= math.MaxFloat64
}

// addMethod draws method i: a curve where the points have places, else marks below each other,
// with a shift.
func addMethod(p *plot.Plot, i int, title string, points []Point, places []float64, shift float64) {
	look := draw.LineStyle{
		Width:  0.8,
		Dashes: plotutil.Dashes(i / len(palette)),
	}
	look.Color = palette[i%len(palette)]
	curve := look
	curve.Width = 1.2
	var xys plotter.XYs
	var bars plotter.YErrors
	for k, point := range points {
		for _, row := range point.Rows {
			if row.Title != title || !finite(row.Relative) {
				continue
			}
			if row.Model == compare.L2MT {
				curve.Width = 2.4
			}
			relative := float64(row.Relative)
			xy := plotter.XY{
				X: relative,
				Y: float64(len(points)-1-k) - shift,
			}
			if places != nil {
				xy = plotter.XY{
					X: places[k],
					Y: relative,
				}
			}
			half := 0.
			if finite(row.StandardError) {
				half = float64(row.StandardError)
			}
			xys = append(xys, xy)
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
	if places == nil {
		p.Add(&plotter.XErrorBars{XYs: xys, XErrors: plotter.XErrors(bars),
			LineStyle: look, CapWidth: plotter.DefaultCapWidth}, scatter)
	} else {
		p.Add(&plotter.YErrorBars{XYs: xys, YErrors: bars,
			LineStyle: look, CapWidth: plotter.DefaultCapWidth}, scatter)
		addLine(p, "", xys, curve)
	}
	if title != "" {
		p.Legend.Add(title, scatter)
	}
}
