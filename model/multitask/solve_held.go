package multitask

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// ridge is the problem that is left for a given covariance,
//
//	losses(W, b) + Lambda/2 <A, Omega A>    with W' = Omega A
//
// or W' = C' + Omega A for a C that stays. A is Omega^-1 W', m x d, but neither an
// inverse nor a root of Omega is needed, which may be singular. The biases are always
// optimal for W. Newton's method minimises it by conjugate gradients, preconditioned with
// Omega / Lambda: they take one product with Omega for one with the Hessian.
type ridge struct {
	set     *TrainingSet
	workers int
	omega   mat.Matrix
	lambda  float64
	pull    []float64 // of the common intercept on the tasks' intercepts
	a       []float64
	point
	slopes []float64 // of the losses with respect to W', m x d
	mean   []float64 // the rows' sum with the weights h, m x d
	total  []float64 // the sums of these weights
}

// point is W' (m x d) with all that a fit needs to know there.
type point struct {
	w, b  []float64   // the biases of the tasks, and after them the common ones
	score [][]float64 // X_i w_i
	r, h  [][]float64 // first and second derivatives of the loss, over n_i
	loss  float64
}

func newPoint(p *TrainingSet) point {
	m := len(p.tasks)
	v := point{w: make([]float64, m*p.cols)}
	v.b = make([]float64, m+p.classes)
	vectors := []*[][]float64{&v.score, &v.r, &v.h}
	for _, rows := range vectors {
		for _, t := range p.tasks {
			*rows = append(*rows, make([]float64, len(t.y)))
		}
	}
	return v
}

func newRidge(set *TrainingSet, omega mat.Matrix, lambda float64, p Params, workers int) *ridge {
	v := newPoint(set)
	n := len(v.w)
	return &ridge{
		set: set, workers: workers, omega: omega, lambda: lambda, pull: set.Pulls(p), point: v,
		a:      make([]float64, n),
		slopes: make([]float64, n),
		mean:   make([]float64, n),
		total:  make([]float64, len(set.tasks)),
	}
}

// part is the row of task i, class by class, in W' or in a gradient with respect to it.
func (p *TrainingSet) part(i int, w []float64) []float64 {
	return w[i*p.cols:][:p.cols]
}

// each calls f for every task, class by class, on the goroutines of the fit.
func (x *ridge) each(f func(i int, t *task)) {
	tasks := x.set.tasks
	work := func(first int) {
		for i := first; i < len(tasks); i += max(1, x.workers) {
			f(i, &tasks[i])
		}
	}
	var team sync.WaitGroup
	for first := 1; first < x.workers; first++ {
		team.Go(func() {
			work(first)
		})
	}
	work(0)
	team.Wait()
}

// take copies the weights and biases of another fit.
func (v *point) take(from *Result) {
	copy(v.w, rowsOf(from.W))
	for i, b := range from.B {
		if !math.IsInf(b, 0) { // of a class that a task cannot have
			v.b[i] = b
		}
	}
}

// predict computes the rest of a point from its weights.
func (x *ridge) predict(v *point) {
	x.each(func(i int, t *task) {
		t.x.Mul(v.score[i], x.set.part(i, v.w), 1)
	})
	x.losses(v)
}

// sumRows sets dst to the sums of the rows of every task with some weights: the gradient of the
// losses with respect to W' with their first derivatives.
func (x *ridge) sumRows(dst []float64, weights [][]float64) {
	clear(dst)
	x.each(func(i int, t *task) {
		t.x.AddMulT(x.set.part(i, dst), weights[i])
	})
}

// differentiate computes the slopes of the losses, and the sums for addHessian.
func (x *ridge) differentiate() {
	x.sumRows(x.slopes, x.r)
	x.sumRows(x.mean, x.h)
	for i, h := range x.h {
		x.total[i] = max(floats.Sum(h), math.SmallestNonzeroFloat64)
	}
}

// addHessian adds to dst the Hessian of the losses, with the biases following W,
// times v.
func (x *ridge) addHessian(dst, v []float64) {
	p := x.set
	sums := make([]float64, len(x.b))
	x.each(func(i int, t *task) {
		row := p.part(i, v)
		sums[i] = t.x.AddGram(p.part(i, dst), row, x.h[i])
	})
	x.addResponse(dst, sums, x.pull)
}

// addResponse adds to dst the change of the losses' gradient as the biases respond to slopes.
func (x *ridge) addResponse(dst, slopes, pull []float64) {
	moves := x.set.response(slopes, x.total, pull)
	for i, b := range moves[:len(x.total)] {
		add(b, x.set.part(i, x.mean), x.set.part(i, dst))
	}
}

// conjugate solves H Omega dA + Lambda dA = -g, given as rest, until <rest, Omega rest> of
// the remainder, which it leaves in rest, is within a target. It returns dA, dW' = Omega dA
// and the slope along them.
func (x *ridge) conjugate(rest []float64, target float64) (a, w []float64, slope float64) {
	n := len(rest)
	a = make([]float64, n)
	w = make([]float64, n)
	hq := make([]float64, n)
	z := make([]float64, n)
	multiply(z, x.omega, rest)
	p := slices.Clone(rest)
	q := slices.Clone(z)
	norm := floats.Dot(rest, z)
	for step := 0; step < 1000 && norm > target; step++ {
		floats.ScaleTo(hq, x.lambda, p)
		x.addHessian(hq, q)
		curvature := floats.Dot(q, hq)
		if !(curvature > 0) {
			break
		}
		t := norm / curvature
		add(t, p, a)
		add(t, q, w)
		add(-t, hq, rest)
		slope -= t * norm
		multiply(z, x.omega, rest)
		next := floats.Dot(rest, z)
		floats.AddScaledTo(p, rest, next/norm, p)
		floats.AddScaledTo(q, z, next/norm, q)
		norm = next
	}
	return a, w, slope
}

// downhill returns the negative gradient with respect to W' and its square <rest, Omega rest>,
// which over 2 Lambda bounds the gap.
func (x *ridge) downhill() (rest []float64, norm float64) {
	x.differentiate()
	rest = floats.ScaleTo(make([]float64, len(x.a)), -1, x.slopes)
	add(-x.lambda, x.a, rest)
	return rest, quadratic(x.omega, rest)
}

// quadratic returns <X, Omega X>.
func quadratic(omega mat.Matrix, x []float64) float64 {
	product := make([]float64, len(x))
	multiply(product, omega, x)
	return floats.Dot(x, product)
}

// descend moves along the direction until the objective falls by a fair part of the slope's
// promise, and reports whether it does.
func (x *ridge) descend(a, w []float64, slope float64) bool {
	trial := newPoint(x.set)
	moves := make([][]float64, len(x.total))
	sums := make([]float64, len(x.b))
	x.each(func(i int, t *task) {
		moves[i] = make([]float64, len(t.y))
		t.x.Mul(moves[i], x.set.part(i, w), 1)
		sums[i] = floats.Dot(x.h[i], moves[i])
	})
	biases := x.set.response(sums, x.total, x.pull)
	linear := x.lambda * floats.Dot(x.a, w)
	square := x.lambda / 2 * floats.Dot(a, w)
	penalty := x.lambda / 2 * math.Abs(floats.Dot(x.a, x.w))
	size := math.Abs(x.loss) + penalty
	for t := 1.0; t > 1e-5; t /= 2 {
		for i, move := range moves {
			floats.AddScaledTo(trial.score[i], x.score[i], t, move)
		}
		floats.AddScaledTo(trial.b, x.b, t, biases)
		x.losses(&trial)
		if trial.loss+t*linear+t*t*square <= x.loss+1e-4*t*slope+1e-15*size {
			floats.AddScaledTo(trial.w, x.w, t, w)
			add(t, a, x.a)
			x.point = trial
			return true
		}
	}
	return false
}

// begin takes the weights of another fit, projected into the range of Omega: the objective is
// infinite elsewhere.
func (x *ridge) begin(from *Result, omega *mat.SymDense) error {
	x.take(from)
	if from.set == x.set && from.a != nil && mat.Equal(from.Omega, omega) {
		copy(x.a, from.a)
		return nil
	}
	e, err := decomposed(omega, rankTolerance)
	if err != nil {
		return err
	}
	for i, v := range e.Values {
		if v > 0 {
			e.Values[i] = 1 / v
		}
	}
	multiply(x.a, factor(e.Rebuild(e.Values)), x.w)
	multiply(x.w, x.omega, x.a)
	return nil
}

// solveHeld fits a model whose Omega is given, to a gap that strong convexity proves.
func solveHeld(ctx context.Context, set *TrainingSet, name string,
	omega *mat.SymDense, p Params, opt Options) (*Result, error) {
	set = set.weighted(p)
	x := newRidge(set, factor(omega), p.Lambda1, p, opt.Workers)
	if opt.Start != nil {
		err := x.begin(opt.Start, omega)
		if err != nil {
			return nil, err
		}
	}
	x.predict(&x.point)
	r := &Result{
		Model:  name,
		Params: p,
		Status: IterationLimit,
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("fitting %q: %w", name, err)
		}
		rest, norm := x.downhill()
		r.Objective = x.loss + p.Lambda1/2*floats.Dot(x.a, x.w)
		size := mat.Trace(x.omega) * floats.Dot(rest, rest)
		var err error
		r.Gap, err = certified(name, norm/(2*p.Lambda1), size/(2*p.Lambda1))
		if err != nil {
			return nil, err
		}
		enough := opt.Tolerance * r.Objective
		if r.Gap <= enough {
			r.Status = Converged
		}
		if r.Status != IterationLimit || r.Iterations == opt.MaxIterations {
			break
		}
		target := 0.1 * 2 * p.Lambda1 * enough
		if set.loss != Square { // the first step of a square loss ends at the minimum
			target = max(target, 0.01*norm)
		}
		a, w, slope := x.conjugate(rest, target)
		r.Iterations++
		if !x.descend(a, w, slope) {
			r.Status = Stalled
		}
	}
	r.fill(set, &x.point, omega)
	r.a = x.a
	return r, nil
}

// fill writes a point into a result.
func (r *Result) fill(set *TrainingSet, v *point, omega *mat.SymDense) {
	m := set.Tasks()
	d := set.classes * set.cols
	r.W = mat.DenseCopyOf(mat.NewDense(m, d, v.w).T())
	r.B = slices.Clone(v.b[:len(set.tasks)])
	set.lend(r.B, r.Params)
	r.Omega = omega
	r.set = set
}
