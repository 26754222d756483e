package multitask

import (
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/layers/linalg"
)

// Slope returns the gradient with respect to Omega of a function of the scores of other rows
// than the training rows, given its derivatives with respect to the scores (of several
// classes, row by row), at the minimum for a given Omega. W and b follow, Lambda1 is held.
//
// With G the gradient of the losses, W' = -Omega G / Lambda1 at the minimum, so
// that dW' = -(dOmega G + Omega H dW') / Lambda1. One linear system, the adjoint
// of this one, gives the slope in all directions.
func (p *TrainingSet) Slope(
	r *Result, rows []data.Samples, derivatives [][]float64) (*mat.SymDense, error) {
	x := newRidge(p, factor(r.Omega), r.Params.Lambda1, r.Params, 1)
	x.take(r)
	x.predict(&x.point)
	x.differentiate()
	slopes := make([]float64, len(x.w))
	biases := make([]float64, len(x.b)) // the slopes with respect to W', m x d, and b
	for i, derivative := range derivatives {
		for class := range p.classes {
			c := ClassScores(derivative, class, p.classes)
			if len(c) > 0 {
				part := i*p.classes + class
				rows[i].X.AddMulT(p.part(part, slopes), c)
				biases[part] = floats.Sum(c)
			}
		}
	}
	pull := x.pull
	if pull[0] == 0 && p.classes > 1 { // lent intercepts follow the lenders' intercepts
		pull = p.Pulls(Params{Hyper: map[string]float64{Drawn: 1e-9}})
	}
	x.addResponse(slopes, biases, pull) // the biases follow W on the training rows
	rest := slices.Clone(slopes)
	floats.Scale(-1, rest)
	_, w, _ := x.conjugate(rest, 1e-12*quadratic(x.omega, rest))
	x.addHessian(slopes, w) // W follows Omega
	return linalg.Symmetrised(products(slopes, x.slopes, p.Tasks()), -1/x.lambda), nil
}
