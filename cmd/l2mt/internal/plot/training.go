package plot

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"l2mt/train"
)

// Training draws the loss, the correlations and the scalars over epochs.
func Training(metrics []train.Metrics) (*Picture, error) {
	column := func(name string, f func(m train.Metrics) float64) course {
		s := course{name: name}
		for _, m := range metrics {
			s.x, s.y = append(s.x, float64(m.Epoch)), append(s.y, f(m))
		}
		return s
	}
	losses := []course{
		column("loss", func(m train.Metrics) float64 { return m.Loss }),
		column("residual |f - v(o)|", func(m train.Metrics) float64 { return m.Residual }),
		column("standard deviation of v(o)", func(m train.Metrics) float64 { return m.Deviation }),
	}
	correlations := []course{
		column("held out, within problems", func(m train.Metrics) float64 { return m.HeldOut.Within }),
		column("training, within problems", func(m train.Metrics) float64 { return m.Training.Within }),
		column("held out, overall", func(m train.Metrics) float64 { return m.HeldOut.Overall }),
		column("training, overall", func(m train.Metrics) float64 { return m.Training.Overall }),
	}
	correlations[2].dashed, correlations[3].dashed = true, true
	var scalars []course
	for _, name := range slices.Sorted(maps.Keys(metrics[0].Scalars)) {
		for i := range metrics[0].Scalars[name] {
			s := column(fmt.Sprintf("%s %d", name, i+1), func(m train.Metrics) float64 { return m.Scalars[name][i] })
			s.dashed = i%2 == 1
			scalars = append(scalars, s)
		}
	}
	var plots []*plot.Plot
	for _, d := range []struct {
		title string
		lines []course
	}{
		{"Objective", losses},
		{"Rank correlation of f with the relative error", correlations},
		{"Parameters above the embeddings", scalars},
	} {
		p, err := newLines(d.title, "epoch", "", d.lines...)
		if err != nil {
			return nil, err
		}
		p.X.Tick.Marker = wholeTicks{}
		plots = append(plots, p)
	}
	logarithmic(&plots[0].Y)
	plots[1].Y.Min, plots[1].Y.Max = min(plots[1].Y.Min, 0), 1
	return &Picture{15 * vg.Inch, 5 * vg.Inch, plots}, nil
}

// course is one line of a plot. A dashed one remains visible upon another.
type course struct {
	name   string
	x, y   []float64
	dashed bool
}

// newLines is a plot of lines.
func newLines(title, x, y string, lines ...course) (*plot.Plot, error) {
	p := newPlot(title, x, y)
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

// logarithmic shows whole decades around the values, which must be positive.
func logarithmic(a *plot.Axis) {
	if !(a.Min > 1/largest) || !(a.Max < largest) {
		return
	}
	a.Scale, a.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	a.Min = math.Pow(10, math.Floor(math.Log10(a.Min)))
	a.Max = math.Pow(10, math.Ceil(math.Log10(a.Max)))
}
