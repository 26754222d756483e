package command

import (
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// plotCorrelations draws the correlations of tasks as heat maps side by side,
// blue for -1 and red for 1 whatever the values are, the first task on top.
func plotCorrelations(tasks []string, views []*view) (*picture, error) {
	var maps []*plot.Plot
	for _, v := range views {
		p, err := correlationMap("Task correlations\n"+v.title(), tasks, v.Correlation)
		if err != nil {
			return nil, err
		}
		maps = append(maps, p)
	}
	return heatMaps(len(tasks), maps...), nil
}

// heatMaps is maps of so many tasks side by side.
func heatMaps(tasks int, maps ...*plot.Plot) *picture {
	side := vg.Length(max(2.5, min(0.6*float64(tasks), 0.2*float64(tasks)+6))) * vg.Inch
	return &picture{vg.Length(len(maps)) * (side + 3*vg.Inch), side + 2.5*vg.Inch, maps}
}

// narrowest is the least width of a cell.
const narrowest = 0.5 * vg.Inch

func correlationMap(title string, tasks []string, correlation [][]float64) (*plot.Plot, error) {
	colours := moreland.SmoothBlueRed()
	colours.SetMin(-1)
	colours.SetMax(1)
	cells := plotter.NewHeatMap(square(correlation), colours.Palette(255))
	cells.Min, cells.Max = -1, 1
	p := newPlot(title, "", "")
	p.Add(cells)
	if len(tasks) > 12 { // their numbers would not fit into the cells
		p.Title.Text += "\nblue is -1, grey 0, red 1"
	} else {
		numbers, err := cellNumbers(correlation)
		if err != nil {
			return nil, err
		}
		p.Add(numbers)
	}
	upwards := slices.Clone(tasks)
	slices.Reverse(upwards)
	p.NominalY(upwards...)
	p.NominalX(tasks...)
	for _, name := range tasks {
		if p.X.Tick.Label.Width(name) > narrowest { // it would run into the next one
			p.X.Tick.Label.Rotation = 0.6
			p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = text.XRight, text.YCenter
		}
	}
	return p, nil
}

// square is a matrix as a grid, whose rows go upwards in a plot.
type square [][]float64

func (s square) Dims() (c, r int)   { return len(s), len(s) }
func (s square) Z(c, r int) float64 { return s[len(s)-1-r][c] }
func (s square) X(c int) float64    { return float64(c) }
func (s square) Y(r int) float64    { return float64(r) }

// cellNumbers writes each value into its cell.
func cellNumbers(s square) (*plotter.Labels, error) {
	var cells plotter.XYLabels
	for c := range s {
		for r := range s {
			cells.XYs = append(cells.XYs, plotter.XY{X: float64(c), Y: float64(r)})
			cells.Labels = append(cells.Labels, strconv.FormatFloat(s.Z(c, r), 'f', 2, 64))
		}
	}
	numbers, err := plotter.NewLabels(cells)
	if err != nil {
		return nil, err
	}
	for i := range numbers.TextStyle {
		at := cells.XYs[i]
		numbers.TextStyle[i].Font, numbers.TextStyle[i].Color = sans(10), color.Gray{Y: 20}
		if math.Abs(s.Z(int(at.X), int(at.Y))) > 0.7 { // on a dark cell
			numbers.TextStyle[i].Color = color.White
		}
		numbers.TextStyle[i].XAlign, numbers.TextStyle[i].YAlign = text.XCenter, text.YCenter
	}
	return numbers, nil
}
