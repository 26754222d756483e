package main

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"l2mt/data"
	"l2mt/data/atomic"
	"l2mt/train"
)

// palette has colours that remain apart for colour-blind readers (Okabe and Ito).
var palette = []color.Color{
	color.RGBA{0, 114, 178, 255}, color.RGBA{213, 94, 0, 255}, color.RGBA{0, 158, 115, 255},
	color.RGBA{204, 121, 167, 255}, color.RGBA{230, 159, 0, 255}, color.RGBA{86, 180, 233, 255},
}

// series is one line of a plot. A dashed one remains visible upon another.
type series struct {
	name   string
	x, y   []float64
	dashed bool
}

func newPlot(title, x, y string, lines ...series) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.TextStyle.Font.Size = font.Length(13)
	p.Title.Padding = vg.Points(6)
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = true, true, vg.Points(3)
	p.Y.Tick.Marker = plainTicks{}
	p.Add(plotter.NewGrid())
	for i, s := range lines {
		var points plotter.XYs
		for j := range s.x {
			if !math.IsNaN(s.y[j]) {
				points = append(points, plotter.XY{X: s.x[j], Y: s.y[j]})
			}
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return nil, fmt.Errorf("plot %q, line %q: %w", title, s.name, err)
		}
		line.Color, line.Width = palette[i%len(palette)], vg.Points(1.5)
		if s.dashed {
			line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
		}
		p.Add(line)
		p.Legend.Add(s.name, line)
	}
	return p, nil
}

// plotTraining draws the loss, the correlations and the scalars over epochs.
func plotTraining(path string, metrics []train.Metrics) error {
	column := func(name string, f func(m train.Metrics) float64) series {
		s := series{name: name}
		for _, m := range metrics {
			s.x, s.y = append(s.x, float64(m.Epoch)), append(s.y, f(m))
		}
		return s
	}
	losses := []series{
		column("loss", func(m train.Metrics) float64 { return m.Loss }),
		column("residual |f - v(o)|", func(m train.Metrics) float64 { return m.Residual }),
		column("spread of v(o)", func(m train.Metrics) float64 { return m.Spread }),
	}
	correlations := []series{
		column("held out, within problems", func(m train.Metrics) float64 { return m.HeldOut.Within }),
		column("training, within problems", func(m train.Metrics) float64 { return m.Training.Within }),
		column("held out, overall", func(m train.Metrics) float64 { return m.HeldOut.Overall }),
		column("training, overall", func(m train.Metrics) float64 { return m.Training.Overall }),
	}
	correlations[2].dashed, correlations[3].dashed = true, true
	var scalars []series
	for _, name := range sortedKeys(metrics[0].Scalars) {
		for i := range metrics[0].Scalars[name] {
			s := column(fmt.Sprintf("%s %d", name, i+1), func(m train.Metrics) float64 { return m.Scalars[name][i] })
			s.dashed = i%2 == 1
			scalars = append(scalars, s)
		}
	}
	var plots []*plot.Plot
	for _, d := range []struct {
		title string
		lines []series
	}{
		{"Objective", losses},
		{"Rank correlation of f with the relative error", correlations},
		{"Parameters above the embeddings", scalars},
	} {
		p, err := newPlot(d.title, "epoch", "", d.lines...)
		if err != nil {
			return err
		}
		p.X.Tick.Marker = wholeTicks{}
		plots = append(plots, p)
	}
	logarithmic(&plots[0].Y)
	plots[1].Y.Min, plots[1].Y.Max = min(plots[1].Y.Min, 0), 1
	return savePlots(path, 15*vg.Inch, 5*vg.Inch, plots...)
}

// logarithmic shows whole decades around the values, which must be positive.
func logarithmic(a *plot.Axis) {
	if !(a.Min > 1/largest) || !(a.Max < largest) {
		return
	}
	a.Scale, a.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	a.Min = math.Pow(10, math.Floor(math.Log10(a.Min)))
	a.Max = math.Pow(10, math.Ceil(math.Log10(a.Max)))
}

// plainTicks label what they mark with all the digits of the value. The default
// ones round to a digit too few, so that two may look the same.
type plainTicks struct{}

func (plainTicks) Ticks(lo, hi float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(lo, hi)
	for i, t := range ticks {
		if t.Label != "" {
			ticks[i].Label = strconv.FormatFloat(math.Round(t.Value*1e9)/1e9, 'g', -1, 64)
		}
	}
	return ticks
}

// wholeTicks mark whole numbers only, such as epochs.
type wholeTicks struct{}

func (wholeTicks) Ticks(lo, hi float64) (ticks []plot.Tick) {
	for _, t := range (plot.DefaultTicks{}).Ticks(lo, hi) {
		if t.Value != math.Round(t.Value) {
			continue
		}
		if t.Label != "" {
			t.Label = strconv.Itoa(int(t.Value))
		}
		ticks = append(ticks, t)
	}
	return ticks
}

// savePlots draws plots side by side, each with its legend below it, as PNG or
// SVG by the end of the file's name.
func savePlots(path string, width, height vg.Length, plots ...*plot.Plot) error {
	for _, p := range plots {
		for _, a := range []*plot.Axis{&p.X, &p.Y} {
			if err := drawable(a); err != nil {
				return fmt.Errorf("plot %s: %w", path, err)
			}
		}
	}
	var canvas interface {
		vg.CanvasSizer
		io.WriterTo
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png":
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(110))}
	case ".svg":
		canvas = vgsvg.New(width, height)
	default:
		return fmt.Errorf("plot %s: %w: pictures are written as .png or .svg", path, errUsage)
	}
	drawPlots(draw.New(canvas), plots)
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return fmt.Errorf("plot %s: %w", path, err)
	}
	return atomic.WriteFile(path, b.Bytes())
}

// largest is what numbers in a picture may come to: ticks of larger ones overflow.
const largest = 1e150

// drawable refuses an axis of numbers too large, and widens one of numbers so
// close that the ticks between them would be one number.
func drawable(a *plot.Axis) error {
	size := max(math.Abs(a.Min), math.Abs(a.Max))
	if !(size < largest) && !math.IsInf(a.Min, 1) { // an axis without data begins at +Inf
		return fmt.Errorf("%w: numbers from %v to %v cannot be drawn", data.ErrInvalid, a.Min, a.Max)
	}
	if least := 1e-9 * size; a.Max > a.Min && a.Max-a.Min < least {
		a.Min, a.Max = a.Min-least, a.Max+least
	}
	return nil
}

func drawPlots(whole draw.Canvas, plots []*plot.Plot) {
	below := vg.Length(0) // the height of the highest legend
	legends := make([]plot.Legend, len(plots))
	for i, p := range plots {
		below = max(below, p.Legend.Rectangle(whole).Size().Y)
		legends[i], p.Legend = p.Legend, plot.NewLegend()
	}
	tiles := draw.Tiles{Rows: 1, Cols: len(plots), PadX: vg.Points(20), PadTop: vg.Points(6), PadBottom: vg.Points(10), PadLeft: vg.Points(6), PadRight: vg.Points(14)}
	for i, tile := range plot.Align([][]*plot.Plot{plots}, tiles, draw.Crop(whole, 0, 0, below, 0))[0] {
		plots[i].Draw(tile)
		under := plots[i].DataCanvas(tile)
		under.Min.Y, under.Max.Y = whole.Min.Y, whole.Min.Y+below+tiles.PadBottom/2
		legends[i].Draw(under)
	}
}
