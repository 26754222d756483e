package multitask

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

// Slope returns the gradient with respect to Omega of a function of the scores
// of rows that are not trained on, given its derivatives with respect to these
// (of several classes, row by row),
// at the minimum for a given Omega. W and b follow, Lambda1 is held.
//
// With G the gradient of the losses, W = -G Omega / Lambda1 at the minimum, so
// that dW = -(H dW Omega + G dOmega) / Lambda1. One linear system, the adjoint
// of this one, gives the slope in all directions.
func (p *TrainingSet) Slope(r *Result, rows []data.Samples, derivatives [][]float64) (*mat.SymDense, error) {
	x := p.at(r)
	x.bend()
	u, biases := make([]float64, p.size()), make([]float64, len(p.tasks)) // the slopes with respect to W', m x d, and b
	for i, all := range derivatives {
		for class := range p.classes {
			if c := ClassScores(all, class, p.classes); len(c) > 0 {
				part := i*p.classes + class
				rows[i].X.AddMulT(p.part(part, u), c, 1)
				biases[part] = floats.Sum(c)
			}
		}
	}
	for i, b := range x.follow(biases)[:len(biases)] { // which follow W on the training rows
		add(b, p.part(i, x.mean), p.part(i, u))
	}
	return x.adjoint(u), nil
}
