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
	// value is g of the ascending eigenvalues of Omega.
	value(mu []float64, p Params) float64
	// support is Support of the ascending eigenvalues of T.
	support(t []float64, p Params) float64
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
	values, err := Eigenvalues(omega)
	if err != nil {
		return slices.Repeat([]float64{math.NaN()}, omega.SymmetricDim())
	}
	for i, v := range values {
		if v <= 1e-12*values[len(values)-1] {
			values[i] = 0
		}
	}
	return values
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
	values, err := Eigenvalues(t)
	if err != nil {
		return math.NaN()
	}
	return values[len(values)-1]
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

// spectralCurve returns the derivative of Omega^-1 along a change of S, in the
// coordinates of Z, from the given eigenvalue on. There an entry off the diagonal changes by a divided
// difference times that of S, and the diagonal by the derivatives of the
// eigenvalues, which are numerical: exact enough for Newton's method, and
// they need nothing but the model's spectrum.
func spectralCurve(model spectral, s, mu []float64, first int, p Params) func(*mat.Dense) *mat.Dense {
	slope, diagonal := inverseSlopes(model, s, mu, first, p)
	mu = mu[first:]
	for i, u := range mu {
		for j, v := range mu {
			slope.Set(i, j, u*v*slope.At(i, j))
			diagonal.Set(i, j, u*v*diagonal.At(i, j))
		}
	}
	return func(dc *mat.Dense) *mat.Dense {
		dp := mat.NewDense(len(mu), len(mu), nil)
		dp.MulElem(slope, dc)
		for i := range mu {
			sum := 0.0
			for k := range mu {
				sum += diagonal.At(i, k) * dc.At(k, k)
			}
			dp.Set(i, i, sum)
		}
		return dp
	}
}

// inverseSlopes returns how the inverses of the eigenvalues mu of Omega follow
// those of S, from the given one on: divided differences, and derivatives.
func inverseSlopes(model spectral, s, mu []float64, first int, p Params) (slope, diagonal *mat.Dense) {
	const h = 1e-5
	k := len(mu) - first
	slope, diagonal = mat.NewDense(k, k, nil), mat.NewDense(k, k, nil)
	up, down, moved := make([]float64, len(mu)), make([]float64, len(mu)), slices.Clone(s)
	for j := range k {
		v := s[first+j]
		if v == 0 {
			continue
		}
		moved[first+j] = v * (1 + h)
		model.spectrum(up, moved, p)
		moved[first+j] = v * (1 - h)
		model.spectrum(down, moved, p)
		moved[first+j] = v
		for i := range k {
			diagonal.Set(i, j, (1/up[first+i]-1/down[first+i])/(2*h*v))
		}
	}
	for i := range k {
		for j := range k {
			if gap := s[first+i] - s[first+j]; math.Abs(gap) > 1e-6*s[first+max(i, j)] {
				slope.Set(i, j, (1/mu[first+i]-1/mu[first+j])/gap)
			} else {
				slope.Set(i, j, diagonal.At(i, i)-diagonal.At(i, j))
			}
		}
	}
	return slope, diagonal
}
