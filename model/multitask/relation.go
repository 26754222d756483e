package multitask

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// relation is the Omega step at one W, in the form in which the solver uses it.
type relation struct {
	// value is Lambda1/2 tr(S Omega^-1) + Lambda2 g(Omega) with the floor in S.
	value float64
	// root is Q (m x k) with Omega = Q Q', and inverse its pseudo-inverse.
	root, inverse *mat.Dense
	// curve is how the inverse of Omega follows S, nil if that is not known.
	curve *curvature
}

// curvature is the derivative of Omega^-1 with respect to S for a spectral
// model, in the basis of the eigenvectors: off the diagonal entry (i, j)
// changes by slope(i, j) times that of S, and the diagonal by slope's
// companion times the diagonal of S.
type curvature struct {
	vectors  *mat.Dense // eigenvectors in the rows
	slope    *mat.Dense
	diagonal *mat.Dense
}

// relate computes the Omega step at S = W'W + floor I.
func relate(model Model, s *mat.SymDense, d int, floor float64, p Params) (*relation, error) {
	m := s.SymmetricDim()
	if floor > 0 {
		t := mat.NewSymDense(m, nil)
		t.CopySym(s)
		for i := range m {
			t.SetSym(i, i, t.At(i, i)+floor)
		}
		s = t
	}
	if sp, ok := model.(spectral); ok {
		return relateSpectrum(sp, s, d, p)
	}
	c, err := model.Step(s, d, p)
	if err != nil {
		return nil, err
	}
	e, err := Eigen(c.Omega)
	if err != nil {
		return nil, err
	}
	rel := &relation{}
	if c.Precision != nil {
		rel.value = p.Lambda1 / 2 * dot(s, c.Precision)
	} else {
		rel.value = p.Lambda1 / 2 * traceInverse(s, e)
	}
	if g := model.G(c, d, p); g != 0 {
		rel.value += p.Lambda2 * g
	}
	rel.root, rel.inverse = roots(e)
	return rel, nil
}

// roots returns Q and its pseudo-inverse, leaving out eigenvalues that count
// as zero.
func roots(omega *Spectrum) (root, inverse *mat.Dense) {
	m := len(omega.Values)
	first := 0
	for omega.Values[first] <= rankTolerance*omega.Values[m-1] && first < m-1 {
		first++
	}
	root, inverse = mat.NewDense(m, m-first, nil), mat.NewDense(m-first, m, nil)
	for k := first; k < m; k++ {
		q := math.Sqrt(omega.Values[k])
		for i := range m {
			root.Set(i, k-first, omega.Vectors.At(i, k)*q)
			inverse.Set(k-first, i, omega.Vectors.At(i, k)/q)
		}
	}
	return root, inverse
}

// relateSpectrum is relate for a spectral model, whose Omega needs no
// decomposition of its own.
func relateSpectrum(model spectral, s *mat.SymDense, d int, p Params) (*relation, error) {
	e, err := Eigen(s)
	if err != nil {
		return nil, err
	}
	clip(e.Values)
	m := len(e.Values)
	mu := make([]float64, m)
	model.spectrum(mu, e.Values, p)
	rel := &relation{}
	omega := &Spectrum{Values: mu, Vectors: e.Vectors}
	for k, v := range e.Values {
		if mu[k] > 0 {
			rel.value += p.Lambda1 / 2 * v / mu[k]
		}
	}
	if g := gOfSpectrum(model, mu, d, p); g != 0 {
		rel.value += p.Lambda2 * g
	}
	rel.root, rel.inverse = roots(omega)
	if _, k := rel.root.Dims(); k == m {
		rel.curve = curve(model, e, mu, p)
	}
	return rel, nil
}

// gOfSpectrum evaluates g at a diagonal Omega, which is as good as any with
// the same eigenvalues.
func gOfSpectrum(model Model, mu []float64, d int, p Params) float64 {
	omega := mat.NewSymDense(len(mu), nil)
	for i, v := range mu {
		omega.SetSym(i, i, v)
	}
	return model.G(&Covariance{Omega: omega}, d, p)
}

// curve differentiates the eigenvalues of Omega^-1 numerically, which is exact
// enough for Newton's method and needs nothing but the model's spectrum.
func curve(model spectral, s *Spectrum, mu []float64, p Params) *curvature {
	const h = 1e-5
	m := len(mu)
	c := &curvature{vectors: mat.DenseCopyOf(s.Vectors.T()), slope: mat.NewDense(m, m, nil), diagonal: mat.NewDense(m, m, nil)}
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
			c.diagonal.Set(i, j, (1/up[i]-1/down[i])/(2*h*v))
		}
	}
	for i := range m {
		for j := range m {
			if gap := s.Values[i] - s.Values[j]; math.Abs(gap) > 1e-6*s.Values[max(i, j)] {
				c.slope.Set(i, j, (1/mu[i]-1/mu[j])/gap)
			} else {
				c.slope.Set(i, j, c.diagonal.At(i, i)-c.diagonal.At(i, j))
			}
		}
	}
	return c
}
