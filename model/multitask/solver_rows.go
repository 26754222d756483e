package multitask

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// fewerRows sets condensed to the training set with at most d + 2 rows a task, where
// that is less to work with. The squared loss of n rows is ||[1 X y] v||^2 / n with v =
// (b, w, -1), for which a rotation of the rows is as good: R of a QR decomposition.
// Another rotation makes its first column, of which all but one entry are zero, one
// of ones again.
func (p *TrainingSet) fewerRows() {
	if p.loss != Square {
		return
	}
	few, gain := p.cols+2, false
	c := &TrainingSet{loss: p.loss, cols: p.cols, features: p.features, classes: p.classes}
	for _, t := range p.tasks {
		if 3*few*p.cols < 2*t.x.NNZ() {
			t, gain = t.rotated(few), true
		}
		c.tasks = append(c.tasks, t)
	}
	if gain {
		p.condensed = c
	}
}

// rotated returns a task that has few = d + 2 rows and the same loss.
func (t task) rotated(few int) task {
	a, unit := mat.NewDense(len(t.y), few, nil), mat.NewDense(few-2, few, nil)
	for k := range few - 2 {
		unit.Set(k, 1+k, 1)
	}
	t.x.Mul(a.RawMatrix().Data, unit.RawMatrix().Data, few)
	for j, y := range t.y {
		a.Set(j, 0, 1)
		a.Set(j, few-1, y)
	}
	var qr mat.QR
	qr.Factorize(a)
	var all mat.Dense
	qr.RTo(&all)
	r := all.Slice(0, few, 0, few).(*mat.Dense)
	r.Scale(math.Sqrt(float64(few)/float64(len(t.y)))*math.Copysign(1, r.At(0, 0)), r)
	// I - 2 u u' / u'u takes the first axis to where all rows are alike.
	u, part := mat.NewVecDense(few, nil), mat.NewVecDense(few, nil)
	for j := range few {
		u.SetVec(j, -1/math.Sqrt(float64(few)))
	}
	u.SetVec(0, 1+u.AtVec(0))
	part.MulVec(r.T(), u)
	r.RankOne(r, -2/mat.Dot(u, u), u, part)
	x := &shortRows{Matrix: t.x, d: few - 2}
	y := make([]float64, few)
	for j := range y {
		row := r.RawRowView(j)
		x.rows, y[j] = append(x.rows, row[1:few-1]), row[few-1]
	}
	return task{name: t.name, x: x, y: y}
}
