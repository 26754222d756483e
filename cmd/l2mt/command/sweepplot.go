package command

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"l2mt/infer/compare"
)

// singleTask is the line at 1, the error of single-task learning.
var singleTask = draw.LineStyle{Color: color.Gray{Y: 120}, Width: vg.Points(1), Dashes: []vg.Length{vg.Points(2), vg.Points(2)}}

// plotSweep draws relative errors with error bars: as curves over numbers, else
// as marks beside names.
func plotSweep(r *sweepResult) (*picture, error) {
	if len(r.series(len(r.Axes))) == 0 {
		return nil, nil // no error of single-task learning to refer to, or nothing to show
	}
	p := newPlot(r.Title, "", "")
	p.Add(plotter.NewGrid())
	label := "test error relative to STL"
	if slices.ContainsFunc(r.Rows, func(row sweepRow) bool { return !math.IsNaN(float64(row.Deviation)) }) {
		label += " (bars: standard error " + r.Spread() + ")"
	}
	if len(r.Axes) > 0 && r.Axes[0].Numeric {
		p.X.Label.Text, p.Y.Label.Text = r.Axes[0].Label, label
		p.Y.Tick.Marker = plainTicks{}
		if err := drawCurves(p, r); err != nil {
			return nil, err
		}
		return &picture{8 * vg.Inch, 7.5 * vg.Inch, []*plot.Plot{p}}, nil
	}
	p.X.Label.Text, p.X.Tick.Marker = label, plainTicks{}
	names, err := drawMarks(p, r)
	if err != nil {
		return nil, err
	}
	return &picture{9 * vg.Inch, vg.Length(2.4+0.32*float64(names)) * vg.Inch, []*plot.Plot{p}}, nil
}

// sweepSeries is one method, at one value of the second axis.
type sweepSeries struct {
	title string
	rows  []sweepRow
}

// series collects the rows that the picture shows, in the order of Show. What has no
// relative error, where single-task learning makes none, is left out.
func (r *sweepResult) series(second int) (all []sweepSeries) {
	for _, row := range r.Rows {
		if !r.shown(row) || math.IsNaN(float64(row.Relative)) {
			continue
		}
		title := row.Title
		if len(row.At) > second {
			title += ", " + row.At[second]
		}
		i := slices.IndexFunc(all, func(s sweepSeries) bool { return s.title == title })
		if i < 0 {
			i = len(all)
			all = append(all, sweepSeries{title: title})
		}
		all[i].rows = append(all[i].rows, row)
	}
	slices.SortStableFunc(all, func(a, b sweepSeries) int {
		return cmp.Compare(r.place(a.rows[0]), r.place(b.rows[0]))
	})
	return all
}

// look is how series i is drawn: L2MT in a strong line, the rest told apart by
// colour, dashes and marks together.
func look(i int, row sweepRow) (draw.LineStyle, draw.GlyphStyle) {
	shapes := []draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{}, draw.BoxGlyph{}, draw.CrossGlyph{}}
	line := draw.LineStyle{Color: palette[i%len(palette)], Width: vg.Points(1.2)}
	if row.Model == compare.L2MT {
		line.Width = vg.Points(2.4)
	}
	if i >= len(palette) {
		line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
	}
	return line, draw.GlyphStyle{Color: line.Color, Radius: vg.Points(3.5), Shape: shapes[i%len(shapes)]}
}

func drawCurves(p *plot.Plot, r *sweepResult) error {
	axis := r.Axes[0]
	all := r.series(1)
	for i, s := range all {
		if axis.Log { // which has no place for zero
			s.rows = slices.DeleteFunc(s.rows, func(row sweepRow) bool { return row.X <= 0 })
		}
		if len(s.rows) == 0 {
			continue
		}
		slices.SortStableFunc(s.rows, func(a, b sweepRow) int { return cmp.Compare(a.X, b.X) })
		var points struct {
			plotter.XYs
			plotter.YErrors
		}
		for _, row := range s.rows {
			points.XYs = append(points.XYs, plotter.XY{X: aside(float64(row.X), i, len(all), axis.Log, s.rows), Y: float64(row.Relative)})
			bar := halfBar(row.Deviation)
			points.YErrors = append(points.YErrors, struct{ Low, High float64 }{bar, bar})
		}
		line, marks, err := plotter.NewLinePoints(points.XYs)
		if err != nil {
			return err
		}
		line.LineStyle, marks.GlyphStyle = look(i, s.rows[0])
		bars, err := plotter.NewYErrorBars(points)
		if err != nil {
			return err
		}
		bars.LineStyle = draw.LineStyle{Color: line.Color, Width: vg.Points(0.8)}
		p.Add(bars, line, marks)
		p.Legend.Add(s.title, line, marks)
		if axis.Fit && s.rows[0].Model == compare.L2MT && s.rows[0].X > 0 {
			drawBound(p, s, line.Color)
		}
	}
	one := plotter.NewFunction(func(float64) float64 { return 1 })
	one.LineStyle = singleTask
	p.Add(one)
	p.Y.Min, p.Y.Max = min(p.Y.Min, 1), max(p.Y.Max, 1)
	p.X.Padding, p.Y.Padding = vg.Points(6), vg.Points(6)
	ratios(&p.Y)
	var ticks []plot.Tick
	for _, row := range r.Rows {
		if x := float64(row.X); !slices.ContainsFunc(ticks, func(t plot.Tick) bool { return t.Value == x }) && (x > 0 || !axis.Log) {
			ticks = append(ticks, plot.Tick{Value: x, Label: row.At[0]})
		}
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	if axis.Log {
		p.X.Scale = plot.LogScale{}
	}
	return nil
}

// ratios makes an axis of relative errors logarithmic where they differ much, so
// that the small ones remain apart.
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

// aside moves the points of a series a little, so that bars do not cover each
// other: together by at most a third of what lies between two values.
func aside(x float64, i, n int, log bool, rows []sweepRow) float64 {
	place := (float64(i) - float64(n-1)/2) / float64(n) // -1/2 .. 1/2
	share := place * min(0.02*float64(n), 0.3/float64(max(1, len(rows)-1)))
	first, last := float64(rows[0].X), float64(rows[len(rows)-1].X)
	if log {
		return x * math.Pow(last/first, share)
	}
	return x + share*(last-first)
}

// halfBar is nothing where there is no standard error.
func halfBar(f compare.Float) float64 {
	if math.IsNaN(float64(f)) {
		return 0
	}
	return float64(f)
}

// drawBound fits a + b q^-1/2, the shape of the bound of Theorem 4, to the
// means of a series.
func drawBound(p *plot.Plot, s sweepSeries, c color.Color) {
	var root, y []float64
	for _, row := range s.rows {
		root, y = append(root, 1/math.Sqrt(float64(row.X))), append(y, float64(row.Relative))
	}
	a, b := stat.LinearRegression(root, y, nil, false)
	// No error is negative, and a logarithmic axis has no place for zero.
	curve := plotter.NewFunction(func(q float64) float64 { return max(a+b/math.Sqrt(q), 1e-9) })
	curve.XMin, curve.XMax = float64(s.rows[0].X), float64(s.rows[len(s.rows)-1].X)
	curve.LineStyle = draw.LineStyle{Color: c, Width: vg.Points(1.2), Dashes: []vg.Length{vg.Points(6), vg.Points(3)}}
	p.Add(curve)
	p.Legend.Add(fmt.Sprintf("%s: %.3f %+.3f q^-1/2, least squares", s.title, a, b), curve)
}

// drawMarks draws a row for every value of the first axis, or for every method
// where nothing is varied, and returns how many lines the picture needs.
func drawMarks(p *plot.Plot, r *sweepResult) (lines int, err error) {
	var names []string
	all := r.series(1)
	if len(r.Axes) == 0 {
		all = []sweepSeries{{}}
		for _, s := range r.series(0) {
			all[0].rows = append(all[0].rows, s.rows...)
		}
	}
	name := func(row sweepRow) string {
		if len(row.At) == 0 {
			return row.Title
		}
		return row.At[0]
	}
	for _, row := range slices.Backward(r.Rows) { // the first on top
		if r.shown(row) && !slices.Contains(names, name(row)) {
			names = append(names, name(row))
		}
	}
	for i, s := range all {
		var points struct {
			plotter.XYs
			plotter.XErrors
		}
		for _, row := range s.rows {
			y := float64(slices.Index(names, name(row))) - 0.5*(float64(i)-float64(len(all)-1)/2)/float64(len(all))
			points.XYs = append(points.XYs, plotter.XY{X: float64(row.Relative), Y: y})
			bar := halfBar(row.Deviation)
			points.XErrors = append(points.XErrors, struct{ Low, High float64 }{bar, bar})
		}
		marks, err := plotter.NewScatter(points.XYs)
		if err != nil {
			return 0, err
		}
		bars, err := plotter.NewXErrorBars(points)
		if err != nil {
			return 0, err
		}
		bars.LineStyle, marks.GlyphStyle = look(i, s.rows[0])
		bars.LineStyle.Width, bars.LineStyle.Dashes = vg.Points(1), nil
		p.Add(bars, marks)
		if s.title != "" {
			p.Legend.Add(s.title, marks)
		}
	}
	one, err := plotter.NewLine(plotter.XYs{{X: 1, Y: -0.6}, {X: 1, Y: float64(len(names)) - 0.4}})
	if err != nil {
		return 0, err
	}
	one.LineStyle = singleTask
	p.Add(one)
	p.NominalY(names...)
	p.Y.Min, p.Y.Max = -0.6, float64(len(names))-0.4
	p.X.Padding = vg.Points(8)
	ratios(&p.X)
	return len(names) + len(all)/2, nil
}

// plotCase draws the correlations of the case study side by side.
func plotCase(r *sweepResult) (*picture, error) {
	if len(r.Correlations) == 0 {
		return nil, fmt.Errorf("%w: the sweep has no case study", errUsage)
	}
	var maps []*plot.Plot
	for _, c := range r.Correlations {
		p, err := correlationMap(c.Title, c.Tasks, c.Correlation)
		if err != nil {
			return nil, err
		}
		maps = append(maps, p)
	}
	side := vg.Length(2.2+0.25*float64(len(r.Correlations[0].Tasks))) * vg.Inch
	return &picture{vg.Length(len(maps)) * (side + 0.6*vg.Inch), side + 0.8*vg.Inch, maps}, nil
}
