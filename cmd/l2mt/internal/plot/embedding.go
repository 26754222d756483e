package plot

// The map of tasks: their embeddings in the plane, by classical scaling of the
// distances that the atlas of a network uses, in which a task and the task with
// all labels flipped are one.

import (
	"fmt"
	"image/color"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/mds"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"l2mt/data"
	"l2mt/infer/solve"
)

// mostMapped bounds the training tasks on a map: scaling takes the cube of their
// number.
const mostMapped = 600

// Embedding draws training tasks in the plane. Those of one name, which tell the
// same classes apart on other rows, are tied to their mean. Tasks of new problems
// stand out among them.
func Embedding(training *solve.Atlas, problems ...solve.Embedded) (*Picture, error) {
	known := joined(training.Problems, 1)
	for step := 2; len(known.E) > mostMapped && step <= len(training.Problems); step++ {
		known = joined(training.Problems, step) // some, evenly
	}
	others := joined(problems, 1)
	if len(others.Tasks) != len(others.E) {
		return nil, fmt.Errorf("%w: %d tasks with %d embeddings", data.ErrInvalid, len(others.Tasks), len(others.E))
	}
	at, kept, err := scaled(slices.Concat(known.E, others.E))
	if err != nil {
		return nil, err
	}
	title := fmt.Sprintf("%d training tasks", len(known.E))
	switch len(problems) {
	case 0:
	case 1:
		title = problems[0].Name + " among " + title
	default:
		title = fmt.Sprintf("%d tasks of %d problems among %s", len(others.E), len(problems), title)
	}
	p := newPlot(title, fmt.Sprintf("first coordinate (the two keep %.0f %% of the squared distances; a task and its mirror image are one)", 100*kept), "second coordinate")
	p.X.Tick.Marker, p.Y.Tick.Marker = plainTicks{}, plainTicks{}
	p.X.Padding, p.Y.Padding = vg.Points(10), vg.Points(10)
	p.Add(plotter.NewGrid())
	shown := &Picture{9 * vg.Inch, 8 * vg.Inch, []*plot.Plot{p}}
	names := newNames(shown, at)
	for i, name := range others.Tasks {
		names.add(name, at[len(known.E)+i], 11)
	}
	groups := map[string]plotter.XYs{}
	for i, name := range known.Tasks {
		groups[name] = append(groups[name], at[i])
	}
	order := slices.Sorted(maps.Keys(groups))
	slices.SortStableFunc(order, func(a, b string) int { return len(groups[b]) - len(groups[a]) }) // the largest are written first
	for i, name := range order {
		mean := centre(groups[name])
		names.add(name, mean, 9)
		var star plotter.XYs
		for _, task := range groups[name] {
			star = append(star, mean, task)
		}
		ties, err := plotter.NewLine(star)
		if err != nil {
			return nil, err
		}
		ties.LineStyle = draw.LineStyle{Color: palette[i%len(palette)], Width: vg.Points(0.6)}
		p.Add(ties)
		if err := addMarks(p, groups[name], draw.GlyphStyle{Color: ties.Color, Radius: vg.Points(2.5), Shape: draw.CircleGlyph{}}); err != nil {
			return nil, err
		}
	}
	if len(problems) > 0 {
		if err := addMarks(p, at[len(known.E):], draw.GlyphStyle{Color: color.Black, Radius: vg.Points(4), Shape: draw.BoxGlyph{}}); err != nil {
			return nil, err
		}
	}
	for _, label := range names.labels { // above all else
		p.Add(label)
	}
	return shown, nil
}

// joined is all the tasks of every so many problems.
func joined(problems []solve.Embedded, step int) (all solve.Embedded) {
	for i := 0; i < len(problems); i += step {
		all.Tasks, all.E = append(all.Tasks, problems[i].Tasks...), append(all.E, problems[i].E...)
	}
	return all
}

func addMarks(p *plot.Plot, at plotter.XYs, look draw.GlyphStyle) error {
	marks, err := plotter.NewScatter(at)
	if err != nil {
		return err
	}
	marks.GlyphStyle = look
	p.Add(marks)
	return nil
}

func centre(points plotter.XYs) (c plotter.XY) {
	for _, p := range points {
		c.X += p.X / float64(len(points))
		c.Y += p.Y / float64(len(points))
	}
	return c
}

// names are texts in a picture that do not cover each other.
type names struct {
	across, up float64 // points of the picture for a unit of the data
	labels     []*plotter.Labels
	boxes      []vg.Rectangle
}

// newNames is for names at points of the picture, of which the axes and what
// stands out take a quarter.
func newNames(p *Picture, at plotter.XYs) *names {
	xlow, xhigh, ylow, yhigh := plotter.XYRange(at)
	return &names{across: 0.75 * float64(p.width) / (xhigh - xlow), up: 0.75 * float64(p.height) / (yhigh - ylow)}
}

// add writes a name above a point, or leaves it out where it would cover another.
func (n *names) add(name string, at plotter.XY, size vg.Length) {
	const above = 3
	style := text.Style{Color: color.Black, Font: sans(size), XAlign: text.XCenter, YAlign: text.YBottom, Handler: plot.DefaultTextHandler}
	box := style.Rectangle(name).Add(vg.Point{X: vg.Length(at.X * n.across), Y: vg.Length(at.Y*n.up) + above})
	if slices.ContainsFunc(n.boxes, func(o vg.Rectangle) bool {
		return box.Min.X < o.Max.X && o.Min.X < box.Max.X && box.Min.Y < o.Max.Y && o.Min.Y < box.Max.Y
	}) {
		return
	}
	n.boxes = append(n.boxes, box)
	n.labels = append(n.labels, &plotter.Labels{XYs: plotter.XYs{at}, Labels: []string{name}, TextStyle: []text.Style{style}, Offset: vg.Point{Y: above}})
}

// scaled maps embeddings to the plane. It also returns the share of the
// positive eigenvalues that the two coordinates have.
func scaled(e [][]float32) (at plotter.XYs, kept float64, err error) {
	n := len(e)
	if n < 3 {
		return nil, 0, fmt.Errorf("%w: a map needs at least 3 tasks; there are %d", data.ErrInvalid, n)
	}
	if slices.ContainsFunc(e, func(row []float32) bool { return len(row) != len(e[0]) }) {
		return nil, 0, fmt.Errorf("%w: the embeddings differ in length", data.ErrInvalid)
	}
	distances := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i {
			minus, plus := 0.0, 0.0
			for k, v := range e[i] {
				d, s := float64(v-e[j][k]), float64(v+e[j][k])
				minus += d * d
				plus += s * s
			}
			distances.SetSym(i, j, math.Sqrt(min(minus, plus)))
		}
	}
	var coordinates mat.Dense
	k, values := mds.TorgersonScaling(&coordinates, make([]float64, n), distances)
	if k == 0 || values[0] <= 0 {
		return nil, 0, fmt.Errorf("%w: all embeddings are the same, or not finite", data.ErrInvalid)
	}
	at = make(plotter.XYs, n)
	for i := range at {
		at[i].X = coordinates.At(i, 0)
		if k > 1 {
			at[i].Y = coordinates.At(i, 1)
		}
	}
	return at, floats.Sum(values[:min(k, 2)]) / floats.Sum(values[:k]), nil
}
