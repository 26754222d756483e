package plot

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"l2mt/data/files"
	"l2mt/infer/compare"
)

// Relative is relative errors of methods at several points.
type Relative struct {
	Title string `json:"title"`
	// Names are those of the points, from the top down.
	Names []string `json:"names"`
	// At is where the points are on an axis of numbers, which is logarithmic where they span
	// more than a decade. Nil means that they have names alone.
	At      []float64 `json:"at,omitempty"`
	Axis    string    `json:"axis"`
	Methods []*Method `json:"methods"`
}

// Method is the errors of one method at all points, and their standard errors. Each may be
// NaN, where there is none.
type Method struct {
	Title      string        `json:"title"`
	Strong     bool          `json:"strong,omitempty"` // drawn in a broad line
	Errors     []files.Float `json:"errors"`
	Deviations []files.Float `json:"deviations"`
}

// check finds what cannot be drawn.
func (r *Relative) check() error {
	n := len(r.Names)
	for _, m := range r.Methods {
		if m == nil || len(m.Errors) != n || len(m.Deviations) != n {
			return fmt.Errorf("every method must have %d errors and standard errors, one at each point", n)
		}
	}
	if r.At != nil && len(r.At) != n {
		return fmt.Errorf("%d numbers are given for %d points", len(r.At), n)
	}
	return nil
}

// Put takes in the row of a method at a point.
func (r *Relative) Put(point int, row compare.Row) {
	i := slices.IndexFunc(r.Methods, func(m *Method) bool { return m.Title == row.Title })
	if i < 0 {
		none := slices.Repeat([]files.Float{files.Float(math.NaN())}, len(r.Names))
		i, r.Methods = len(r.Methods), append(r.Methods, &Method{row.Title, row.Model == compare.L2MT, none, slices.Clone(none)})
	}
	r.Methods[i].Errors[point], r.Methods[i].Deviations[point] = row.PerProblem, row.StandardError
}

// OfRows has the errors of rows, one below the other.
func OfRows(title string, rows []compare.Row) Relative {
	all := &Method{}
	r := Relative{Title: title, Methods: []*Method{all}}
	for _, row := range rows {
		r.Names, all.Errors, all.Deviations = append(r.Names, row.Title), append(all.Errors, row.PerProblem), append(all.Deviations, row.StandardError)
	}
	return r
}

// Table draws the relative errors of an evaluation with their standard errors, in the order
// of the table.
func Table(table *compare.Table) (*Picture, error) {
	r := OfRows("Test error relative to single-task learning", table.Rows)
	return r.Draw()
}

// Draw draws relative errors with error bars: as curves over numbers, else as
// marks beside names. There is no picture where nothing has a relative error.
func (r *Relative) Draw() (*Picture, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	const label = "mean of the relative errors, with standard error"
	p := newPlot(r.Title, label, "")
	p.X.Padding = vg.Points(8)
	p.Add(plotter.NewGrid())
	drawn := false
	for i, m := range r.Methods {
		some, err := r.add(p, i, m)
		if err != nil {
			return nil, err
		}
		drawn = drawn || some
	}
	if !drawn {
		return nil, nil
	}
	picture := &Picture{9 * vg.Inch, vg.Length(2.4+0.32*float64(len(r.Names)+len(r.Methods)/2)) * vg.Inch, []*plot.Plot{p}}
	from, to := plotter.XY{X: 1, Y: -0.6}, plotter.XY{X: 1, Y: float64(len(r.Names)) - 0.4}
	if r.At == nil {
		upwards := slices.Clone(r.Names)
		slices.Reverse(upwards)
		p.NominalY(upwards...)
	} else {
		p.X.Label.Text, p.Y.Label.Text, p.Y.Padding = r.Axis, label, vg.Points(8)
		picture.width, picture.height = 8*vg.Inch, 7.5*vg.Inch
		from, to = plotter.XY{X: p.X.Min, Y: 1}, plotter.XY{X: p.X.Max, Y: 1}
		var ticks plot.ConstantTicks
		for k, x := range r.At {
			ticks = append(ticks, plot.Tick{Value: x, Label: r.Names[k]})
		}
		if p.X.Tick.Marker = ticks; floats.Min(r.At) > 0 && floats.Max(r.At) > 10*floats.Min(r.At) {
			p.X.Scale = plot.LogScale{}
		}
	}
	// At 1 there is single-task learning.
	dotted := draw.LineStyle{Color: color.Gray{Y: 120}, Width: vg.Points(1), Dashes: []vg.Length{vg.Points(2), vg.Points(2)}}
	return picture, addLine(p, "", plotter.XYs{from, to}, dotted)
}

// add draws method i, if it has an error anywhere.
func (r *Relative) add(p *plot.Plot, i int, m *Method) (drawn bool, err error) {
	n := float64(len(r.Methods))
	aside := (float64(i) - (n-1)/2) / (2 * n) // of the others, so that bars do not cover each other
	var at plotter.XYs
	var bars plotter.YErrors
	for k, e := range m.Errors {
		v, half := float64(e), float64(m.Deviations[k])
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			continue
		case r.At != nil:
			at = append(at, plotter.XY{X: r.At[k], Y: v})
		default:
			at = append(at, plotter.XY{X: v, Y: float64(len(m.Errors)-1-k) - aside})
		}
		if math.IsNaN(half) || math.IsInf(half, 0) {
			half = 0
		}
		bars = append(bars, struct{ Low, High float64 }{half, half})
	}
	if len(at) == 0 {
		return false, nil
	}
	look := draw.LineStyle{Color: palette[i%len(palette)], Width: vg.Points(0.8), Dashes: plotutil.Dashes(i / len(palette))}
	scatter := &plotter.Scatter{XYs: at, GlyphStyle: draw.GlyphStyle{Color: look.Color, Radius: vg.Points(3.5), Shape: plotutil.Shape(i)}}
	if r.At == nil {
		p.Add(&plotter.XErrorBars{XYs: at, XErrors: plotter.XErrors(bars), LineStyle: look, CapWidth: plotter.DefaultCapWidth}, scatter)
	} else {
		p.Add(&plotter.YErrorBars{XYs: at, YErrors: bars, LineStyle: look, CapWidth: plotter.DefaultCapWidth}, scatter)
		if look.Width = vg.Points(1.2); m.Strong {
			look.Width = vg.Points(2.4)
		}
		err = addLine(p, "", at, look)
	}
	if m.Title != "" {
		p.Legend.Add(m.Title, scatter)
	}
	return true, err
}
