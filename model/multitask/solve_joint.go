package multitask

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/layers/linalg"
)

// splitting minimises problem (1) by alternating directions (ADMM), for models that are
// convex in W and Omega together. The losses have W and the penalty has V, which approach
// each other:
//
//	losses(W) + penalty(V) + rho/2 ||W - V + U||^2
//
// where U sums up how far apart they were. Given V the tasks have nothing to do with each
// other, and W is a ridge about V - U. Given W the best V is (W + U) (Omega + c I)^-1 Omega
// with c = Lambda1/rho and Omega the step for (W + U)'(W + U) under that shift. V becomes
// singular with Omega, and so nothing has to be kept away from zero.
type splitting struct {
	*ridge // of W, with A = W - V + U and Lambda = rho
	model  Convex
	params Params
	v, u   []float64 // V' and U', m x d
	goal   []float64 // V' was to be near it
	enough float64   // accuracy of the Omega steps

	shift   float64     // c of the last step
	cov     *Covariance // of that step, nil where the model is spectral
	penalty float64     // at V and the Omega of that step
}

const (
	// sweep is the number of steps before a certificate, which takes half as long as one.
	sweep = 4
	// settling is the number of sweeps after which rho stays, or there might be no
	// convergence.
	settling = 20
	// overshoot is how far along its way W is taken for V, which saves some steps.
	overshoot = 1.6
	// patience is the number of sweeps without a smaller gap that rounding errors explain.
	patience = 25
)

// candidate is V with an Omega.
type candidate struct {
	point
	objective float64
	goal      []float64 // Omega is the step for these weights
	shift     float64
	cov       *Covariance
}

// solveJoint fits a convex model to a gap that duality proves. An iteration is a sweep.
func solveJoint(ctx context.Context, set *TrainingSet, model Convex, p Params, opt Options) (*Result, error) {
	x := newSplitting(set, model, p, opt)
	r := &Result{
		Model:  model.Info().Name,
		Params: p,
		Status: IterationLimit,
	}
	r.Gap = math.Inf(1)
	best := candidate{objective: math.Inf(1)}
	bound := math.Inf(-1)
	for idle := 0; r.Status == IterationLimit &&
		r.Iterations < opt.MaxIterations; r.Iterations++ {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("fitting %q: %w", r.Model, err)
		}
		if err := x.sweep(r.Iterations < settling ||
			r.Iterations%settling == 0); err != nil {
			return nil, err
		}
		c := x.candidate()
		bound = max(bound, x.lower(&c.point))
		if c.objective < best.objective {
			best = c
		}
		// The objective may be zero or negative where g is.
		size := max(math.Abs(best.objective), best.loss)
		gap, err := certified(r.Model, best.objective-bound, size)
		if err != nil {
			return nil, err
		}
		idle++
		if gap < r.Gap {
			r.Gap = gap
			idle = 0
		}
		enough := opt.Tolerance * size
		x.enough = 0.05 * max(enough, min(r.Gap, best.loss))
		if r.Gap <= enough {
			r.Status = Converged
		} else if idle == patience {
			r.Status = Stalled
		}
	}
	if best.goal == nil {
		return nil, ErrInvalidData.Errorf("fitting %q: the objective is not finite; scale the features and targets to about 1", r.Model)
	}
	if best.cov == nil {
		var err error
		s := gram(best.goal, set.Tasks())
		best.cov, err = model.Step(s, set.cols, p, Hint{Shift: best.shift})
		if err != nil {
			return nil, err
		}
	}
	r.Objective = best.objective
	r.fill(set, &best.point, best.cov.Omega)
	return r, nil
}

// newSplitting begins such that V moves down the gradient of the losses first, as far as
// their curvature along it says.
func newSplitting(set *TrainingSet, model Convex, p Params, opt Options) *splitting {
	omega := factor(identity(set.Tasks(), 1))
	x := &splitting{
		ridge:  newRidge(set, omega, 1, p, opt.Workers),
		model:  model,
		params: p,
	}
	x.u = make([]float64, len(x.w))
	x.goal = make([]float64, len(x.w))
	if opt.Start != nil {
		x.take(opt.Start)
	}
	x.predict(&x.point)
	x.v = slices.Clone(x.w)
	x.differentiate()
	x.addHessian(x.goal, x.slopes)
	rho := floats.Dot(x.slopes, x.goal) / floats.Dot(x.slopes, x.slopes)
	if rho > 0 && !math.IsInf(rho, 0) {
		x.lambda = rho
	}
	add(-1/x.lambda, x.slopes, x.u)
	x.enough = 0.01 * x.loss
	return x
}

// sweep takes some steps. It may change rho, so that the distance of W and V, relative to V,
// becomes the last move of V, relative to U.
func (x *splitting) sweep(adapt bool) error {
	var last []float64 // V' before a step
	for range sweep {
		last = slices.Clone(x.v)
		err := x.penaltyStep()
		if err != nil {
			return err
		}
		x.lossStep()
	}
	distance := floats.Distance(x.w, x.v, 2) / floats.Norm(x.v, 2)
	move := floats.Distance(x.v, last, 2) / floats.Norm(x.u, 2)
	ratio := min(max(distance/move, 0.01), 100)
	if adapt && ratio > 0 {
		x.lambda *= ratio
		floats.Scale(1/ratio, x.u)
	}
	return nil
}

// penaltyStep moves V to the minimum given W, and U by their distance then. Along the
// eigenvectors of Omega, or of its counterpart for the features where these are fewer, V is a
// share of W + U.
func (x *splitting) penaltyStep() error {
	floats.AddScaledTo(x.goal, x.u, overshoot, x.w)
	add(1-overshoot, x.v, x.goal)
	shares, err := x.shrink()
	if err != nil {
		return err
	}
	m := x.set.Tasks()
	move := mat.DenseCopyOf(shares).RawMatrix()
	goal := general(m, x.goal)
	v := general(m, x.v)
	if move.Rows == m {
		gemm(blas.NoTrans, blas.NoTrans, move, goal, v)
	} else {
		gemm(blas.NoTrans, blas.NoTrans, goal, move, v)
	}
	floats.SubTo(x.u, x.goal, x.v)
	return nil
}

// shrink returns (Omega + c I)^-1 Omega on one of the sides, and computes the penalty.
func (x *splitting) shrink() (*mat.SymDense, error) {
	m := x.set.Tasks()
	p := x.params
	c := p.Lambda1 / x.lambda
	x.shift = c
	if model, ok := x.model.(spectral); ok {
		side := x.set.side(x.goal)
		e, err := decomposed(side, 1e-15*float64(side.SymmetricDim()))
		if err != nil {
			return nil, err
		}
		mu := make([]float64, m)
		s := append(make([]float64, m-len(e.Values)), e.Values...)
		model.spectrum(mu, s, c, p)
		x.penalty = p.Lambda2 * model.value(mu, p)
		for k, v := range mu {
			x.penalty += p.Lambda1 / 2 * s[k] * v / (v + c) / (v + c)
			mu[k] = v / (v + c)
		}
		return e.Rebuild(mu[m-len(e.Values):]), nil
	}
	var err error
	w := gram(x.goal, m)
	hint := Hint{
		From:   x.cov,
		Enough: x.enough,
		Shift:  c,
	}
	x.cov, err = x.model.Step(w, x.set.cols, p, hint)
	if err != nil {
		return nil, err
	}
	inverse, _, err := inverted(shifted(x.cov.Omega, c))
	if err != nil {
		return nil, err
	}
	var shares mat.Dense
	shares.Mul(inverse, x.cov.Omega)
	x.penalty = p.Lambda2 * x.model.G(x.cov, x.set.cols, p)
	x.penalty += p.Lambda1 / 2 * dot(w, sandwich(inverse, x.cov.Omega))
	return linalg.Symmetrised(&shares, 1), nil
}

// lossStep moves W toward the minimum given V, by a step of Newton's method.
func (x *splitting) lossStep() {
	floats.SubTo(x.a, x.w, x.v)
	floats.Add(x.a, x.u)
	rest, norm := x.downhill()
	x.descend(x.conjugate(rest, 0.01*norm))
}

// candidate returns V with its Omega.
func (x *splitting) candidate() candidate {
	c := candidate{
		point: newPoint(x.set),
		shift: x.shift,
		cov:   x.cov,
	}
	c.goal = slices.Clone(x.goal)
	copy(c.w, x.v)
	copy(c.b, x.b)
	x.predict(&c.point)
	c.objective = c.loss + x.penalty
	return c
}
