package plot

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
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

const (
	// narrowest is the least width of a cell.
	narrowest = 0.5 * vg.Inch
	// mostNamed is the most tasks that have cells to look at and names beside them; a
	// picture of more has one size.
	mostNamed = 64
)

// Correlations draws correlations of the same tasks as heat maps side by side, blue for -1
// and red for 1 in every map. Tasks that the last map has alike stand together.
func Correlations(maps []Correlation) *Picture {
	if len(maps) == 0 {
		return nil
	}
	m := len(maps[0].Tasks)
	faulty := func(row []float64) bool {
		return len(row) != m ||
			!(floats.Norm(row, math.Inf(1)) < 1.01) // 1 and rounding
	}
	for _, c := range maps {
		if m == 0 || len(c.Tasks) != m || len(c.Correlation) != m ||
			slices.ContainsFunc(c.Correlation, faulty) {
			return &Picture{err: fmt.Errorf("correlations of %d tasks must be as many rows of as many numbers within -1..1", m)}
		}
	}
	order := grouped(maps[len(maps)-1].Correlation)
	var plots []*plot.Plot
	for _, c := range maps {
		plots = append(plots, heatMap(c, order))
	}
	tasks := vg.Length(len(order))
	side := max(2.5, min(0.6*tasks, 0.18*tasks+4))
	if tasks > mostNamed {
		side = 10
	}
	return panels(vg.Length(len(plots))*(side+3), side+2.5, plots...)
}

// grouped orders tasks by their angles in the plane of the first two principal axes
// (Friendly 2002, "Corrgrams"), cut at the widest gap, so that similar tasks stand together.
// Three tasks keep their order.
func grouped(correlation [][]float64) []int {
	n := len(correlation)
	order := make([]int, n)
	angle := make([]float64, n)
	var e mat.EigenSym
	if n > 3 &&
		e.Factorize(mat.NewSymDense(n, slices.Concat(correlation...)), true) {
		var axes mat.Dense
		e.VectorsTo(&axes)
		for i := range angle {
			angle[i] = math.Atan2(axes.At(i, n-2),
				axes.At(i, n-1))
		}
	}
	floats.ArgsortStable(angle, order)
	cut := 0
	widest := 2*math.Pi - (angle[n-1] - angle[0])
	for k := 1; k < n; k++ {
		gap := angle[k] - angle[k-1]
		if gap > widest {
			cut = k
			widest = gap
		}
	}
	return slices.Concat(order[cut:], order[:cut])
}

// heatMap draws a map of tasks in an order.
func heatMap(c Correlation, order []int) *plot.Plot {
	var ordered square
	ordered.SubsetSym(mat.NewSymDense(len(order),
		slices.Concat(c.Correlation...)), order)
	var upwards []string
	for _, i := range order {
		upwards = slices.Insert(upwards, 0, c.Tasks[i])
	}
	colours := moreland.SmoothBlueRed()
	colours.SetMin(-1)
	colours.SetMax(1)
	cells := plotter.NewHeatMap(&ordered, colours.Palette(255))
	cells.Min = -1
	cells.Max = 1
	p := newPlot(c.Title, "")
	p.Add(cells)
	if len(c.Tasks) > 12 { // their numbers would not fit into the cells
		p.Title.Text += "\nblue is -1, grey 0, red 1"
	} else {
		p.Add(numbers(&ordered))
	}
	if len(c.Tasks) > mostNamed {
		p.Title.Text += fmt.Sprintf("\n%d tasks, similar ones together",
			len(c.Tasks))
		cells.Rasterized = true
		p.HideAxes()
		return p
	}
	p.NominalY(upwards...)
	slices.Reverse(upwards)
	p.NominalX(upwards...)
	label := &p.X.Tick.Label
	for _, name := range c.Tasks {
		if label.Width(name) > narrowest { // it would run into the next one
			label.Rotation = 0.6
			label.XAlign = text.XRight
			label.YAlign = text.YCenter
		}
	}
	return p
}

// square is a matrix as a grid, whose rows go upwards in a plot.
type square struct{ mat.SymDense }

func (s *square) Z(c, r int) float64 {
	return s.At(s.SymmetricDim()-1-r, c)
}
func (s *square) X(c int) float64 {
	return float64(c)
}
func (s *square) Y(r int) float64 {
	return float64(r)
}

// numbers labels each cell with its value.
func numbers(s *square) *plotter.Labels {
	labels := &plotter.Labels{}
	n := s.SymmetricDim()
	for c := range n {
		for r := range n {
			style := text.Style{Color: color.Gray{Y: 20}, Font: font.From(plot.DefaultFont, 10),
				XAlign: text.XCenter, YAlign: text.YCenter, Handler: plot.DefaultTextHandler}
			z := s.Z(c, r)
			if math.Abs(z) > 0.7 { // on a dark cell
				style.Color = color.White
			}
			label := strings.Replace(fmt.Sprintf("%.2f", z),
				"-0.00", "0.00", 1)
			labels.XYs = append(labels.XYs,
				plotter.XY{
					X: s.X(c),
					Y: s.Y(r),
				})
			labels.TextStyle = append(labels.TextStyle, style)
			labels.Labels = append(labels.Labels, label)
		}
	}
	return labels
}
