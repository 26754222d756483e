package multitask

import (
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

// Slope returns the gradient with respect to Omega of a function of the scores
// of rows that are not trained on, given its derivatives with respect to these (of several
// classes, row by row), at the minimum for a given Omega. W and b follow, Lambda1 is held.
//
// With G the gradient of the losses, W' = -Omega G / Lambda1 at the minimum, so
// that dW' = -(dOmega G + Omega H dW') / Lambda1. One linear system, the adjoint
// of this one, gives the slope in all directions.
func (p *TrainingSet) Slope(r *Result, rows []data.Samples, derivatives [][]float64) (*mat.SymDense, error) {
	x := newRidge(p, factor(r.Omega), r.Params.Lambda1, r.Params, 1)
	x.take(r)
	p.score(&x.point, x.pull, 1)
	x.bend()
	seen := make([]float64, len(x.w))
	biases := make([]float64, len(x.b)) // the slopes with respect to W', m x d, and b
	for i, all := range derivatives {
		for class := range p.classes {
			if c := ClassScores(all, class, p.classes); len(c) > 0 {
				part := i*p.classes + class
				rows[i].X.AddMulT(p.part(part, seen), c, 1)
				biases[part] = floats.Sum(c)
			}
		}
	}
	pull := x.pull
	if pull[0] == 0 && p.classes > 1 { // intercepts that are lent follow those of the lenders
		pull = p.Pulls(Params{Hyper: map[string]float64{Drawn: 1e-9}})
	}
	for i, b := range x.set.follow(biases, x.total, pull)[:len(x.total)] { // which follow W on the training rows
		add(b, p.part(i, x.mean), p.part(i, seen))
	}
	rest := slices.Clone(seen)
	floats.Scale(-1, rest)
	_, w, _ := x.conjugate(rest, 1e-12*quadratic(x.omega, rest))
	x.addHessian(seen, w) // so that it is what Omega sees
	return symmetrised(products(seen, x.slopes, p.Tasks(), len(seen)/p.Tasks()), -1/x.lambda), nil
}
