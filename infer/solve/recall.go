package solve

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/model/mixed"
	"l2mt/model/multitask"
)

// recognise finds tasks of two classes that the experience has, and gives them the discriminant of
// these classes' rows and their own, unless that errs on more rows held out than the fit, by a
// standard error.
func (b *Bench) recognise(c *Choice) error {
	if !b.hasLearned() || b.rows.Several() > 0 || b.regression() {
		return nil
	}
	sigma := b.finder.network.Sigma
	known := make([]*multitask.Result, len(b.rows.Tasks))
	scores := slices.Clone(c.Scores)
	blend := &blend{loss: mixed.Logistic{}, noise: 1}
	var recalled []string
	errs := 0.0       // of discriminants, less the errors of the fit
	discordant := 0.0 // rows on which one of the two errs
	for i, t := range b.rows.Tasks {
		classes, ok := b.recognised(t)
		if !ok {
			continue
		}
		r := sigma.Between(classes, sides(t))
		known[i] = r
		scores[i] = nil
		first := sigma.Classes[classes[0]].Name
		words := fmt.Sprintf("task %q: the experience has its classes %q and %q, and their rows there take part in the fit", t.Name, first, sigma.Classes[classes[1]].Name)
		recalled = append(recalled, words)
		trained := r.Scores(0, t.TrainSet.X)
		unit := math.Sqrt(float64(len(trained))) / max(floats.Norm(trained, 2), math.SmallestNonzeroFloat32)
		scale(r, unit)
		for _, fold := range b.folds {
			t := fold.Tasks[i]
			r := sigma.Between(classes, sides(t))
			scale(r, unit)
			weights := t.ValidationSet.Weights()
			for j, s := range r.Scores(0, t.ValidationSet.X) {
				y := t.ValidationSet.Y[j]
				fitted := c.Scores[i][len(scores[i])]
				gap := float64(btoi(s*y <= 0) - btoi(fitted*y <= 0))
				errs += gap
				discordant += gap * gap
				scores[i] = append(scores[i], s)
				blend.scores = append(blend.scores, []float64{s})
				blend.y = append(blend.y, y)
				blend.weight = append(blend.weight, weights[j])
			}
		}
	}
	if len(blend.y) == 0 || errs > math.Sqrt(discordant) {
		return nil
	}
	c.known = known
	c.Recalled = recalled
	weight := blend.weigh()[0]
	for i, r := range known {
		if r != nil {
			scale(r, weight)
			floats.Scale(weight, scores[i])
		}
	}
	held, err := b.predicted(scores)
	if err == nil {
		held.Variance = c.Variance
		c.HeldOut = held
	}
	return err
}

// scale multiplies scores.
func scale(r *multitask.Result, by float64) {
	r.W.Scale(by, r.W)
	floats.Scale(by, r.B)
}

// recognised are the classes of the experience that are nearest to the classes of a task, and
// whether they are near enough.
func (b *Bench) recognised(t data.TaskData) (classes [2]int, ok bool) {
	sigma := b.finder.network.Sigma
	for side, x := range sides(t) {
		if x.Rows() == 0 {
			return classes, false
		}
		var distance float64
		if classes[side], distance = sigma.Nearest(x); distance > sigma.Far {
			return classes, false
		}
	}
	return classes, classes[0] != classes[1]
}

// sides are the labelled rows of the classes of a task, the positive one first.
func sides(t data.TaskData) (x [2]data.Matrix) {
	var rows [2][]int
	for j, y := range t.TrainSet.Y {
		side := btoi(y < 0)
		rows[side] = append(rows[side], j)
	}
	for side := range x {
		x[side] = t.TrainSet.X.Take(rows[side])
	}
	return x
}

// remember gives tasks that are recognised their discriminants.
func (b *Bench) remember(c *Choice, columns *features, sum *multitask.Result) {
	for i, r := range c.known {
		if r == nil {
			continue
		}
		if columns != nil {
			r = columns.embed(r)
		}
		sum.W.SetCol(i, mat.Col(nil, 0, r.W))
		sum.B[i] = r.B[0]
	}
}
