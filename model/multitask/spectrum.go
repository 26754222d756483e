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
	if sum := mat.Sum(a); math.IsNaN(sum) || math.IsInf(sum, 0) {
		return fmt.Errorf("multitask: %w: a matrix of size %d has entries that are not finite", ErrInvalidOmega, a.SymmetricDim())
	}
	return nil
}

func diverged(a *mat.SymDense) error {
	return fmt.Errorf("multitask: eigendecomposition: %w: it did not converge on a matrix of size %d", ErrInvalidOmega, a.SymmetricDim())
}

// Rebuild returns U diag(values) U', symmetric to the bit.
func (s *Spectrum) Rebuild(values []float64) *mat.SymDense {
	scaled := mat.DenseCopyOf(s.Vectors)
	for i := range values {
		floats.Mul(scaled.RawRowView(i), values)
	}
	var a mat.Dense
	a.Mul(scaled, s.Vectors.T())
	return symmetrised(&a, 1)
}
