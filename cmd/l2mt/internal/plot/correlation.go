package plot

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// Correlation is the correlations of tasks, with a name for every row.
type Correlation struct {
	Title       string      `json:"title"`
	Tasks       []string    `json:"tasks"`
	Correlation [][]float64 `json:"correlation"`
}

// Check finds what cannot be drawn: there must be a correlation for each pair of
// tasks.
func (c Correlation) Check() error {
	if len(c.Tasks) == 0 || len(c.Correlation) != len(c.Tasks) {
		return fmt.Errorf("correlations of %d tasks, but %d tasks", len(c.Correlation), len(c.Tasks))
	}
	for i, row := range c.Correlation {
		if len(row) != len(c.Tasks) {
			return fmt.Errorf("correlations: row %d has %d entries for %d tasks", i, len(row), len(c.Tasks))
		}
		for j, v := range row {
			if !(math.Abs(v) < 1.01) { // rounding
				return fmt.Errorf("correlations: entry (%d, %d) is %v; it must be within -1..1", i, j, v)
			}
		}
	}
	return nil
}

// Correlations draws correlations as heat maps side by side, blue for -1 and
// red for 1 whatever the values are, the first task on top.
func Correlations(all []Correlation) (*Picture, error) {
	if len(all) == 0 {
		return nil, nil
	}
	var maps []*plot.Plot
	for _, c := range all {
		p, err := heatMap(c)
		if err != nil {
			return nil, err
		}
		maps = append(maps, p)
	}
	tasks := float64(len(all[0].Tasks))
	side := vg.Length(max(2.5, min(0.6*tasks, 0.2*tasks+6))) * vg.Inch
	if tasks > mostNamed {
		side = 10 * vg.Inch
	}
	return &Picture{vg.Length(len(maps)) * (side + 3*vg.Inch), side + 2.5*vg.Inch, maps}, nil
}

const (
	// narrowest is the least width of a cell.
	narrowest = 0.5 * vg.Inch
	// mostNamed is the most tasks that have cells to look at and names beside them; a
	// picture of more has one size.
	mostNamed = 64
)

func heatMap(c Correlation) (*plot.Plot, error) {
	colours := moreland.SmoothBlueRed()
	colours.SetMin(-1)
	colours.SetMax(1)
	cells := plotter.NewHeatMap(square(c.Correlation), colours.Palette(255))
	cells.Min, cells.Max = -1, 1
	p := newPlot(c.Title, "", "")
	p.Add(cells)
	if len(c.Tasks) > 12 { // their numbers would not fit into the cells
		p.Title.Text += "\nblue is -1, grey 0, red 1"
	} else {
		numbers, err := cellNumbers(c.Correlation)
		if err != nil {
			return nil, err
		}
		p.Add(numbers)
	}
	if len(c.Tasks) > mostNamed {
		p.Title.Text += fmt.Sprintf("\n%d tasks, the first on top and on the left", len(c.Tasks))
		cells.Rasterized = true
		p.HideAxes()
		return p, nil
	}
	upwards := slices.Clone(c.Tasks)
	slices.Reverse(upwards)
	p.NominalY(upwards...)
	p.NominalX(c.Tasks...)
	for _, name := range c.Tasks {
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
			cells.Labels = append(cells.Labels, strings.Replace(strconv.FormatFloat(s.Z(c, r), 'f', 2, 64), "-0.00", "0.00", 1))
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
