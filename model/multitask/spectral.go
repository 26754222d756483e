package multitask

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// spectral is a Model whose g depends on the eigenvalues of Omega alone. Its
// Omega then has the eigenvectors of S.
type spectral interface {
	Model
	// spectrum sets mu to the eigenvalues of Omega that minimise
	//	Lambda1/2 sum of s/(mu + c) + Lambda2 g(mu)
	// for the ascending eigenvalues s of S.
	spectrum(mu, s []float64, c float64, p Params)
	// value is g of the ascending eigenvalues of Omega.
	value(mu []float64, p Params) float64
	// support is Support of the ascending eigenvalues of T.
	support(t []float64, p Params) float64
}

// spectralStep is the Omega step of every spectral model.
func spectralStep(model spectral, s *mat.SymDense, p Params, h Hint) (*Covariance, error) {
	e, err := Eigen(s)
	if err != nil {
		return nil, err
	}
	clip(e.Values)
	mu := make([]float64, len(e.Values))
	model.spectrum(mu, e.Values, h.Shift, p)
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
	values, _, err := leading(omega)
	if err != nil {
		return slices.Repeat([]float64{math.NaN()}, omega.SymmetricDim())
	}
	for i, v := range values {
		if v <= rankTolerance*values[len(values)-1] {
			values[i] = 0
		}
	}
	return values
}

// rankTolerance is the eigenvalue of Omega, relative to the largest, that
// counts as zero.
const rankTolerance = 1e-12
