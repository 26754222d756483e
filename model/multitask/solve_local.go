package multitask

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
)

// surface is problem (1) as a function of W alone, with Omega following W, of a model that
// is not convex. Its gradient needs Omega and nothing else. Quasi-Newton steps (L-BFGS)
// minimise it in Z with W' = C' + Omega^1/2 Z, in which the penalty is Lambda1/2 ||Z||^2 as
// long as Omega stays, and now and then Omega and C are those of the point that was reached.
type surface struct {
	set      *TrainingSet
	model    Model
	params   Params
	workers  int
	floor    float64 // added to the diagonal of W'W, where Omega may be singular
	enough   float64 // accuracy of the Omega steps
	cov      *Covariance
	value    float64
	gradient []float64 // with respect to W'
	point
}

// moveTo computes everything at the weights that the surface has.
func (x *surface) moveTo() error {
	x.set.score(&x.point, nil, x.workers)
	m := x.set.Tasks()
	d := len(x.w) / m
	s := gram(x.w, m, d)
	for i := range m {
		s.SetSym(i, i, s.At(i, i)+x.floor)
	}
	cov, err := x.model.Step(s, x.set.features, x.params, Hint{From: x.cov, Enough: x.enough})
	if err != nil {
		return err
	}
	if cov.Precision == nil {
		e, err := Eigen(cov.Omega)
		if err != nil {
			return err
		}
		cov.Precision = e.Rebuild(inverses(e.Values))
	}
	x.cov = cov
	x.value = x.loss + x.params.Lambda1/2*dot(s, cov.Precision) + x.params.Lambda2*x.model.G(cov, x.set.features, x.params)
	x.set.gradient(x.gradient, &x.point, x.workers)
	pw := make([]float64, len(x.w))
	(&product{dense: mat.DenseCopyOf(cov.Precision), threads: x.workers}).multiply(pw, x.w)
	add(x.params.Lambda1, pw, x.gradient)
	return nil
}

// inverses are those of eigenvalues.
func inverses(values []float64) []float64 {
	v := make([]float64, len(values))
	for i, mu := range values {
		v[i] = 1 / mu
	}
	return v
}

const (
	// stage is the number of quasi-Newton steps before Z is that of another Omega.
	stage = 300
	// lowest is the floor where Omega may be singular, relative to the largest eigenvalue
	// of W'W.
	lowest = 1e-12
)

// solveLocal fits a model that is not convex to a stationary point. The gap is that over W
// and b given Omega, which strong convexity proves, and that over Omega given W. An
// iteration is a stage.
func solveLocal(ctx context.Context, set *TrainingSet, model Model, p Params, opt Options) (*Result, error) {
	start := opt.Start
	if start == nil {
		var err error
		rough := Options{Tolerance: 0.1, MaxIterations: 10, Workers: opt.Workers}
		if start, err = solveHeld(ctx, set, "", Uniform(set.Tasks()), p, rough); err != nil {
			return nil, err
		}
	}
	x := &surface{set: set, model: model, params: p, workers: opt.Workers, point: newPoint(set), gradient: make([]float64, set.size())}
	x.take(start)
	if start.A != nil {
		x.cov = &Covariance{Omega: start.Omega, A: start.A}
	}
	if _, ok := model.(spectral); ok {
		top := eigenvalues(set.side(x.w))
		x.floor = max(lowest*top[len(top)-1], math.SmallestNonzeroFloat64)
	}
	if err := x.moveTo(); err != nil {
		return nil, err
	}
	r := &Result{Model: model.Info().Name, Params: p, Status: IterationLimit}
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("multitask: fitting %q: %w", r.Model, err)
		}
		before, at, cov := x.value, slices.Clone(x.w), x.cov
		enough := opt.Tolerance * max(math.Abs(x.value), x.loss)
		x.enough = 0.01 * enough
		product := newProduct(x.cov.Omega, opt.Workers)
		moved := make([]float64, len(x.w))
		product.multiply(moved, x.gradient)
		r.Gap = inner(x.gradient, moved)/(2*p.Lambda1) + x.cov.Gap
		if r.Gap <= enough {
			r.Status = Converged
		}
		if r.Status != IterationLimit || r.Iterations == opt.MaxIterations {
			break
		}
		if err := x.descend(math.Sqrt(0.1*2*p.Lambda1*enough/float64(len(x.w))), ctx); err != nil {
			return nil, err
		}
		r.Iterations++
		r.Trace = append(r.Trace, x.value)
		if !(x.value < before) {
			r.Status = Stalled
		}
		if !(x.value <= before) { // rounding errors led away
			copy(x.w, at)
			x.cov = cov
			if err := x.moveTo(); err != nil {
				return nil, err
			}
		}
	}
	r.Objective = x.value
	r.fill(set, &x.point, x.cov)
	return r, nil
}

// descend takes a stage of quasi-Newton steps, or fewer where the slopes in Z fall below
// a threshold.
func (x *surface) descend(threshold float64, ctx context.Context) error {
	e, err := Eigen(x.cov.Omega)
	if err != nil {
		return err
	}
	roots := make([]float64, len(e.Values))
	for i, v := range e.Values {
		roots[i] = math.Sqrt(max(v, 0))
	}
	root := &product{dense: mat.DenseCopyOf(e.Rebuild(roots)), threads: x.workers}
	center, from := slices.Clone(x.w), make([]float64, len(x.w))
	var failed error
	// at moves to Z, unless it is there.
	at := func(z []float64) {
		if floats.Equal(from, z) || failed != nil {
			return
		}
		copy(from, z)
		root.multiply(x.w, z)
		add(1, center, x.w)
		failed = x.moveTo()
	}
	problem := optimize.Problem{
		Func: func(z []float64) float64 { at(z); return x.value },
		Grad: func(g, z []float64) { at(z); root.multiply(g, x.gradient) },
		Status: func() (optimize.Status, error) {
			if failed == nil {
				failed = ctx.Err()
			}
			if failed != nil {
				return optimize.Failure, failed
			}
			return optimize.NotTerminated, nil
		},
	}
	settings := &optimize.Settings{MajorIterations: stage, FuncEvaluations: 3 * stage, GradientThreshold: threshold, Converger: optimize.NeverTerminate{}}
	found, err := optimize.Minimize(problem, make([]float64, len(x.w)), settings, &optimize.LBFGS{Store: 40})
	if failed != nil {
		return failed
	}
	if found == nil {
		return fmt.Errorf("multitask: fitting %q: %w", x.model.Info().Name, err)
	}
	// A line search that rounding errors end has found what there is to find.
	at(found.X)
	return failed
}
