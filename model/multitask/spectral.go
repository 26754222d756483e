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

// spectralCurve returns the derivative of Omega^-1 along a change of S. In the
// basis of the eigenvectors an entry off the diagonal changes by a divided
// difference times that of S, and the diagonal by the derivatives of the
// eigenvalues, which are numerical: exact enough for Newton's method, and
// they need nothing but the model's spectrum.
func spectralCurve(model spectral, s *Spectrum, mu []float64, p Params) func(*mat.Dense) *mat.Dense {
	const h = 1e-5
	m := len(mu)
	slope, diagonal := mat.NewDense(m, m, nil), mat.NewDense(m, m, nil)
	up, down, moved := make([]float64, m), make([]float64, m), slices.Clone(s.Values)
	for j, v := range s.Values {
		if v == 0 {
			continue
		}
		moved[j] = v * (1 + h)
		model.spectrum(up, moved, p)
		moved[j] = v * (1 - h)
		model.spectrum(down, moved, p)
		moved[j] = v
		for i := range m {
			diagonal.Set(i, j, (1/up[i]-1/down[i])/(2*h*v))
		}
	}
	for i := range m {
		for j := range m {
			if gap := s.Values[i] - s.Values[j]; math.Abs(gap) > 1e-6*s.Values[max(i, j)] {
				slope.Set(i, j, (1/mu[i]-1/mu[j])/gap)
			} else {
				slope.Set(i, j, diagonal.At(i, i)-diagonal.At(i, j))
			}
		}
	}
	u := s.Vectors
	return func(ds *mat.Dense) *mat.Dense {
		change := triple(u.T(), ds, u)
		dp := mat.NewDense(m, m, nil)
		for i := range m {
			for j := range m {
				if i != j {
					dp.Set(i, j, slope.At(i, j)*change.At(i, j))
					continue
				}
				for k := range m {
					dp.Set(i, i, dp.At(i, i)+diagonal.At(i, k)*change.At(k, k))
				}
			}
		}
		return triple(u, dp, u.T())
	}
}
