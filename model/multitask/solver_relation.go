package multitask

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// relation is the Omega step at one W, in the form in which the solver uses it.
type relation struct {
	// rest computes all but value and s, where they are not known yet.
	rest func() error
	// value is Lambda1/2 tr(S Omega^-1) + Lambda2 g(Omega) with the floor in S.
	value float64
	// cov is the covariance, nil for spectral models, which do with omega alone.
	cov   *Covariance
	omega *Spectrum
	s     []float64 // the eigenvalues of S; those of omega belong to the last
	// root is Q (m x k) with Omega = Q Q', and inverse its pseudo-inverse.
	root, inverse *mat.Dense
	plus          *mat.SymDense // the inverse of Omega, where traceInverse has made it
	// curve returns how the inverse of Omega follows S: its derivative along a
	// change of S, both in the coordinates of Z, where Omega is the identity. It
	// is nil, or returns nil, where that is not known.
	curve func() func(dc *mat.Dense) *mat.Dense
	// center is the step on the central path of SPATS, nil in other models.
	center *center
}

// refiner is a Model whose step iterates. Fits give it a start and say how
// close to the minimum is close enough.
type refiner interface {
	Model
	// refine is Step with a hint.
	refine(s *mat.SymDense, d int, p Params, h hint) (*Covariance, error)
}

// hint is what an Omega step may make use of. The zero value asks for a step
// as close as rounding errors allow.
type hint struct {
	// from is the step at a nearby S, nil where there is none.
	from *Covariance
	// last is the relation at a nearby S, nil where there is none.
	last *relation
	// enough is the distance to the minimum at which to stop.
	enough float64
}

// step is the Omega step of a model, with the hint if it takes any.
func step(model Model, s *mat.SymDense, d int, p Params, h hint) (*Covariance, error) {
	if r, ok := model.(refiner); ok {
		return r.refine(s, d, p, h)
	}
	return model.Step(s, d, p)
}

// lifted returns S + floor I.
func lifted(s *mat.SymDense, floor float64) *mat.SymDense {
	if floor == 0 {
		return s
	}
	t := mat.NewSymDense(s.SymmetricDim(), nil)
	t.CopySym(s)
	for i := range t.SymmetricDim() {
		t.SetSym(i, i, t.At(i, i)+floor)
	}
	return t
}

// relate computes the Omega step at S.
func relate(model Model, s *mat.SymDense, d int, p Params, h hint) (*relation, error) {
	if sp, ok := model.(spectral); ok {
		rel, err := relateSpectrum(sp, s, s.SymmetricDim(), 0, p)
		if err != nil {
			return nil, err
		}
		return rel, rel.open()
	}
	c, err := step(model, s, d, p, h)
	if err != nil {
		return nil, err
	}
	return relateTo(model, c, s, d, p, h.last)
}

// relateTo is relate for a covariance that is known. The last relation has the
// roots already where the model holds its covariance.
func relateTo(model Model, c *Covariance, s *mat.SymDense, d int, p Params, last *relation) (*relation, error) {
	rel := &relation{cov: c}
	if last.holds(c.Omega) {
		rel.omega, rel.root, rel.inverse, rel.plus = last.omega, last.root, last.inverse, last.plus
	} else {
		e, err := Eigen(c.Omega)
		if err != nil {
			return nil, err
		}
		rel.omega = e
		rel.root, rel.inverse = roots(e)
	}
	rel.value = p.Lambda1 / 2 * rel.traceInverse(s)
	if g := model.G(c, d, p); g != 0 {
		rel.value += p.Lambda2 * g
	}
	if k, m := rel.inverse.Dims(); k == m {
		if model, ok := model.(curved); ok {
			rel.curve = func() func(*mat.Dense) *mat.Dense {
				follow := model.curve(c, s, d, p)
				if follow == nil {
					return nil
				}
				return func(dc *mat.Dense) *mat.Dense {
					return triple(rel.root.T(), follow(triple(rel.root, dc, rel.root.T())), rel.root)
				}
			}
		}
	}
	return rel, nil
}

// wellConditioned is the share of the largest eigenvalue from which on an inverse is
// so exact that its rounding errors are those of fits.
const wellConditioned = 1e-6

// traceInverse returns tr(S Omega^-1). Of many tasks the inverse of a covariance that
// is held is made once.
func (r *relation) traceInverse(s *mat.SymDense) float64 {
	if r.cov.Precision != nil {
		return dot(s, r.cov.Precision)
	}
	m := s.SymmetricDim()
	if m < several || r.omega.Values[0] < wellConditioned*r.omega.Values[m-1] {
		return traceInverse(s, r.omega)
	}
	if r.plus == nil {
		r.plus = symmetrised(times(r.inverse.T(), r.inverse), 1)
	}
	return dot(s, r.plus)
}

// holds reports whether a relation, which may be nil, is that of a given covariance.
func (r *relation) holds(omega *mat.SymDense) bool {
	return r != nil && r.cov != nil && r.omega != nil && mat.Equal(r.cov.Omega, omega)
}

// covariance returns the covariance itself.
func (r *relation) covariance() *Covariance {
	if r.cov == nil {
		return &Covariance{Omega: r.omega.Rebuild(r.omega.Values)}
	}
	return r.cov
}

// roots returns Q and its pseudo-inverse, leaving out eigenvalues that count
// as zero.
func roots(omega *Spectrum) (root, inverse *mat.Dense) {
	m := len(omega.Values)
	first := firstOfRange(omega)
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
// decomposition of its own. S may be smaller than m x m: its other eigenvalues are
// zero. The floor is added to all of them. Only the value is known at first.
func relateSpectrum(model spectral, s *mat.SymDense, m int, floor float64, p Params) (*relation, error) {
	e, err := &Spectrum{}, error(nil)
	if s.SymmetricDim() < wide {
		e, err = Eigen(s)
	} else {
		e.Values, err = Eigenvalues(s)
	}
	if err != nil {
		return nil, err
	}
	first := m - len(e.Values)
	clip(e.Values)
	all, mu := append(make([]float64, first), e.Values...), make([]float64, m)
	floats.AddConst(floor, all)
	model.spectrum(mu, all, p)
	rel := &relation{s: all}
	for k, v := range all {
		if mu[k] > 0 {
			rel.value += p.Lambda1 / 2 * v / mu[k]
		}
	}
	if g := model.value(mu, p); g != 0 {
		rel.value += p.Lambda2 * g
	}
	rel.rest = func() error {
		if e.Vectors == nil {
			var err error
			if e, err = Eigen(s); err != nil {
				return err
			}
		}
		rel.omega = &Spectrum{Values: mu[first:], Vectors: e.Vectors}
		rel.root, rel.inverse = roots(rel.omega)
		if _, k := rel.root.Dims(); k == len(e.Values) {
			rel.curve = func() func(*mat.Dense) *mat.Dense { return spectralCurve(model, all, mu, first, p) }
		}
		return nil
	}
	return rel, nil
}

// open computes what is beyond the value, which is all that a step that is too long
// tells, and takes four times as long.
func (r *relation) open() error {
	if r.rest == nil {
		return nil
	}
	rest := r.rest
	r.rest = nil
	return rest()
}
