package multitask

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

// Intercepts drawn together. Where Omega is given, problem (1) may have a term
//
//	+ sum_i Drawn/n_i c/2 (b_i - b)^2
//
// over a common intercept b too, or one for each class, with c the largest second
// derivative of the loss of a row. It is as if Drawn more rows of every task wanted b. At 0
// each task has the intercept that suits it best, and with more and more there is one for
// all. A task without rows has b. Where tasks tell different classes apart, b is 0: which class
// is the positive one means nothing to other tasks.
//
// A task that borrows (data.Samples.Borrows) cannot find its own intercept: one row is fitted
// exactly, and one class has none. Where there are such tasks, every model draws intercepts
// together: if Drawn is 0, by one row, and a borrowing task has the common intercept, and so
// the mean or the frequencies of all tasks.
//
// A task that lacks a class of several has the common intercept of that class. At 0 it is the
// limit as Drawn goes to 0, a mean over the tasks that have the class. Its odds are brought
// down to half a row of the task: more would have shown.

const (
	// Drawn is the hyperparameter of a given covariance that draws intercepts together,
	// in rows.
	Drawn = "drawn"
	// OneIntercept rows draw so hard that the intercepts of tasks are equal, up to rounding.
	OneIntercept = 1e9
)

// Given is the model of a given Omega, which may be singular. It is projected by
// data.ProjectCovariance and divided by its trace.
func Given(omega *mat.SymDense) (Model, error) {
	return GivenWith(omega, 0, false)
}

// GivenWith is Given with intercepts drawn together, and with classes that count the same.
func GivenWith(omega *mat.SymDense, drawn float64, balanced bool) (Model, error) {
	if !(drawn >= 0 && drawn <= OneIntercept) {
		return nil, ErrInvalidParams.Errorf("%s: it is %v; it must lie from 0 (an intercept for each task) to %g (one for all tasks)", Drawn, drawn, OneIntercept)
	}
	projected, err := data.ProjectCovariance(omega)
	if err != nil {
		return nil, ErrInvalidOmega.Errorf("Omega: %w", err)
	}
	k := fixed(Normalised(projected), drawn)
	if balanced {
		k.info.Ranges = append(k.info.Ranges, Range{
			Name:    Balanced,
			Default: 1,
		})
	}
	return k, nil
}

// Pulls are the second derivatives of the term with respect to b_i, all positive or all 0.
func (p *TrainingSet) Pulls(params Params) []float64 {
	pull := make([]float64, len(p.tasks))
	drawn := params.Get(Drawn)
	shared := 0.0 // rows of the tasks that do not borrow
	steepest := 2.0
	if p.loss == Logistic {
		steepest = 0.25
	}
	if slices.ContainsFunc(p.tasks, func(t task) bool {
		return t.borrows
	}) {
		shared = 1
	}
	for i, t := range p.tasks {
		rows := cmp.Or(drawn, shared)
		if t.borrows {
			rows = cmp.Or(drawn, OneIntercept)
		}
		pull[i] = rows * steepest * t.share
	}
	return pull
}

// Free is the number of intercepts that nothing draws: the tasks' own or the common ones.
func (p *TrainingSet) Free(params Params) int {
	switch {
	case p.Pulls(params)[0] == 0:
		return len(p.tasks)
	case p.pairs:
		return 0
	}
	return p.classes
}

// lend gives tasks the intercepts of classes that they lack.
func (p *TrainingSet) lend(b []float64, params Params) {
	pulled := p.Pulls(params)[0] > 0
	for c := range p.classes {
		common := 0.0
		shares := 0.0
		rows := 0.0
		excess := 0.0 // rows of the class, less the other rows
		for i := c; i < len(b); i += p.classes {
			t := p.tasks[i]
			if len(t.y) > 0 {
				common += t.share * b[i]
				shares += t.share
				rows += float64(len(t.y))
				excess += floats.Sum(t.y)
			}
		}
		for i := c; i < len(b); i += p.classes {
			t := p.tasks[i]
			if len(t.y) == 0 && t.foreign {
				b[i] = math.Inf(-1)
			} else if len(t.y) == 0 && params.Get(Drawn) == 0 && !t.borrows {
				if !pulled {
					b[i] = common / shares
				}
				if params.Get(Balanced) == 0 {
					odds := (rows - excess + 1) / (rows + excess + 1)
					b[i] += min(0, math.Log(odds/(2/t.share+1)))
				}
			}
		}
	}
}

// losses finds the biases of a point for its scores, and the losses there with the term of
// the biases. The common biases, class by class, stand after the tasks' biases.
func (x *ridge) losses(v *point) {
	p := x.set
	m := len(p.tasks)
	loss := make([]float64, m)
	for range 100 {
		x.each(func(i int, t *task) {
			common := v.b[m+i%p.classes]
			v.b[i] = p.loss.bias(v.r[i], v.h[i],
				v.score[i], t.y, v.b[i],
				x.pull[i], common, t.weights)
		})
		if x.pull[0] == 0 || p.pairs || x.common(v) {
			break
		}
	}
	x.each(func(i int, t *task) {
		distance := v.b[i] - v.b[m+i%p.classes]
		sum := p.loss.sum(v.score[i], t.y, v.b[i], t.weights)
		loss[i] = sum + x.pull[i]/2*distance*distance
	})
	v.loss = floats.Sum(loss)
}

// common takes a step of Newton's method in the common intercepts, the others following,
// and reports whether it was short enough to be the last. Over a step of 1, which is the
// longest, the curvature of the logistic loss changes by e at most.
func (x *ridge) common(v *point) (settled bool) {
	p := x.set
	m := len(p.tasks)
	slopes := make([]float64, m+p.classes)
	total := make([]float64, m)
	for i := range p.tasks {
		slopes[m+i%p.classes] += floats.Sum(v.r[i])
		total[i] = floats.Sum(v.h[i])
	}
	move := p.response(slopes, total, x.pull)
	settled = true
	for c := m; c < len(move); c++ {
		if p.loss == Logistic {
			move[c] = min(max(move[c], -1), 1)
			settled = settled && (math.Abs(move[c]) <= 1e-9 ||
				math.Abs(slopes[c]) <= 1e-13)
		}
		v.b[c] += move[c]
	}
	if settled { // the slopes are linear in so short a move
		for i := range p.tasks {
			v.b[i] += move[i]
			add(move[i], v.h[i], v.r[i])
		}
	}
	return settled
}

// response returns the moves of the intercepts down the slopes of a function with respect to
// them, the weights held: the inverse of the Hessian times the slopes, negative. Total has the
// second derivatives of the losses. Slopes and moves of common intercepts stand last.
func (p *TrainingSet) response(slopes, total, pull []float64) []float64 {
	m := len(p.tasks)
	k := p.classes
	move := make([]float64, m+k)
	curvature := make([]float64, k)
	copy(move[m:], slopes[m:])
	if p.pairs { // nothing moves the common intercept
		curvature[0] = math.Inf(1)
	}
	for i, t := range total {
		share := pull[i] / (pull[i] + t)
		move[m+i%k] += share * slopes[i]
		curvature[i%k] += share * t
	}
	for c, v := range curvature {
		move[m+c] /= -max(v, math.SmallestNonzeroFloat64)
	}
	for i, t := range total {
		slope := pull[i]*move[m+i%k] - slopes[i]
		move[i] = slope / (pull[i] + t)
	}
	return move
}
