package solve

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/model"
	"l2mt/model/multitask"
)

// recognise finds tasks of two classes that the experience has. Their scores become the mean of the
// fit's and of the discriminant's of these classes' rows and their own, both of one size. That is
// left out where discriminants err on more rows held out than the fit, by a standard error.
func (b *Bench) recognise(c *Choice) error {
	if !b.hasLearned() || b.rows.Several() > 0 || b.regression() {
		return nil
	}
	sigma := b.finder.network.Sigma
	known := make([]*multitask.Result, len(b.rows.Tasks))
	scores := slices.Clone(c.Scores)
	var recalled []string
	errs := 0.0       // of discriminants, less the errors of the fit
	discordant := 0.0 // rows on which one of the two errs
	for i, t := range b.rows.Tasks {
		classes, ok := b.recognised(t)
		if !ok {
			continue
		}
		recalled = append(recalled, fmt.Sprintf("task %q: the experience has its classes %q and %q, and their rows there take part in the fit",
			t.Name, sigma.Classes[classes[0]].Name,
			sigma.Classes[classes[1]].Name))
		var held []float64
		for _, fold := range b.folds {
			r := discriminant(sigma, classes, fold.Tasks[i])
			held = append(held, r.Scores(0, fold.Tasks[i].ValidationSet.X)...)
		}
		fitted := c.Scores[i]
		for j, y := range c.Y[i] {
			gap := float64(btoi(held[j]*y <= 0) - btoi(fitted[j]*y <= 0))
			errs += gap
			discordant += gap * gap
		}
		r := discriminant(sigma, classes, t)
		half := floats.Norm(fitted, 2) /
			max(floats.Norm(held, 2), math.SmallestNonzeroFloat32) / 2
		r.W.Scale(half, r.W)
		floats.Scale(half, r.B)
		known[i] = r
		floats.Scale(half, held)
		floats.AddScaled(held, 0.5, fitted)
		scores[i] = held
	}
	if len(b.folds) == 0 || recalled == nil || errs > math.Sqrt(discordant) {
		return nil
	}
	c.known = known
	c.Recalled = recalled
	variance := c.Variance
	var err error
	c.HeldOut, err = b.predicted(scores)
	if err == nil {
		c.Variance = variance
	}
	return err
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
		classes[side], distance = sigma.Nearest(x)
		if distance > sigma.Far {
			return classes, false
		}
	}
	return classes, classes[0] != classes[1]
}

// discriminant is linear in the rows of a task.
func discriminant(sigma *model.Sigma, classes [2]int, t data.TaskData) *multitask.Result {
	w, intercept := sigma.Between(classes, sides(t))
	return &multitask.Result{
		W: w,
		B: []float64{intercept},
	}
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

// remember takes the mean with the discriminants of tasks that are recognised.
func (b *Bench) remember(c *Choice, columns *features, sum *multitask.Result) {
	for i, r := range c.known {
		if r == nil {
			continue
		}
		if columns != nil {
			r = columns.embed(r)
		}
		w := mat.Col(nil, 0, r.W)
		floats.AddScaled(w, 0.5, mat.Col(nil, i, sum.W))
		sum.W.SetCol(i, w)
		sum.B[i] = r.B[0] + sum.B[i]/2
	}
}
