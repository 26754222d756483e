package multitask

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// traceInverse returns tr(S Omega^+), +Inf when S has more than rounding
// errors outside of the range of Omega. Such errors are squares: 1e-14 of S is
// 1e-7 of W.
func traceInverse(s *mat.SymDense, omega *Spectrum) float64 {
	m := s.SymmetricDim()
	along := func(k int) float64 { u := omega.Vectors.ColView(k); return mat.Inner(u, s, u) }
	if m >= several { // one product is faster
		su := times(s, omega.Vectors)
		su.MulElem(omega.Vectors, su)
		along = func(k int) float64 { return mat.Sum(su.ColView(k)) }
	}
	sum, outside := 0.0, 0.0
	for k, mu := range omega.Values {
		v := along(k)
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
	if m >= several {
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
