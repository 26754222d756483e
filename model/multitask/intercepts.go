package multitask

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Intercepts drawn together. Where Omega is given, problem (1) may have a term
//
//	+ sum_i Drawn/n_i c/2 (b_i - b)^2
//
// over a common intercept b too, or one for each class, with c the largest second
// derivative of the loss of a row. It is as if Drawn more rows of every task wanted b. At 0
// each task has the intercept that suits it best, and with more and more there is one for
// all. A task without rows has b.
//
// A task that borrows (data.Samples.Borrows) cannot tell what suits it: of one row the
// intercept takes all, and of one class there is none. Where there are such tasks, intercepts
// are drawn together by one row at least, whatever the model is.

const (
	// Drawn is the hyperparameter of a given covariance that draws intercepts together,
	// in rows.
	Drawn = "drawn"
	// OneIntercept is so much that tasks have one intercept, as far as can be told.
	OneIntercept = 1e9
)

// GivenDrawn is the model of a given Omega, divided by its trace, with intercepts drawn
// together.
func GivenDrawn(omega *mat.SymDense, drawn float64) (Model, error) {
	if !(drawn >= 0 && drawn <= OneIntercept) {
		return nil, fmt.Errorf("multitask: %s: %w: it is %v; from 0, intercepts of their own, to %g, one for all tasks", Drawn, ErrInvalidParams, drawn, OneIntercept)
	}
	if err := checkOmega(omega, omega.SymmetricDim()); err != nil {
		return nil, err
	}
	return fixed(Normalised(omega), drawn), nil
}

// Pulls are the second derivatives of the term with respect to b_i, nil where it is 0.
func (p *TrainingSet) Pulls(params Params) []float64 {
	drawn := params.Get(Drawn)
	if slices.ContainsFunc(p.tasks, func(t task) bool { return t.borrows }) {
		drawn = max(drawn, 1)
	}
	if drawn == 0 {
		return nil
	}
	pull := make([]float64, len(p.tasks))
	for i, t := range p.tasks {
		pull[i] = drawn * p.loss.steepest() * t.share
	}
	return pull
}

// losses finds the biases of a point for its scores, and the losses there with the term of
// the biases. The common ones, class by class, stand after those of the tasks.
func (p *TrainingSet) losses(v *point, pull []float64, workers int) {
	m, loss := len(p.tasks), make([]float64, len(p.tasks))
	for n, settled := 0, false; n < 100 && !settled; n++ {
		p.each(workers, func(i int, t *task) {
			weight := 0.0
			if pull != nil {
				weight = pull[i]
			}
			v.b[i] = p.loss.bias(v.r[i], v.h[i], v.score[i], t.y, v.b[i], weight, v.b[m+i%p.classes], t.weights)
		})
		settled = pull == nil || p.common(v, pull)
	}
	p.each(workers, func(i int, t *task) {
		loss[i] = p.loss.sum(v.score[i], t.y, v.b[i], t.weights)
		if pull != nil {
			apart := v.b[i] - v.b[m+i%p.classes]
			loss[i] += pull[i] / 2 * apart * apart
		}
	})
	v.loss = floats.Sum(loss)
}

// common takes a step of Newton's method in the common intercepts, the others following,
// and reports whether it was short enough to be the last. Over a step of 1, which is the
// longest, the curvature of the logistic loss changes by e at most.
func (p *TrainingSet) common(v *point, pull []float64) (settled bool) {
	m := len(p.tasks)
	slope, curvature := make([]float64, p.classes), make([]float64, p.classes)
	share := make([]float64, m) // of a move of b that b_i makes
	for i := range p.tasks {
		c, total := i%p.classes, floats.Sum(v.h[i])
		share[i] = pull[i] / (pull[i] + total)
		slope[c] += floats.Sum(v.r[i])
		curvature[c] += share[i] * total
	}
	settled = true
	for c := range slope {
		move := -slope[c] / max(curvature[c], math.SmallestNonzeroFloat64)
		if p.loss == Logistic {
			move = min(max(move, -1), 1)
			settled = settled && (math.Abs(move) <= 1e-9 || math.Abs(slope[c]) <= 1e-13)
		}
		slope[c] = move
		v.b[m+c] += move
	}
	if settled { // the slopes are linear in so short a move
		for i := range p.tasks {
			move := share[i] * slope[i%p.classes]
			v.b[i] += move
			add(move, v.h[i], v.r[i])
		}
	}
	return settled
}

// follow replaces the slopes of a function with respect to the biases, the weights held, by
// how these move: by the inverse of the Hessian, negative.
func (x *ridge) follow(t []float64) []float64 {
	m, k := len(x.set.tasks), x.set.classes
	move := make([]float64, m+k)
	if x.pull != nil {
		curvature := make([]float64, k)
		for i, total := range x.total {
			share := x.pull[i] / (x.pull[i] + total)
			move[m+i%k] -= share * t[i]
			curvature[i%k] += share * total
		}
		for c, v := range curvature {
			move[m+c] /= max(v, math.SmallestNonzeroFloat64)
		}
	}
	for i, total := range x.total {
		pull := 0.0
		if x.pull != nil {
			pull = x.pull[i]
		}
		move[i] = (pull*move[m+i%k] - t[i]) / (pull + total)
	}
	return move
}
