package multitask

// The intrinsic coregionalisation model: Omega by marginal likelihood, with all
// labelled rows and without any held out.
//
//	f_a = <x_a, w_t> + b_t for a row a of task t,  W ~ Gaussian with Omega over
//	the tasks,  Omega = B B' + diag(v),  b wide
//	minimise over B, v    -log p(y)
//
// With l the negative log likelihood of a row, r, h and l''' its derivatives at
// the most likely f = -K r, where K has the variance of b between the rows of a
// task, D = diag(1/h) and M = (K + D)^-1:
//
//	-log p(y) = sum l + r'K r/2 + log |I + H^1/2 K H^1/2| / 2
//	d/dK      = (M - r r' - u r' - r u')/2,  u = M D a,  a_k = (1/h_k - M_kk/h_k^2) l'''_k / 2
//
// That is Laplace's approximation for the logistic loss, where l is the loss. For
// the squared loss l = (y - f)^2/(2 s_t) + ln(s_t)/2 with a noise s_t for every
// task, and it is exact.
//
// A flat b, as in problem (1), will not do here: where the classes can be
// separated by all weights that are long enough, the likelihood grows with their
// length as the range of good biases does.
//
// Sources: Bonilla, Chai, Williams 2007; Rasmussen and Williams 2006, 3.4 and 5.5.

import (
	"context"
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
)

// ICMOptions control ICM. The zero value means the defaults.
type ICMOptions struct {
	// Rank is the number of columns of B. 0 means 1.
	Rank int
	// Iterations limits the steps of L-BFGS. 0 means 50.
	Iterations int
}

// mostICMRows bounds the rows of ICM, each of whose evaluations inverts matrices of as many.
const mostICMRows = 2000

// ICM finds the covariance of the most likely intrinsic coregionalisation model,
// and the fit with it. Unlike in problem (1) every row weighs the same,
// whatever the size of its task, and Lambda1 is part of Omega, which has no
// fixed trace: Params.Lambda1 is 1. Objective is the negative log likelihood.
// Rows that several tasks have in common count as independent, so that tasks
// of class pairs look more alike than they are.
func ICM(ctx context.Context, problem *TrainingSet, o ICMOptions) (*Result, error) {
	begin := time.Now()
	c, err := newICM(problem, o)
	if err != nil {
		return nil, err
	}
	x, err := c.begin()
	if err != nil {
		return nil, err
	}
	limit := o.Iterations
	if limit == 0 {
		limit = 50
	}
	p := optimize.Problem{
		Func: func(x []float64) float64 {
			e, err := c.evaluate(x)
			if err != nil {
				return math.Inf(1) // too large a step
			}
			return e.value
		},
		Grad: func(g, x []float64) {
			if e, err := c.evaluate(x); err == nil {
				copy(g, e.gradient)
			}
		},
		Status: func() (optimize.Status, error) {
			if err := ctx.Err(); err != nil {
				return optimize.Failure, err
			}
			return optimize.NotTerminated, nil
		},
	}
	found, err := optimize.Minimize(p, x, &optimize.Settings{MajorIterations: limit, GradientThreshold: 1e-4, Converger: &optimize.FunctionConverge{Relative: 1e-7, Iterations: 5}}, &optimize.LBFGS{})
	if found == nil || ctx.Err() != nil {
		return nil, fmt.Errorf("multitask: ICM: %w", err)
	}
	// A line search that rounding errors end has found what there is to find.
	e, err := c.evaluate(found.X)
	if err != nil {
		return nil, err
	}
	r := c.result(e)
	r.Iterations = found.MajorIterations
	if found.Status != optimize.IterationLimit {
		r.Status = Converged
	}
	r.Seconds = time.Since(begin).Seconds()
	return r, nil
}

// icm evaluates the likelihood. Its variables are B by rows, ln v and, for the
// squared loss, ln s.
type icm struct {
	*leaveOneOut
	rank int
	bias []float64 // the variances of b
	f, c []float64 // the last mode and its dual variables, where the next search starts
	last *evaluation
}

type evaluation struct {
	x        []float64
	value    float64
	gradient []float64
	omega    *mat.SymDense
	r, b     []float64
}

func newICM(p *TrainingSet, o ICMOptions) (*icm, error) {
	rank := o.Rank
	if rank == 0 {
		rank = 1
	}
	if p.classes > 1 {
		return nil, fmt.Errorf("multitask: ICM: %w: tasks of more than two classes; it takes two", ErrInvalidData)
	}
	if rank < 0 || rank > len(p.tasks) || o.Iterations < 0 {
		return nil, fmt.Errorf("multitask: ICM: %w: rank %d and %d iterations; the rank is 1 to %d, the number of tasks", ErrInvalidParams, rank, o.Iterations, len(p.tasks))
	}
	n := 0
	for _, t := range p.tasks {
		n += len(t.y)
	}
	if n > mostICMRows {
		return nil, fmt.Errorf("multitask: ICM: %w: it has %d training rows; the time grows with their cube, and the limit is %d", ErrInvalidData, n, mostICMRows)
	}
	e := newLeaveOneOut(measure{train: p, y: make([][]float64, len(p.tasks))})
	for i, t := range p.tasks {
		e.y[i] = t.y
	}
	c := &icm{leaveOneOut: e, rank: rank, bias: make([]float64, len(p.tasks)), f: make([]float64, n), c: make([]float64, n)}
	for i := range c.bias {
		c.bias[i] = 10 // wide for logits
		if p.loss == Square {
			square := 0.0
			for _, y := range c.y[i] {
				square += y * y / float64(len(c.y[i]))
			}
			c.bias[i] = 100*square + 1e-300
		}
	}
	return c, nil
}

// begin returns the start: half of the variance in diag(v) and half in the leading
// directions of the most likely unrelated tasks, at the most likely of some scales.
func (c *icm) begin() ([]float64, error) {
	m := len(c.y)
	size := 0.0
	for a := range c.f {
		size += c.gram.At(a, a) / float64(len(c.f))
	}
	if size == 0 {
		size = 1
	}
	var best *evaluation
	for _, s := range []float64{0.1, 1, 10, 100, 1000} {
		x := make([]float64, c.variables())
		for i := range m {
			x[m*c.rank+i] = math.Log(s / size)
			if c.train.loss == Square {
				x[m*c.rank+m+i] = math.Log(c.variance(i))
				x[m*c.rank+i] += x[m*c.rank+m+i]
			}
		}
		e, err := c.evaluate(x)
		if err != nil {
			return nil, err
		}
		if best == nil || e.value < best.value {
			best = e
		}
	}
	x := best.x
	s, err := Eigen(gram(c.weights(best), m, c.train.cols))
	if err != nil {
		return nil, err
	}
	total := floats.Sum(s.Values)
	for i := range m {
		v := math.Exp(x[m*c.rank+i])
		x[m*c.rank+i] = math.Log(v / 2)
		for k := range c.rank {
			share := 1 / float64(c.rank)
			if total > 0 {
				share = s.Values[m-1-k] / total
			}
			// Not zero, where the slope is.
			x[i*c.rank+k] = math.Sqrt(v/2*float64(m)*max(share, 0.01)) * s.Vectors.At(i, m-1-k)
		}
	}
	return x, nil
}

func (c *icm) variables() int {
	m := len(c.y)
	if c.train.loss == Square {
		return m * (c.rank + 2)
	}
	return m * (c.rank + 1)
}

// variance of the targets of a task, or 1.
func (c *icm) variance(i int) float64 {
	mean, v := floats.Sum(c.y[i])/float64(len(c.y[i])), 0.0
	for _, y := range c.y[i] {
		v += (y - mean) * (y - mean) / float64(len(c.y[i]))
	}
	if v == 0 {
		return 1
	}
	return v
}

func (c *icm) evaluate(x []float64) (*evaluation, error) {
	if c.last != nil && floats.Equal(c.last.x, x) {
		return c.last, nil
	}
	m := len(c.y)
	b, v := mat.NewDense(m, c.rank, x[:m*c.rank]), x[m*c.rank:][:m]
	omega := mat.NewSymDense(m, nil)
	omega.SymOuterK(1, b)
	for i := range m {
		omega.SetSym(i, i, omega.At(i, i)+math.Exp(v[i]))
	}
	e := &evaluation{x: append([]float64(nil), x...), gradient: make([]float64, len(x)), omega: omega}
	var noise []float64
	if c.train.loss == Square {
		for _, s := range x[m*(c.rank+1):] {
			noise = append(noise, math.Exp(s))
		}
	}
	l, err := c.mode(omega, noise)
	if err != nil {
		return nil, err
	}
	e.r, e.b = l.r, make([]float64, m)
	e.value += l.logDet/2 - inner(l.r, c.f)/2
	for i, y := range c.y {
		f := c.f[c.first[i]:c.first[i+1]]
		e.b[i] = -c.bias[i] * floats.Sum(l.r[c.first[i]:c.first[i+1]])
		if noise == nil {
			e.value += Logistic.mean(f, y, 0) * float64(len(y))
		} else {
			e.value += Square.mean(f, y, 0)*float64(len(y))/(2*noise[i]) + float64(len(y))/2*math.Log(noise[i])
		}
	}
	slope := c.slope(l)
	var toB mat.Dense
	toB.Mul(slope, b)
	for i := range m {
		for k := range c.rank {
			e.gradient[i*c.rank+k] = 2 * toB.At(i, k)
		}
		e.gradient[m*c.rank+i] = slope.At(i, i) * math.Exp(v[i])
		if noise != nil {
			for a := c.first[i]; a < c.first[i+1]; a++ {
				e.gradient[m*(c.rank+1)+i] += (l.diagonal[a]*l.h[a] - l.r[a]*l.r[a]) * noise[i] / 2
			}
		}
	}
	c.last = e
	return e, nil
}

// mode finds the most likely f and its dual variables c = -r by Newton's method.
// Where it starts need not be an f of this covariance. The first step leads to one.
func (c *icm) mode(omega *mat.SymDense, noise []float64) (*left, error) {
	n := len(c.f)
	r, none := make([]float64, n), make([]float64, len(c.y))
	for it := 0; ; it++ {
		l := &left{leaveOneOut: c.leaveOneOut, omega: omega, lambda1: 1, bias: c.bias, h: make([]float64, n)}
		for i, y := range c.y {
			from, to := c.first[i], c.first[i+1]
			weight := float64(len(y))
			if noise != nil {
				weight /= 2 * noise[i]
			}
			c.train.loss.slopes(r[from:to], l.h[from:to], c.f[from:to], y, 0)
			scale(weight, r[from:to])
			scale(weight, l.h[from:to])
		}
		if err := l.factorize(); err != nil {
			return nil, err
		}
		l.newton(c.f, r, none)
		f, dual := make([]float64, n), make([]float64, n)
		for a := range n {
			f[a], dual[a] = l.z[a]+l.r[a]/l.h[a], -l.r[a]
		}
		moved := floats.Distance(f, c.f, math.Inf(1))
		if it > 0 {
			before := c.energy(c.f, c.c)
			for before += 1e-12 * math.Abs(before); moved > 1e-9 && c.energy(f, dual) > before; moved /= 2 {
				for a := range n {
					f[a], dual[a] = (f[a]+c.f[a])/2, (dual[a]+c.c[a])/2
				}
			}
		}
		c.f, c.c = f, dual
		if noise != nil || moved <= 1e-9 || it == 50 {
			return l, nil
		}
	}
}

// energy is what the logistic mode minimises: the losses and half of c'K c = c'f.
func (c *icm) energy(f, dual []float64) float64 {
	sum := inner(dual, f) / 2
	for i, y := range c.y {
		sum += Logistic.mean(f[c.first[i]:c.first[i+1]], y, 0) * float64(len(y))
	}
	return sum
}

// slope returns the slope of -log p(y) with respect to Omega.
func (c *icm) slope(l *left) *mat.SymDense {
	n, m := len(l.h), len(l.y)
	u, all := make([]float64, n), l.all()
	if c.train.loss == Logistic {
		a := make([]float64, n)
		for k := range a {
			// (1/h - M/h^2) l''' = (1 - q) l'''/l''
			a[k] = (1 - l.diagonal[k]) * -math.Tanh(c.f[k]/2) / 2 / l.root[k]
		}
		u = l.multiply(a)
		floats.Mul(u, l.root)
	}
	slope := mat.NewSymDense(m, nil)
	for i := range m {
		for j := i; j < m; j++ {
			sum := 0.0
			for a := l.first[i]; a < l.first[i+1]; a++ {
				gram, q := l.gram.RawRowView(a), all.RawRowView(a)
				for b := l.first[j]; b < l.first[j+1]; b++ {
					sum += gram[b] * (l.root[a]*l.root[b]*q[b] - l.r[a]*l.r[b] - u[a]*l.r[b] - l.r[a]*u[b]) / 2
				}
			}
			slope.SetSym(i, j, sum)
		}
	}
	return slope
}

// weights returns W' = -Omega X'r by task, m x d.
func (c *icm) weights(e *evaluation) []float64 {
	m, d := len(c.y), c.train.cols
	g, w := make([]float64, m*d), make([]float64, m*d)
	for i, t := range c.train.tasks {
		t.x.AddMulT(g[i*d:][:d], e.r[c.first[i]:c.first[i+1]], 1)
	}
	rotate(w, mat.DenseCopyOf(e.omega), g, d)
	scale(-1, w)
	return w
}

func (c *icm) result(e *evaluation) *Result {
	m, d := len(c.y), c.train.cols
	r := &Result{Model: "icm", Params: Params{Lambda1: 1}, W: mat.NewDense(d, m, nil), B: e.b, Omega: e.omega, Objective: e.value, Status: IterationLimit}
	w := c.weights(e)
	for i := range m {
		r.W.SetCol(i, w[i*d:][:d])
	}
	return r
}
