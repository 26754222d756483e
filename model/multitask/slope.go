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
	u := make([]float64, p.size()) // the slope with respect to W', m x d
	for i, all := range derivatives {
		for class := range p.classes {
			if c := ClassScores(all, class, p.classes); len(c) > 0 {
				part := i*p.classes + class
				rows[i].X.AddMulT(p.part(part, u), c, 1)
				x.biasSlope(p.part(part, u), part, floats.Sum(c))
			}
		}
	}
	return x.adjoint(u), nil
}

// biasSlope adds to u the slope with respect to w_i that comes of the bias,
// which follows w_i on the training rows.
func (x *ridge) biasSlope(u []float64, i int, slope float64) {
	h := x.h[i]
	if total := floats.Sum(h); total > 0 {
		follow := make([]float64, len(h))
		floats.AddScaled(follow, -slope/total, h)
		x.set.tasks[i].x.AddMulT(u, follow, 1)
	}
}
