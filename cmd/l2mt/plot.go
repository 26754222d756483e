package main

import (
	"bytes"
	"fmt"
	"image/color"
	"math"

	"github.com/google/renameio/v2"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"l2mt/train"
)

// palette has colours that remain apart for colour-blind readers (Okabe and Ito).
var palette = []color.Color{
	color.RGBA{0, 114, 178, 255}, color.RGBA{213, 94, 0, 255}, color.RGBA{0, 158, 115, 255},
	color.RGBA{204, 121, 167, 255}, color.RGBA{230, 159, 0, 255}, color.RGBA{86, 180, 233, 255},
}

// series is one line of a plot.
type series struct {
	name string
	x, y []float64
}

func newPlot(title, x, y string, lines ...series) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.TextStyle.Font.Size = font.Length(13)
	p.Title.Padding = vg.Points(6)
	p.Legend.Top = true
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
	loss, err := newPlot("Objective", "epoch", "",
		column("loss", func(m train.Metrics) float64 { return m.Loss }),
		column("residual |f - v(o)|", func(m train.Metrics) float64 { return m.Residual }),
		column("spread of v(o)", func(m train.Metrics) float64 { return m.Spread }))
	if err != nil {
		return err
	}
	correlation, err := newPlot("Rank correlation of estimate and error", "epoch", "",
		column("held out, within problems", func(m train.Metrics) float64 { return m.HeldOut.Within }),
		column("held out, overall", func(m train.Metrics) float64 { return m.HeldOut.Overall }),
		column("training, within problems", func(m train.Metrics) float64 { return m.Training.Within }),
		column("training, overall", func(m train.Metrics) float64 { return m.Training.Overall }))
	if err != nil {
		return err
	}
	correlation.Y.Min, correlation.Y.Max = min(correlation.Y.Min, 0), 1
	correlation.Legend.Top = false
	var scalars []series
	for _, name := range sortedKeys(metrics[0].Scalars) {
		for i := range metrics[0].Scalars[name] {
			scalars = append(scalars, column(fmt.Sprintf("%s %d", name, i+1), func(m train.Metrics) float64 { return m.Scalars[name][i] }))
		}
	}
	parameters, err := newPlot("Parameters above the embeddings", "epoch", "", scalars...)
	if err != nil {
		return err
	}
	return savePNG(path, 15*vg.Inch, 4.5*vg.Inch, loss, correlation, parameters)
}

// savePNG draws plots side by side.
func savePNG(path string, width, height vg.Length, plots ...*plot.Plot) error {
	canvas := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(110))
	tiles := draw.Tiles{Rows: 1, Cols: len(plots), PadX: vg.Points(14), PadTop: vg.Points(6), PadBottom: vg.Points(6), PadLeft: vg.Points(6), PadRight: vg.Points(10)}
	for i, row := range plot.Align([][]*plot.Plot{plots}, tiles, draw.New(canvas))[0] {
		plots[i].Draw(row)
	}
	var b bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(&b); err != nil {
		return fmt.Errorf("plot %s: %w", path, err)
	}
	return renameio.WriteFile(path, b.Bytes(), 0o644)
}
