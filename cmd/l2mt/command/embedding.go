package command

// The map of tasks: their embeddings in the plane, by classical scaling of the
// distances that the atlas of a network uses, in which a task and the task with
// all labels flipped are one.

import (
	"errors"
	"fmt"
	"image/color"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"l2mt/data"
	"l2mt/infer/solve"
)

// mostMapped bounds the training tasks on a map: the eigenvectors take the cube
// of their number.
const mostMapped = 600

// plotEmbedding draws training tasks in the plane. Those of one name, which tell
// the same classes apart on other rows, are tied to their mean. Tasks of new
// problems stand out among them.
func plotEmbedding(training *solve.Atlas, problems ...solve.Place) (*picture, error) {
	known, others := spread(training), joined(problems)
	if len(others.Tasks) != len(others.E) {
		return nil, fmt.Errorf("%w: %d tasks with %d embeddings", data.ErrInvalid, len(others.Tasks), len(others.E))
	}
	at, kept, err := scaled(slices.Concat(known.E, others.E))
	if err != nil {
		return nil, err
	}
	title := fmt.Sprintf("%d training tasks as the network sees them", len(known.E))
	if len(problems) > 0 {
		title = fmt.Sprintf("%s among %d training tasks", problems[0].Name, len(known.E))
	}
	if len(problems) > 1 {
		title = fmt.Sprintf("%d tasks of %d problems among %d training tasks", len(others.E), len(problems), len(known.E))
	}
	p := newPlot(title, fmt.Sprintf("first coordinate (the two keep %.0f %% of the squared distances; a task and its mirror image are one)", 100*kept), "second coordinate")
	p.X.Tick.Marker, p.Y.Tick.Marker = plainTicks{}, plainTicks{}
	p.X.Padding, p.Y.Padding = vg.Points(10), vg.Points(10)
	p.Add(plotter.NewGrid())
	shown := &picture{9 * vg.Inch, 8 * vg.Inch, []*plot.Plot{p}}
	names := newPlaced(shown, at, slices.Concat(known.Tasks, others.Tasks))
	for i, name := range others.Tasks {
		names.add(name, at[len(known.E)+i], 11)
	}
	groups := map[string]plotter.XYs{}
	for i, name := range known.Tasks {
		groups[name] = append(groups[name], at[i])
	}
	order := slices.Sorted(maps.Keys(groups))
	slices.SortStableFunc(order, func(a, b string) int { return len(groups[b]) - len(groups[a]) }) // the largest find place first
	var means plotter.XYs
	for _, name := range order {
		mean := centre(groups[name])
		means = append(means, mean)
		names.add(name, mean, 9)
	}
	for i, c := range apart(means) {
		if err := drawGroup(p, groups[order[i]], means[i], palette[c]); err != nil {
			return nil, err
		}
	}
	if len(problems) > 0 {
		marks, err := plotter.NewScatter(at[len(known.E):])
		if err != nil {
			return nil, err
		}
		marks.GlyphStyle = draw.GlyphStyle{Color: color.Black, Radius: vg.Points(4), Shape: draw.BoxGlyph{}}
		p.Add(marks)
	}
	for _, label := range names.labels { // above all else
		p.Add(label)
	}
	return shown, nil
}

// spread joins the problems of an atlas, evenly left out until few enough tasks
// remain.
func spread(a *solve.Atlas) solve.Place {
	for step := 1; ; step++ {
		var some []solve.Place
		for i := 0; i < len(a.Problems); i += step {
			some = append(some, a.Problems[i])
		}
		if all := joined(some); len(all.E) <= mostMapped || len(some) == 1 {
			return all
		}
	}
}

// joined is all the tasks of problems.
func joined(problems []solve.Place) (all solve.Place) {
	for _, p := range problems {
		all.Tasks, all.E = append(all.Tasks, p.Tasks...), append(all.E, p.E...)
	}
	return all
}

// drawGroup draws tasks of one name, tied to their mean.
func drawGroup(p *plot.Plot, tasks plotter.XYs, mean plotter.XY, c color.Color) error {
	for _, t := range tasks {
		tie, err := plotter.NewLine(plotter.XYs{mean, t})
		if err != nil {
			return err
		}
		tie.LineStyle = draw.LineStyle{Color: c, Width: vg.Points(0.6)}
		p.Add(tie)
	}
	marks, err := plotter.NewScatter(tasks)
	if err != nil {
		return err
	}
	marks.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(2.5), Shape: draw.CircleGlyph{}}
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

// apart gives each point a colour of the palette, the one whose points so far are
// furthest away: more colours could not be told from each other.
func apart(points plotter.XYs) []int {
	colour := make([]int, len(points))
	for i, p := range points {
		nearest := slices.Repeat([]float64{math.Inf(1)}, len(palette))
		for j, o := range points[:i] {
			nearest[colour[j]] = min(nearest[colour[j]], math.Hypot(p.X-o.X, p.Y-o.Y))
		}
		colour[i] = slices.Index(nearest, slices.Max(nearest))
	}
	return colour
}

// placed are names in a picture that do not cover each other.
type placed struct {
	across, up float64 // points of the picture for a unit of the data
	labels     []*plotter.Labels
	boxes      []vg.Rectangle
}

func nameStyle(size vg.Length) text.Style {
	return text.Style{Color: color.Black, Font: sans(size), XAlign: text.XCenter, YAlign: text.YBottom, Handler: plot.DefaultTextHandler}
}

// newPlaced is for names at points of the picture. An eighth of it is for the
// axes, and the names stand out on both sides.
func newPlaced(p *picture, at plotter.XYs, names []string) *placed {
	widest := vg.Length(0)
	for _, name := range names {
		widest = max(widest, nameStyle(9).Width(name))
	}
	xlow, xhigh, ylow, yhigh := plotter.XYRange(at)
	return &placed{across: float64(0.875*p.width-widest) / (xhigh - xlow), up: 0.875 * float64(p.height) / (yhigh - ylow)}
}

// add places a name above a point, as near as it can. A name that finds no place
// there is left out.
func (s *placed) add(name string, at plotter.XY, size vg.Length) {
	style := nameStyle(size)
	box := style.Rectangle(name)
	for step := range 9 {
		shift := 3 + 0.6*box.Size().Y*vg.Length((step+1)/2*(1-2*(step%2)))
		box := box.Add(vg.Point{X: vg.Length(at.X * s.across), Y: vg.Length(at.Y*s.up) + shift})
		if slices.ContainsFunc(s.boxes, func(o vg.Rectangle) bool {
			return box.Min.X < o.Max.X && o.Min.X < box.Max.X && box.Min.Y < o.Max.Y && o.Min.Y < box.Max.Y
		}) {
			continue
		}
		s.boxes = append(s.boxes, box)
		s.labels = append(s.labels, &plotter.Labels{XYs: plotter.XYs{at}, Labels: []string{name}, TextStyle: []text.Style{style}, Offset: vg.Point{Y: shift}})
		return
	}
}

// scaled places embeddings in the plane by classical scaling: the two leading
// eigenvectors of the doubly centred matrix of squared distances. It also
// returns the share of the positive eigenvalues that the two have.
func scaled(e [][]float32) (at plotter.XYs, kept float64, err error) {
	n := len(e)
	if n < 3 {
		return nil, 0, fmt.Errorf("%w: a map needs at least 3 tasks; there are %d", data.ErrInvalid, n)
	}
	if slices.ContainsFunc(e, func(row []float32) bool { return len(row) != len(e[0]) }) {
		return nil, 0, fmt.Errorf("%w: the embeddings differ in length", data.ErrInvalid)
	}
	squared := mat.NewSymDense(n, nil)
	mean, all := make([]float64, n), 0.0
	for i := range n {
		for j := range n {
			minus, plus := 0.0, 0.0
			for k, v := range e[i] {
				d, s := float64(v-e[j][k]), float64(v+e[j][k])
				minus += d * d
				plus += s * s
			}
			d := min(minus, plus)
			squared.SetSym(i, j, d)
			mean[i] += d / float64(n)
		}
		all += mean[i] / float64(n)
	}
	for i := range n {
		for j := i; j < n; j++ {
			squared.SetSym(i, j, -(squared.At(i, j)-mean[i]-mean[j]+all)/2)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(squared, true) {
		return nil, 0, errors.New("the eigendecomposition did not converge")
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	values := eigen.Values(nil)
	positive := 0.0
	for _, v := range values {
		positive += max(v, 0)
	}
	if positive == 0 {
		return nil, 0, fmt.Errorf("%w: all embeddings are the same", data.ErrInvalid)
	}
	at = make(plotter.XYs, n)
	for i := range at {
		at[i].X = vectors.At(i, n-1) * math.Sqrt(max(values[n-1], 0))
		at[i].Y = vectors.At(i, n-2) * math.Sqrt(max(values[n-2], 0))
	}
	return at, (max(values[n-1], 0) + max(values[n-2], 0)) / positive, nil
}
