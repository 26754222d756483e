package plot

import (
	"cmp"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Relative is relative errors of methods at several points.
type Relative struct {
	Title string
	// Label says what the errors are relative to, and what the bars are.
	Label string
	// Axis is what the points are numbers of, on an axis that may be logarithmic.
	// If it is empty they are names.
	Axis string
	Log  bool
	// Names lists the points from the top down, if they are names.
	Names   []string
	Methods []Method
}

// Method is the errors of one method.
type Method struct {
	Title string
	// Strong has a line of its own.
	Strong bool
	Points []Point
}

// Point is the relative error of a method at a point, with its standard error
// or NaN.
type Point struct {
	Name             string
	X                float64
	Error, Deviation float64
}

// bar is the length of an error bar, which is nothing where there is no standard
// error.
func (p Point) bar() (b struct{ Low, High float64 }) {
	if !math.IsNaN(p.Deviation) {
		b.Low, b.High = p.Deviation, p.Deviation
	}
	return b
}

// Draw draws relative errors with error bars: as curves over numbers, else as
// marks beside names. There is no picture of no methods.
func (r *Relative) Draw() (*Picture, error) {
	if len(r.Methods) == 0 {
		return nil, nil
	}
	p := newPlot(r.Title, "", "")
	p.Add(plotter.NewGrid())
	if r.Axis != "" {
		p.X.Label.Text, p.Y.Label.Text = r.Axis, r.Label
		p.Y.Tick.Marker = plainTicks{}
		return &Picture{8 * vg.Inch, 7.5 * vg.Inch, []*plot.Plot{p}}, r.curves(p)
	}
	p.X.Label.Text, p.X.Tick.Marker = r.Label, plainTicks{}
	height := vg.Length(2.4+0.32*float64(len(r.Names)+len(r.Methods)/2)) * vg.Inch
	return &Picture{9 * vg.Inch, height, []*plot.Plot{p}}, r.marks(p)
}

// singleTask is the line at 1, the error of single-task learning.
var singleTask = draw.LineStyle{Color: color.Gray{Y: 120}, Width: vg.Points(1), Dashes: []vg.Length{vg.Points(2), vg.Points(2)}}

// look is how method i is drawn: a strong one in a strong line, the rest told
// by colour, dashes and marks together.
func (m Method) look(i int) (draw.LineStyle, draw.GlyphStyle) {
	shapes := []draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{}, draw.BoxGlyph{}, draw.CrossGlyph{}}
	line := draw.LineStyle{Color: palette[i%len(palette)], Width: vg.Points(1.2)}
	if m.Strong {
		line.Width = vg.Points(2.4)
	}
	if i >= len(palette) {
		line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
	}
	return line, draw.GlyphStyle{Color: line.Color, Radius: vg.Points(3.5), Shape: shapes[i%len(shapes)]}
}

func (r *Relative) curves(p *plot.Plot) error {
	var ticks []plot.Tick
	for i, m := range r.Methods {
		at := slices.SortedStableFunc(slices.Values(m.Points), func(a, b Point) int { return cmp.Compare(a.X, b.X) })
		if r.Log { // which cannot show zero
			at = slices.DeleteFunc(at, func(p Point) bool { return p.X <= 0 })
		}
		if len(at) == 0 {
			continue
		}
		var points struct {
			plotter.XYs
			plotter.YErrors
		}
		for _, point := range at {
			points.XYs = append(points.XYs, plotter.XY{X: r.aside(point.X, i, at), Y: point.Error})
			points.YErrors = append(points.YErrors, point.bar())
			if !slices.ContainsFunc(ticks, func(t plot.Tick) bool { return t.Value == point.X }) {
				ticks = append(ticks, plot.Tick{Value: point.X, Label: point.Name})
			}
		}
		line, marks, err := plotter.NewLinePoints(points.XYs)
		if err != nil {
			return err
		}
		line.LineStyle, marks.GlyphStyle = m.look(i)
		bars, err := plotter.NewYErrorBars(points)
		if err != nil {
			return err
		}
		bars.LineStyle = draw.LineStyle{Color: line.Color, Width: vg.Points(0.8)}
		p.Add(bars, line, marks)
		p.Legend.Add(m.Title, line, marks)
	}
	one := plotter.NewFunction(func(float64) float64 { return 1 })
	one.LineStyle = singleTask
	p.Add(one)
	p.Y.Min, p.Y.Max = min(p.Y.Min, 1), max(p.Y.Max, 1)
	p.X.Padding, p.Y.Padding = vg.Points(6), vg.Points(6)
	ratios(&p.Y)
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	if r.Log && len(ticks) > 0 {
		p.X.Scale = plot.LogScale{}
	}
	return nil
}

// aside moves the points of method i a little, so that bars do not cover each
// other: all methods together by at most a third of what lies between two points.
func (r *Relative) aside(x float64, i int, points []Point) float64 {
	n := float64(len(r.Methods))
	share := (float64(i) - (n-1)/2) / n * min(0.02*n, 0.3/float64(max(1, len(points)-1)))
	first, last := points[0].X, points[len(points)-1].X
	if r.Log {
		return x * math.Pow(last/first, share)
	}
	return x + share*(last-first)
}

func (r *Relative) marks(p *plot.Plot) error {
	upwards := slices.Clone(r.Names)
	slices.Reverse(upwards)
	for i, m := range r.Methods {
		var points struct {
			plotter.XYs
			plotter.XErrors
		}
		for _, point := range m.Points {
			y := float64(slices.Index(upwards, point.Name)) - 0.5*(float64(i)-float64(len(r.Methods)-1)/2)/float64(len(r.Methods))
			points.XYs = append(points.XYs, plotter.XY{X: point.Error, Y: y})
			points.XErrors = append(points.XErrors, point.bar())
		}
		marks, err := plotter.NewScatter(points.XYs)
		if err != nil {
			return err
		}
		bars, err := plotter.NewXErrorBars(points)
		if err != nil {
			return err
		}
		bars.LineStyle, marks.GlyphStyle = m.look(i)
		bars.LineStyle.Width, bars.LineStyle.Dashes = vg.Points(1), nil
		p.Add(bars, marks)
		if m.Title != "" {
			p.Legend.Add(m.Title, marks)
		}
	}
	p.NominalY(upwards...)
	p.Y.Min, p.Y.Max = -0.6, float64(len(upwards))-0.4
	one, err := plotter.NewLine(plotter.XYs{{X: 1, Y: p.Y.Min}, {X: 1, Y: p.Y.Max}})
	if err != nil {
		return err
	}
	one.LineStyle = singleTask
	p.Add(one)
	p.X.Padding = vg.Points(8)
	ratios(&p.X)
	return nil
}

// ratios makes an axis of relative errors logarithmic where they differ much, so
// that the small ones remain distinct.
func ratios(a *plot.Axis) {
	if a.Min > 0 && a.Max > 6*a.Min {
		a.Scale, a.Tick.Marker = plot.LogScale{}, ratioTicks{}
	}
}

// ratioTicks mark 1, 2 and 5 of every decade, or more where there is little more
// than one.
type ratioTicks struct{}

func (ratioTicks) Ticks(lo, hi float64) (ticks []plot.Tick) {
	digits := []float64{1, 2, 5}
	if hi < 20*lo {
		digits = []float64{1, 1.5, 2, 3, 4, 5, 7}
	}
	for decade := math.Floor(math.Log10(lo)); decade <= math.Log10(hi); decade++ {
		for _, digit := range digits {
			if v := digit * math.Pow(10, decade); v >= lo && v <= hi {
				ticks = append(ticks, plot.Tick{Value: v, Label: tickLabel(v)})
			}
		}
	}
	return ticks
}
