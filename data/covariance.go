package data

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"l2mt/layers/linalg"
)

// covarianceTolerance is how far a covariance may be from symmetric and from
// positive semidefinite, relative to its largest entry and eigenvalue: those
// written to a file with ten digits pass.
const covarianceTolerance = 1e-9

// NewCovariance returns the covariance Omega of tasks from its rows, checked as by
// ProjectCovariance.
func NewCovariance(rows [][]float64) (*mat.SymDense, error) {
	m := len(rows)
	largest := 0.0
	if m == 0 {
		return nil, Invalid("it has no rows")
	}
	for i, row := range rows {
		if len(row) != m {
			return nil, Invalid("row %d has %d entries; a matrix of %d rows needs %d",
				i, len(row), m, m)
		}
		for _, v := range row {
			largest = max(largest, math.Abs(v))
		}
	}
	a := mat.NewSymDense(m, nil)
	for i, row := range rows {
		for j, v := range row[:i+1] {
			w := rows[j][i]
			if math.Abs(v-w) > covarianceTolerance*largest {
				return nil, Invalid("it is not symmetric: entry (%d, %d) is %v, entry (%d, %d) is %v",
					i, j, v, j, i, w)
			}
			a.SetSym(i, j, v)
		}
	}
	_, err := ProjectCovariance(a)
	return a, err
}

// ProjectCovariance returns a covariance as the solver takes it: eigenvalues below 0 by up to
// 1e-9 of the largest, which rounding leaves in a file of ten digits, become 0. Entries must
// be finite, no eigenvalue further below 0, and one positive. The caller says which matrix it
// is.
func ProjectCovariance(omega *mat.SymDense) (*mat.SymDense, error) {
	if omega == nil || omega.IsEmpty() {
		return nil, Invalid("it has no entries")
	}
	m := omega.SymmetricDim()
	for i := range m {
		for j := range i + 1 {
			v := omega.At(i, j)
			if !finite(v) {
				return nil, Invalid("entry (%d, %d) is %v; it must be finite", i, j, v)
			}
		}
	}
	if Definite(omega, rounding) {
		return omega, nil
	}
	size := max(mat.Max(omega), -mat.Min(omega))
	if size > largest {
		return nil, Invalid("its largest entry is %v; entries must lie within %v unless the covariance is positive definite", size, largest)
	}
	e, err := linalg.Eigen(omega)
	if err != nil {
		return nil, err
	}
	low := e.Values[0]
	high := e.Values[m-1]
	if !(high > 0) || low < -covarianceTolerance*high {
		return nil, Invalid("it is not positive semidefinite: its eigenvalues reach from %.3g to %.3g; none may be negative and one must be positive", low, high)
	}
	for i, v := range e.Values {
		e.Values[i] = max(v, 0)
	}
	return e.Rebuild(e.Values), nil
}

// largest bounds entries.
const largest = 1e100

// rounding is how far a sum of squares may be from positive semidefinite, relative to the trace.
const rounding = 1e-14

// Definite says that a covariance is positive semidefinite but for a share of its trace, which
// for many tasks a factorization finds out in a hundredth of the time of eigenvalues.
func Definite(omega *mat.SymDense, share float64) bool {
	m := omega.SymmetricDim()
	trace := mat.Trace(omega)
	if !(trace > 0) {
		return false
	}
	shifted := mat.DenseCopyOf(omega)
	for i := range m {
		shifted.Set(i, i, omega.At(i, i)+share*trace)
	}
	return linalg.Cholesky(linalg.Default(), m, shifted.RawMatrix().Data)
}
