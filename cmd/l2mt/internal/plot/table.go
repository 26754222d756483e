package plot

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"l2mt/infer/compare"
)

// Table draws the relative errors as bars from 1, which is single-task
// learning, with their standard errors.
func Table(table *compare.Table) (*Picture, error) {
	p := newPlot("Test error relative to single-task learning",
		fmt.Sprintf("mean of the relative errors, with standard error (left of 1 is better); problems: %d", len(table.Problems)), "")
	p.X.Tick.Marker = shiftedTicks{by: 1}
	p.Add(plotter.NewGrid())
	var models, network plotter.Values
	var whiskers struct {
		plotter.XYs
		plotter.XErrors
	}
	var names []string
	worst := slices.SortedStableFunc(slices.Values(table.Rows), func(a, b compare.Row) int { return cmp.Compare(b.PerProblem, a.PerProblem) })
	for _, r := range worst { // the best on top
		excess, deviation := float64(r.PerProblem)-1, float64(r.StandardError)
		if math.IsNaN(excess) {
			continue
		}
		if math.IsNaN(deviation) {
			deviation = 0
		}
		whiskers.XYs = append(whiskers.XYs, plotter.XY{X: excess, Y: float64(len(names))})
		whiskers.XErrors = append(whiskers.XErrors, struct{ Low, High float64 }{deviation, deviation})
		models, network = append(models, excess), append(network, 0)
		if r.Model == compare.L2MT {
			models[len(names)], network[len(names)] = 0, excess
		}
		names = append(names, r.Title)
	}
	if len(names) == 0 {
		return nil, nil // no error of single-task learning to refer to
	}
	for i, values := range []plotter.Values{models, network} {
		bars, err := plotter.NewBarChart(values, vg.Points(12))
		if err != nil {
			return nil, err
		}
		bars.Horizontal, bars.LineStyle.Width = true, 0
		bars.Color = []color.Color{color.Gray{Y: 170}, palette[0]}[i]
		p.Add(bars)
	}
	bars, err := plotter.NewXErrorBars(whiskers)
	if err != nil {
		return nil, err
	}
	p.Add(bars)
	p.NominalY(names...)
	p.Y.Min, p.Y.Max = -0.7, float64(len(names))-0.3
	p.X.Padding = vg.Points(8)
	return &Picture{9 * vg.Inch, vg.Length(1.2+0.28*float64(len(names))) * vg.Inch, []*plot.Plot{p}}, nil
}

// shiftedTicks labels an axis with its values plus a constant.
type shiftedTicks struct{ by float64 }

func (s shiftedTicks) Ticks(low, high float64) []plot.Tick {
	ticks := plainTicks{}.Ticks(low+s.by, high+s.by)
	for i := range ticks {
		ticks[i].Value -= s.by
	}
	return ticks
}
