package multitask

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/layers/linalg"
)

// proximal is a spectral Model whose Omega step is as easy where W need only be near a
// given matrix.
type proximal interface {
	spectral
	// splits says whether fits of many tasks are to be split at these hyperparameters.
	splits(p Params) bool
	// proximal sets mu to the eigenvalues of Omega that minimise
	//	Lambda1/2 sum of s/(mu + c) + Lambda2 g(mu)
	// for ascending s. With c = 0 that is what spectrum does.
	proximal(mu, s []float64, c float64, p Params)
}

// splitting minimises problem (1) by alternating directions (ADMM). The losses have W
// and the penalty has V, which approach each other:
//
//	losses(W) + penalty(V) + rho/2 ||W - V + U||^2
//
// where U sums up how far apart they were. Given V the tasks have nothing to do with each
// other, and the curvature is that of the losses and rho. Given W the best V has the
// singular vectors of W + U. That takes one eigendecomposition a step, and dozens of
// steps, where Newton's method with an Omega that follows W takes hundreds of products
// with matrices of tasks x tasks for a step, which eigenvalues that meet their bounds cut
// short.
type splitting struct {
	*solver
	model proximal
	rho   float64
	v, u  []float64 // V' and U', m x d
	last  []float64 // V' before the step
	near  []float64 // what V', or then W', is to be near
}

const (
	// sweep is the number of steps before a certificate, which takes half as long as one.
	sweep = 4
	// settling is the number of sweeps after which rho stays as it is, or there might be
	// no convergence.
	settling = 20
	// beyond is how far along its way W is taken for V, which saves some steps.
	beyond = 1.6
	// patience is the number of sweeps without a smaller gap that rounding errors explain.
	patience = 25
)

// splits returns the model if the fit is to be split. With few tasks or features Newton's
// method is as fast.
func (s *solver) splits() (model proximal, ok bool) {
	model, ok = s.model.(proximal)
	return model, ok && s.side() >= wide && model.splits(s.params)
}

// split minimises problem (1) to the tolerance. An iteration is a sweep.
func (s *solver) split(ctx context.Context, model proximal, opt Options, r *Result) (*candidate, error) {
	x, best := s.newSplitting(model), newCandidate()
	for idle := 0; r.Status == IterationLimit && r.Iterations < opt.MaxIterations; r.Iterations++ {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("multitask: fitting %q: %w", r.Model, err)
		}
		if err := x.sweep(r.Iterations < settling); err != nil {
			return nil, err
		}
		c, err := s.evaluate(point{w: x.v, b: s.b})
		if err != nil {
			return nil, err
		}
		c.bound = s.lower(&c.point)
		last := best.gap
		best = best.better(c)
		r.Trace = append(r.Trace, best.objective)
		if idle++; best.gap < last {
			idle = 0
		}
		if best.within(opt.Tolerance) {
			r.Status = Converged
		} else if idle == patience {
			r.Status = Stalled
		}
	}
	return best, nil
}

// newSplitting begins such that V moves down the gradient of the losses first, by as much
// as their curvature along it says.
func (s *solver) newSplitting(model proximal) *splitting {
	size := s.m * s.d
	x := &splitting{solver: s, model: model, rho: 1, v: slices.Clone(s.w), u: make([]float64, size), last: make([]float64, size), near: make([]float64, size)}
	s.scores(&s.point)
	s.gradient()
	s.hessian(x.near, s.data)
	if rho := inner(s.data, x.near) / inner(s.data, s.data); rho > 0 { // which NaN is not
		x.rho = rho
	}
	add(-1/x.rho, s.data, x.u)
	return x
}

// sweep takes some steps. It may change rho, so that W is as far from V, for their
// size, as V moves for that of U.
func (x *splitting) sweep(adapt bool) error {
	for range sweep {
		copy(x.last, x.v)
		if err := x.penaltyStep(); err != nil {
			return err
		}
		x.lossStep()
	}
	apart := floats.Distance(x.w, x.v, 2) / floats.Norm(x.v, 2)
	moved := floats.Distance(x.v, x.last, 2) / floats.Norm(x.u, 2)
	if ratio := min(max(apart/moved, 0.01), 100); adapt && ratio > 0 {
		x.rho *= ratio
		scale(1/ratio, x.u)
	}
	return nil
}

// penaltyStep moves V to the minimum given W, and U by how far apart they then are.
func (x *splitting) penaltyStep() error {
	copy(x.near, x.u)
	add(beyond, x.w, x.near)
	add(1-beyond, x.v, x.near)
	vectors, shrunk, err := x.shrink(x.gram(x.near))
	if err != nil {
		return err
	}
	clear(x.v)
	if vectors != nil {
		k, side := vectors.Dims()
		part := make([]float64, k*len(x.v)/side)
		x.rotate(part, vectors, x.near)
		x.rotate(x.v, mat.DenseCopyOf(shrunk.T()), part)
	}
	copy(x.u, x.near)
	add(-1, x.v, x.u)
	return nil
}

// shrink returns the eigenvectors, as rows, that the penalty leaves anything of, nil for
// none, and the same times the shares that are left of the singular values.
func (x *splitting) shrink(gramian *mat.SymDense) (vectors, shrunk *mat.Dense, err error) {
	gramian.ScaleSym(-1, gramian) // the lowest are the largest then
	if err := checkFinite(gramian); err != nil {
		return nil, nil, err
	}
	t := linalg.Tridiagonalise(gramian)
	kappa, ok := t.Values()
	if !ok {
		return nil, nil, diverged(gramian)
	}
	s, mu, c := make([]float64, x.m), make([]float64, x.m), x.params.Lambda1/x.rho
	for i, v := range kappa {
		s[x.m-1-i] = -v
	}
	clip(s)
	x.model.proximal(mu, s, c, x.params)
	k := 0
	for k < len(kappa) && mu[x.m-1-k] > 0 {
		k++
	}
	if k == 0 {
		return nil, nil, nil
	}
	if vectors, ok = t.Lowest(kappa, k); !ok {
		return nil, nil, diverged(gramian)
	}
	shrunk = mat.DenseCopyOf(vectors)
	for i := range k {
		v := mu[x.m-1-i]
		floats.Scale(v/(v+c), shrunk.RawRowView(i))
	}
	return vectors, shrunk, nil
}

// lossStep moves W toward the minimum given V, by a step of Newton's method. It is that of
// a fit whose Omega is held at Lambda1/rho I, but that W is pulled to V - U and not to 0.
func (x *splitting) lossStep() {
	pull := x.near
	copy(pull, x.w)
	add(-1, x.v, pull)
	add(1, x.u, pull)
	q := math.Sqrt(x.params.Lambda1 / x.rho)
	x.root = &root{c: q}
	z, dir, res, hv := x.cg[0], x.cg[1], x.cg[2], x.cg[3]
	x.gradient()
	clear(res)
	add(q, x.data, res)
	add(q*x.rho, pull, res)
	norm := inner(res, res)
	slope, _ := x.conjugate(z, dir, res, hv, nil, nil, norm, 0.01*norm)
	x.root.multiply(x.step.w, z, x.d)
	x.stepScores()
	along, square := inner(pull, x.step.w), inner(x.step.w, x.step.w)
	for t := 1.0; t > 1e-5; t /= 2 {
		x.tryScores(t)
		if after := x.trial.loss + x.rho*t*(along+t/2*square); after <= x.loss+1e-4*t*slope+1e-15*x.loss {
			copy(x.trial.w, x.w)
			add(t, x.step.w, x.trial.w)
			x.point, x.trial = x.trial, x.point
			return
		}
	}
}
