package plot

import (
	"errors"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"l2mt/infer/compare"
)

// Relative is relative errors of methods at several points.
type Relative struct {
	Title string
	// Label says what the errors are relative to, and what the bars are.
	Label string
	// Names are those of the points, from the top down.
	Names []string
	// At is where the points are on an axis of numbers, which is logarithmic where they span
	// more than a decade. Nil means that they have names alone.
	At      []float64
	Axis    string
	Methods []Method
}

// Method is the errors of one method at all points, and their standard errors. Each may be
// NaN, where there is none.
type Method struct {
	Title              string
	Strong             bool // drawn in a broad line
	Errors, Deviations []float64
}

// Table draws the relative errors of an evaluation with their standard errors, in the order
// of the table.
func Table(table *compare.Table) (*Picture, error) {
	r := Relative{Title: "Test error relative to single-task learning", Label: "mean of the relative errors, with standard error"}
	var all Method
	for _, row := range table.Rows {
		r.Names = append(r.Names, row.Title)
		all.Errors, all.Deviations = append(all.Errors, float64(row.PerProblem)), append(all.Deviations, float64(row.StandardError))
	}
	r.Methods = []Method{all}
	return r.Draw()
}

// Draw draws relative errors with error bars: as curves over numbers, else as
// marks beside names. There is no picture where nothing has a relative error.
func (r *Relative) Draw() (*Picture, error) {
	p := newPlot(r.Title, r.Label, "")
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
	from, to := plotter.XY{X: 1, Y: -0.6}, plotter.XY{X: 1, Y: float64(len(r.Names)) - 0.4}
	picture := &Picture{9 * vg.Inch, vg.Length(2.4+0.32*float64(len(r.Names)+len(r.Methods)/2)) * vg.Inch, []*plot.Plot{p}}
	if r.At != nil {
		p.X.Label.Text, p.Y.Label.Text, p.Y.Padding = r.Axis, r.Label, vg.Points(8)
		from, to = plotter.XY{X: p.X.Min, Y: 1}, plotter.XY{X: p.X.Max, Y: 1}
		picture.width, picture.height = 8*vg.Inch, 7.5*vg.Inch
		var ticks plot.ConstantTicks
		for k, x := range r.At {
			ticks = append(ticks, plot.Tick{Value: x, Label: r.Names[k]})
		}
		if p.X.Tick.Marker = ticks; floats.Min(r.At) > 0 && floats.Max(r.At) > 10*floats.Min(r.At) {
			p.X.Scale = plot.LogScale{}
		}
	} else {
		upwards := slices.Clone(r.Names)
		slices.Reverse(upwards)
		p.NominalY(upwards...)
	}
	// At 1 there is single-task learning.
	dotted := draw.LineStyle{Color: color.Gray{Y: 120}, Width: vg.Points(1), Dashes: []vg.Length{vg.Points(2), vg.Points(2)}}
	return picture, addLine(p, "", plotter.XYs{from, to}, dotted)
}

// add draws method i, if it has an error anywhere.
func (r *Relative) add(p *plot.Plot, i int, m Method) (drawn bool, err error) {
	n := float64(len(r.Methods))
	aside := (float64(i) - (n-1)/2) / (2 * n) // of the others, so that bars do not cover each other
	var at marks
	for k, e := range m.Errors {
		switch {
		case math.IsNaN(e) || math.IsInf(e, 0):
			continue
		case r.At != nil:
			at.XYs = append(at.XYs, plotter.XY{X: r.At[k], Y: e})
		default:
			at.XYs = append(at.XYs, plotter.XY{X: e, Y: float64(len(m.Errors)-1-k) - aside})
		}
		at.bars = append(at.bars, m.Deviations[k])
	}
	if len(at.XYs) == 0 {
		return false, nil
	}
	scatter, err1 := plotter.NewScatter(at)
	across, err2 := plotter.NewXErrorBars(at)
	upright, err3 := plotter.NewYErrorBars(at)
	if err := errors.Join(err1, err2, err3); err != nil {
		return false, err
	}
	look := draw.LineStyle{Color: palette[i%len(palette)], Width: vg.Points(0.8), Dashes: plotutil.Dashes(i / len(palette))}
	scatter.GlyphStyle = draw.GlyphStyle{Color: look.Color, Radius: vg.Points(3.5), Shape: plotutil.Shape(i)}
	across.LineStyle, upright.LineStyle = look, look
	if r.At == nil {
		p.Add(across, scatter)
	} else {
		look.Width = vg.Points(1.2)
		if m.Strong {
			look.Width = vg.Points(2.4)
		}
		p.Add(upright, scatter)
		err = addLine(p, "", at.XYs, look)
	}
	if m.Title != "" {
		p.Legend.Add(m.Title, scatter)
	}
	return true, err
}

// marks are points with the halves of error bars, which are nothing where there is no
// standard error.
type marks struct {
	plotter.XYs
	bars []float64
}

// XError is the half of a bar.
func (m marks) XError(i int) (low, high float64) {
	if math.IsNaN(m.bars[i]) {
		return 0, 0
	}
	return m.bars[i], m.bars[i]
}

// YError is the half of a bar.
func (m marks) YError(i int) (low, high float64) { return m.XError(i) }
