package multitask

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// spectral is a Model whose g depends on the eigenvalues of Omega alone. Its
// Omega then has the eigenvectors of S.
type spectral interface {
	Model
	// spectrum sets mu to the eigenvalues of Omega that belong to the ascending
	// eigenvalues s of S.
	spectrum(mu, s []float64, p Params)
}

// spectralStep is the Omega step of every spectral model.
func spectralStep(model spectral, s *mat.SymDense, p Params) (*Covariance, error) {
	e, err := Eigen(s)
	if err != nil {
		return nil, err
	}
	clip(e.Values)
	mu := make([]float64, len(e.Values))
	model.spectrum(mu, e.Values, p)
	return &Covariance{Omega: e.Rebuild(mu)}, nil
}

// clip sets the eigenvalues of S that are rounding errors to zero: a small
// power of theirs would not be small.
func clip(s []float64) {
	limit := 1e-15 * float64(len(s)) * s[len(s)-1]
	for i, v := range s {
		if v <= limit {
			s[i] = 0
		}
	}
}

// eigenvalues returns the eigenvalues of Omega with those below 1e-12 of the
// largest set to zero.
func eigenvalues(omega *mat.SymDense) []float64 {
	e, err := Eigen(omega)
	if err != nil {
		return []float64{math.NaN()}
	}
	for i, v := range e.Values {
		if v <= 1e-12*e.Values[len(e.Values)-1] {
			e.Values[i] = 0
		}
	}
	return e.Values
}

// powers returns the sum of v^r.
func powers(values []float64, r float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += math.Pow(v, r)
	}
	return sum
}

// largest returns the largest eigenvalue.
func largest(t *mat.SymDense) float64 {
	e, err := Eigen(t)
	if err != nil {
		return math.NaN()
	}
	return e.Values[len(e.Values)-1]
}

// dot returns <A, B> of symmetric matrices.
func dot(a, b *mat.SymDense) float64 {
	sum := 0.0
	for i := range a.SymmetricDim() {
		for j := range a.SymmetricDim() {
			sum += a.At(i, j) * b.At(i, j)
		}
	}
	return sum
}

// identity returns c I.
func identity(m int, c float64) *mat.SymDense {
	a := mat.NewSymDense(m, nil)
	for i := range m {
		a.SetSym(i, i, c)
	}
	return a
}
