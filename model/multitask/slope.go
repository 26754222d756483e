package multitask

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

// at puts a solver at a fit, for the Omega that it has.
func (p *TrainingSet) at(r *Result) (*solver, error) {
	s := newSolver(p, fixed{r.Omega}, r.Params, 1)
	return s, s.start(r)
}

// Slope returns the gradient with respect to Omega of a function of the scores
// of rows that are not trained on, given its derivatives with respect to these
// (of several classes, row by row),
// at the minimum for a given Omega. W and b follow, Lambda1 is held.
//
// With G the gradient of the losses, W = -G Omega / Lambda1 at the minimum, so
// that dW = -(H dW Omega + G dOmega) / Lambda1. One linear system, the adjoint
// of this one, gives the slope in all directions.
func (p *TrainingSet) Slope(r *Result, rows []data.Samples, derivatives [][]float64) (*mat.SymDense, error) {
	s, err := p.at(r)
	if err != nil {
		return nil, err
	}
	s.gradient()
	u := make([]float64, s.m*s.d) // the slope with respect to W', m x d
	for i, all := range derivatives {
		for class := range p.classes {
			if c := ClassScores(all, class, p.classes); len(c) > 0 {
				part := i*p.classes + class
				rows[i].X.AddMulT(s.of(part, u), c, 1)
				s.biasSlope(s.of(part, u), part, floats.Sum(c))
			}
		}
	}
	// (Lambda1 I + Q'HQ) X = -Q'U, then U + HQX, which the covariance sees.
	root, l1 := s.rel.root, s.params.Lambda1
	rootT := mat.DenseCopyOf(root.T())
	_, k := root.Dims()
	size := k * s.d
	x, dir, res, hv := s.cg[0][:size], s.cg[1][:size], s.cg[2][:size], s.cg[3][:size]
	rotate(res, rootT, u, s.d)
	if norm := inner(res, res); norm > 0 {
		s.conjugate(x, dir, res, hv, root, rootT, norm, 1e-12*norm)
		rotate(s.t1, root, x, s.d)
		s.hessian(u, s.t1)
	}
	product := products(u, s.data, s.m, s.d)
	slope := mat.NewSymDense(s.m, nil)
	for i := range s.m {
		for j := i; j < s.m; j++ {
			slope.SetSym(i, j, -(product.At(i, j)+product.At(j, i))/(2*l1))
		}
	}
	return slope, nil
}

// biasSlope adds to u the slope with respect to w_i that comes of the bias,
// which follows w_i on the training rows.
func (s *solver) biasSlope(u []float64, i int, slope float64) {
	h := s.h[i]
	if total := floats.Sum(h); total > 0 {
		follow := make([]float64, len(h))
		floats.AddScaled(follow, -slope/total, h)
		s.problem.tasks[i].x.AddMulT(u, follow, 1)
	}
}
