package multitask

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Spectrum is the eigendecomposition U diag(Values) U' of a symmetric matrix.
type Spectrum struct {
	// Values are the eigenvalues in ascending order.
	Values []float64
	// Vectors has the eigenvectors as its columns.
	Vectors *mat.Dense
}

// Eigen returns the eigendecomposition of a symmetric matrix. It refuses
// entries that are not finite, on which the underlying routine may not return.
func Eigen(a *mat.SymDense) (*Spectrum, error) {
	if err := checkFinite(a); err != nil {
		return nil, err
	}
	var e mat.EigenSym
	if !e.Factorize(a, true) {
		return nil, diverged(a)
	}
	s := &Spectrum{Values: e.Values(nil), Vectors: new(mat.Dense)}
	e.VectorsTo(s.Vectors)
	return s, nil
}

func checkFinite(a *mat.SymDense) error {
	if a == nil || a.IsEmpty() {
		return fmt.Errorf("multitask: eigendecomposition: %w: the matrix is empty", ErrInvalidOmega)
	}
	n := a.SymmetricDim()
	for i := range n {
		for j := i; j < n; j++ {
			if v := a.At(i, j); math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("multitask: eigendecomposition: %w: entry (%d, %d) is %v; it must be finite", ErrInvalidOmega, i, j, v)
			}
		}
	}
	return nil
}

func diverged(a *mat.SymDense) error {
	return fmt.Errorf("multitask: eigendecomposition: %w: it did not converge on a matrix of size %d", ErrInvalidOmega, a.SymmetricDim())
}

// Rebuild returns U diag(values) U', symmetric to the bit.
func (s *Spectrum) Rebuild(values []float64) *mat.SymDense {
	n, _ := s.Vectors.Dims()
	a := mat.NewSymDense(n, nil)
	row := make([]float64, len(values))
	for i := range n {
		floats.MulTo(row, values, s.Vectors.RawRowView(i))
		for j := i; j < n; j++ {
			a.SetSym(i, j, inner(row, s.Vectors.RawRowView(j)))
		}
	}
	return a
}
