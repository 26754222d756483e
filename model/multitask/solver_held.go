package multitask

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"l2mt/layers/linalg"
)

// holding is a Model whose Omega does not follow W. Fits of many tasks then do without all
// matrices of tasks x tasks but Omega: in Z with W' = Q Z they minimise
//
//	losses + Lambda1/2 ||Z||^2
//
// whose gradient in Z tells by strong convexity how far the minimum is.
type holding interface {
	Model
	// held is the covariance of m tasks.
	held(m int, p Params) *mat.SymDense
}

// manyTasks is the number of tasks from which that is faster.
const manyTasks = 128

// root is Q = U diag(q) U' with Omega = Q Q, as c I and what a few vectors add to that.
// Where Omega is singular its inverse is that within the range.
type root struct {
	c       float64
	q       []float64  // of the vectors
	u       *mat.Dense // the vectors, as rows
	threads int
}

func newRoot(omega *mat.SymDense, threads int) (*root, error) {
	c, values, u, ok := linalg.Shifted(omega, omega.SymmetricDim()/4)
	if !ok {
		e, err := Eigen(omega)
		if err != nil {
			return nil, err
		}
		c, values, u = 0, e.Values, mat.DenseCopyOf(e.Vectors.T())
	}
	largest := c
	for _, v := range values {
		largest = max(largest, v)
	}
	sqrt := func(v float64) float64 {
		if v <= rankTolerance*largest {
			return 0
		}
		return math.Sqrt(v)
	}
	r := &root{c: sqrt(c), u: u, threads: threads}
	for _, v := range values {
		r.q = append(r.q, sqrt(v))
	}
	return r, nil
}

// multiply sets dst to Q X, for X m x d.
func (r *root) multiply(dst, x []float64, d int) { r.apply(dst, r.c, r.q, x, d) }

// divide sets dst to the inverse of Q times X.
func (r *root) divide(dst, x []float64, d int) {
	inverse := make([]float64, len(r.q)+1)
	for i, q := range append(r.q[:len(r.q):len(r.q)], r.c) {
		if q > 0 {
			inverse[i] = 1 / q
		}
	}
	r.apply(dst, inverse[len(r.q)], inverse[:len(r.q)], x, d)
}

// apply sets dst to (c I + U diag(q - c) U') X.
func (r *root) apply(dst []float64, c float64, q, x []float64, d int) {
	clear(dst)
	add(c, x, dst)
	if len(q) == 0 {
		return
	}
	k, m := r.u.Dims()
	u, part := r.u.RawMatrix(), general(k, d, make([]float64, k*d))
	gemmOn(r.threads, false, false, 1, u, general(m, d, x), 0, part)
	for i, v := range q {
		scale(v-c, part.Data[i*d:][:d])
	}
	gemmOn(r.threads, true, false, 1, u, part, 1, general(m, d, dst))
}

// hold fits a model whose Omega is held.
func (s *solver) hold(ctx context.Context, model holding, opt Options) (*Result, error) {
	r := &Result{Model: model.Info().Name, Params: s.params, Status: IterationLimit}
	omega, from := model.held(s.m, s.params), opt.Start
	if from != nil && from.root != nil && from.Omega == omega {
		s.root = from.root
	} else {
		var err error
		if s.root, err = newRoot(omega, s.workers); err != nil {
			return nil, err
		}
	}
	r.root = s.root
	if from != nil {
		s.begin(from)
		s.root.divide(s.z, s.w, s.d)
		s.root.multiply(s.w, s.z, s.d) // which leaves out what is outside of the range
	}
	s.scores(&s.point)
	l1 := s.params.Lambda1
	g, x, dir, res, hv := make([]float64, s.m*s.d), s.cg[0], s.cg[1], s.cg[2], s.cg[3]
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("multitask: fitting %q: %w", r.Model, err)
		}
		s.gradient()
		s.root.multiply(g, s.data, s.d)
		add(l1, s.z, g)
		norm := inner(g, g)
		r.Objective, r.Gap = s.loss+l1/2*inner(s.z, s.z), norm/(2*l1)
		enough := opt.Tolerance * r.Objective
		if r.Gap <= enough {
			r.Status = Converged
		}
		if r.Status != IterationLimit || r.Iterations == opt.MaxIterations {
			break
		}
		copy(res, g)
		target := 0.1 * 2 * l1 * enough
		if s.problem.loss != Square { // whose first step ends at the minimum
			target = max(target, 0.01*norm)
		}
		slope, _ := s.conjugate(x, dir, res, hv, nil, nil, norm, target)
		r.Iterations++
		if !s.goAlong(x, slope, r.Objective) {
			r.Status = Stalled
		}
		r.Trace = append(r.Trace, s.loss+l1/2*inner(s.z, s.z))
	}
	end := candidate{point: s.point, rel: &relation{cov: &Covariance{Omega: omega}}, objective: r.Objective, gap: r.Gap}
	end.fill(r, s)
	return r, nil
}

// goAlong moves Z along x until the objective is lower by a fair part of what the
// slope promises, and reports whether it is.
func (s *solver) goAlong(x []float64, slope, before float64) bool {
	s.root.multiply(s.step.w, x, s.d)
	s.stepScores()
	l1, zz, zx, xx := s.params.Lambda1/2, inner(s.z, s.z), inner(s.z, x), inner(x, x)
	for t := 1.0; t > 1e-5; t /= 2 {
		s.tryScores(t)
		if after := s.trial.loss + l1*(zz+2*t*zx+t*t*xx); after <= before+1e-4*t*slope+1e-15*before {
			copy(s.trial.w, s.w)
			add(t, s.step.w, s.trial.w)
			add(t, x, s.z)
			s.point, s.trial = s.trial, s.point
			return true
		}
	}
	return false
}
