package multitask

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Value is problem (1) at one point, in its parts.
type Value struct {
	// Total is Loss + Lambda1/2 Trace + Lambda2 G.
	Total float64
	// Loss is the sum over the tasks of their mean losses.
	Loss float64
	// Trace is tr(W Omega^-1 W'), +Inf when W is outside of the range of Omega.
	Trace float64
	// G is g(Omega), +Inf when Omega is outside of the model's domain.
	G float64
}

// Objective evaluates problem (1) for a model.
func Objective(model Model, problem *Problem, w *mat.Dense, b []float64, c *Covariance, p Params) (Value, error) {
	p, err := Complete(model, p)
	if err != nil {
		return Value{}, err
	}
	if r, k := w.Dims(); r != problem.d || k != len(problem.tasks) || len(b) != k {
		return Value{}, fmt.Errorf("multitask: objective: %w: W is %d x %d and b has %d entries; the problem needs %d x %d", ErrInvalidParams, r, k, len(b), problem.d, len(problem.tasks))
	}
	v := Value{G: model.G(c, problem.d, p)}
	if v.Trace, err = traceTerm(gram(rowsOf(w), len(b), problem.d), c); err != nil {
		return Value{}, err
	}
	columns := rowsOf(w)
	for i, t := range problem.tasks {
		score := make([]float64, len(t.y))
		t.x.Mul(score, columns[i*problem.d:][:problem.d], 1)
		v.Loss += problem.loss.mean(score, t.y, b[i])
	}
	v.Total = v.Loss + p.Lambda1/2*v.Trace
	if v.G != 0 {
		v.Total += p.Lambda2 * v.G
	}
	return v, nil
}

// traceTerm returns tr(S Omega^-1) for S = W'W.
func traceTerm(s *mat.SymDense, c *Covariance) (float64, error) {
	if c.Precision != nil {
		return dot(s, c.Precision), nil
	}
	if c.Omega == nil {
		return 0, fmt.Errorf("multitask: objective: %w: the covariance is missing", ErrInvalidOmega)
	}
	e, err := Eigen(c.Omega)
	if err != nil {
		return 0, err
	}
	return traceInverse(s, e), nil
}

// traceInverse returns tr(S Omega^+), +Inf when S has more than rounding
// errors outside of the range of Omega. Such errors are squares: 1e-14 of S is
// 1e-7 of W.
func traceInverse(s *mat.SymDense, omega *Spectrum) float64 {
	m := s.SymmetricDim()
	sum, outside := 0.0, 0.0
	for k, mu := range omega.Values {
		u := omega.Vectors.ColView(k)
		v := mat.Inner(u, s, u)
		if mu > rankTolerance*omega.Values[m-1] {
			sum += v / mu
		} else {
			outside += v
		}
	}
	if outside > 1e-14*mat.Trace(s) {
		return math.Inf(1)
	}
	return sum
}

// rankTolerance is the eigenvalue of Omega, relative to the largest, that
// counts as zero.
const rankTolerance = 1e-12

// rowsOf returns W' (m x d, row-major), in which the weights of a task are
// contiguous.
func rowsOf(w *mat.Dense) []float64 {
	d, m := w.Dims()
	rows := make([]float64, d*m)
	for i := range m {
		mat.Col(rows[i*d:][:d], i, w)
	}
	return rows
}

// gram returns W'W from the rows of W'.
func gram(rows []float64, m, d int) *mat.SymDense {
	s := mat.NewSymDense(m, nil)
	if m >= wide {
		p := products(rows, rows, m, d)
		for i := range m {
			for j := range i + 1 {
				s.SetSym(i, j, p.At(i, j))
			}
		}
		return s
	}
	for i := range m {
		for j := range i + 1 {
			s.SetSym(i, j, inner(rows[i*d:][:d], rows[j*d:][:d]))
		}
	}
	return s
}
