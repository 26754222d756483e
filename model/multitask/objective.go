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
	if m >= several {
		return traceInverseOfMany(s, omega)
	}
	sum, outside := 0.0, 0.0
	for k, mu := range omega.Values {
		u := omega.Vectors.ColView(k)
		if v := mat.Inner(u, s, u); mu > rankTolerance*omega.Values[m-1] {
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

// traceInverseOfMany is traceInverse by one product with the eigenvectors of the range,
// which may be few. What these leave of the trace has the rounding errors of m terms.
func traceInverseOfMany(s *mat.SymDense, omega *Spectrum) float64 {
	m, first := s.SymmetricDim(), firstOfRange(omega)
	v := omega.Vectors.Slice(0, m, first, m).(*mat.Dense)
	sv := times(s, v)
	sv.MulElem(v, sv)
	sum, inside := 0.0, 0.0
	for k, mu := range omega.Values[first:] {
		of := mat.Sum(sv.ColView(k))
		sum += of / mu
		inside += of
	}
	if trace := mat.Trace(s); first > 0 && trace-inside > max(1e-14, 1e-15*float64(m))*trace {
		return math.Inf(1)
	}
	return sum
}

// firstOfRange is the index of the first eigenvalue that does not count as zero, or of
// the last one.
func firstOfRange(omega *Spectrum) int {
	first, last := 0, len(omega.Values)-1
	for first < last && omega.Values[first] <= rankTolerance*omega.Values[last] {
		first++
	}
	return first
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
