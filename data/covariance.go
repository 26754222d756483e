package data

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"l2mt/layers/linalg"
)

// covarianceTolerance is how far a covariance may be from symmetric and from
// positive semidefinite, relative to its largest entry and eigenvalue: those
// written to a file with ten digits pass.
const covarianceTolerance = 1e-9

// NewCovariance returns the covariance Omega of tasks from its rows, checked as by
// CheckCovariance.
func NewCovariance(rows [][]float64) (*mat.SymDense, error) {
	m, largest := len(rows), 0.0
	if m == 0 {
		return nil, fmt.Errorf("%w: it has no rows", ErrInvalid)
	}
	for i, row := range rows {
		if len(row) != m {
			return nil, fmt.Errorf("%w: row %d has %d entries; a matrix of %d rows needs %d", ErrInvalid, i, len(row), m, m)
		}
		for _, v := range row {
			largest = max(largest, math.Abs(v))
		}
	}
	a := mat.NewSymDense(m, nil)
	for i, row := range rows {
		for j, v := range row[:i+1] {
			if w := rows[j][i]; math.Abs(v-w) > covarianceTolerance*largest {
				return nil, fmt.Errorf("%w: it is not symmetric: entry (%d, %d) is %v, entry (%d, %d) is %v", ErrInvalid, i, j, v, j, i, w)
			}
			a.SetSym(i, j, v)
		}
	}
	return a, CheckCovariance(a, m)
}

// CheckCovariance tells why a matrix cannot be the covariance of m tasks: its
// entries must be finite, no eigenvalue negative, and one positive. The caller
// says which matrix it is.
func CheckCovariance(omega *mat.SymDense, m int) error {
	if omega == nil || omega.IsEmpty() {
		return fmt.Errorf("%w: it has no entries", ErrInvalid)
	}
	if size := omega.SymmetricDim(); size != m {
		return fmt.Errorf("%w: it is for %d tasks; there are %d", ErrInvalid, size, m)
	}
	for i := range m {
		for j := range i + 1 {
			if v := omega.At(i, j); math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("%w: entry (%d, %d) is %v; it must be finite", ErrInvalid, i, j, v)
			}
		}
	}
	if definite(omega) {
		return nil
	}
	var e mat.EigenSym
	if !e.Factorize(omega, false) {
		return fmt.Errorf("%w: its eigenvalues cannot be found", ErrInvalid)
	}
	values := e.Values(nil)
	if low, high := values[0], values[m-1]; !(high > 0) || low < -covarianceTolerance*high {
		return fmt.Errorf("%w: it is not positive semidefinite: its eigenvalues reach from %.3g to %.3g; none may be negative and one must be positive", ErrInvalid, low, high)
	}
	return nil
}

// definite says that a covariance is positive semidefinite up to the tolerance, which
// for many tasks a factorization finds out in a hundredth of the time of eigenvalues.
func definite(omega *mat.SymDense) bool {
	m, largest := omega.SymmetricDim(), 0.0 // on the diagonal, so at most an eigenvalue
	for i := range m {
		largest = max(largest, omega.At(i, i))
	}
	if !(largest > 0) {
		return false
	}
	shifted := mat.DenseCopyOf(omega)
	for i := range m {
		shifted.Set(i, i, omega.At(i, i)+covarianceTolerance*largest)
	}
	return linalg.Cholesky(linalg.Default(), m, shifted.RawMatrix().Data, m)
}
