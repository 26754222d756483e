package linalg

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
	err := Finite(a)
	if err != nil {
		return nil, err
	}
	var e mat.EigenSym
	if !e.Factorize(a, true) {
		return nil, fmt.Errorf("the eigenvalues of a matrix of size %d do not converge", a.SymmetricDim())
	}
	s := &Spectrum{
		Values:  e.Values(nil),
		Vectors: new(mat.Dense),
	}
	e.VectorsTo(s.Vectors)
	return s, nil
}

// Finite reports a matrix that is not finite.
func Finite(a *mat.SymDense) error {
	sum := mat.Sum(a)
	if math.IsNaN(sum) || math.IsInf(sum, 0) {
		return fmt.Errorf("a matrix of size %d: it is not finite", a.SymmetricDim())
	}
	return nil
}

// Rebuild returns U diag(values) U', symmetric to the bit.
func (s *Spectrum) Rebuild(values []float64) *mat.SymDense {
	scaled := mat.DenseCopyOf(s.Vectors)
	for i := range values {
		floats.Mul(scaled.RawRowView(i), values)
	}
	var product mat.Dense
	product.Mul(scaled, s.Vectors.T())
	return Symmetrised(&product, 1)
}

// Symmetrised returns a times the symmetric part of A.
func Symmetrised(x *mat.Dense, a float64) *mat.SymDense {
	m, _ := x.Dims()
	s := mat.NewSymDense(m, nil)
	for i := range m {
		for j := range i + 1 {
			sum := x.At(i, j) + x.At(j, i)
			s.SetSym(i, j, a*sum/2)
		}
	}
	return s
}
