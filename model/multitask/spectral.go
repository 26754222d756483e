package multitask

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/layers/linalg"
)

// spectral is a model whose g depends on the eigenvalues of Omega alone. Its Omega then has
// the eigenvectors of S.
type spectral struct {
	info Info
	// spectrum sets mu to the eigenvalues of Omega that minimise
	//	Lambda1/2 sum of s/(mu + c) + Lambda2 g(mu)
	// for the ascending eigenvalues s of S.
	spectrum func(mu, s []float64, c float64, p Params)
	// value is g of the ascending eigenvalues of Omega.
	value func(mu []float64, p Params) float64
	// support is Support of the ascending eigenvalues of T.
	support func(t []float64, p Params) float64
	// check refuses hyperparameters, if they need more than their ranges.
	check func(p Params) error
}

func (k spectral) Info() Info {
	return k.info
}

func (k spectral) G(c *Covariance, _ int, p Params) float64 {
	return k.value(eigenvalues(c.Omega), p)
}

func (k spectral) Support(t *mat.SymDense, _ *Covariance, p Params) float64 {
	return k.support(eigenvalues(t), p)
}

func (k spectral) Step(s *mat.SymDense, _ int, p Params, h Hint) (*Covariance, error) {
	e, err := decomposed(s, 1e-15*float64(s.SymmetricDim()))
	if err != nil {
		return nil, err
	}
	mu := make([]float64, len(e.Values))
	k.spectrum(mu, e.Values, h.Shift, p)
	return &Covariance{Omega: e.Rebuild(mu)}, nil
}

// bisected returns the positive x from low to high from which on a condition holds.
func bisected(low, high float64, holds func(x float64) bool) float64 {
	for range 64 {
		middle := math.Sqrt(low) * math.Sqrt(high)
		if holds(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// decomposed is the eigendecomposition of a matrix, with zero for eigenvalues that are small beside the
// largest. In S they are rounding errors, and a small power of them would not be small.
func decomposed(a *mat.SymDense, small float64) (*linalg.Spectrum, error) {
	e, err := linalg.Eigen(a)
	if err != nil {
		return nil, err
	}
	limit := small * floats.Max(e.Values)
	for i, v := range e.Values {
		if v <= limit {
			e.Values[i] = 0
		}
	}
	return e, nil
}

// eigenvalues returns the eigenvalues of Omega, with zero for any below 1e-12 of the
// largest.
func eigenvalues(omega *mat.SymDense) []float64 {
	e, err := decomposed(omega, rankTolerance)
	if err != nil {
		return slices.Repeat([]float64{math.NaN()}, omega.SymmetricDim())
	}
	return e.Values
}

// rankTolerance is the eigenvalue of Omega, relative to the largest, that
// counts as zero.
const rankTolerance = 1e-12
