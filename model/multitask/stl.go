package multitask

// Single-task learning: every task on its own.
//
//	sum of losses + Lambda1/2 tr(W Omega^-1 W'), Omega = I/m
//
//	g(Omega)    0 at I/m, +Inf elsewhere
//	Omega step  I/m
//	source      Zhang, Wei, Yang, "Learning to Multitask", section 4
//
// With trace 1 like the other covariances the ridge penalty of a task is
// Lambda1 m/2 ||w_i||^2.

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

func init() { Register(stl{}) }

type stl struct{}

func (stl) Info() Info {
	return Info{Name: "stl", Title: "STL", Source: "single-task learning", Ranges: []Range{lambda1Range}}
}

func (stl) Step(s *mat.SymDense, _ int, _ Params) (*Covariance, error) {
	m := s.SymmetricDim()
	return &Covariance{Omega: Uniform(m), Precision: identity(m, float64(m))}, nil
}

func (stl) G(c *Covariance, _ int, _ Params) float64 {
	m := c.Omega.SymmetricDim()
	return only(c.Omega, Uniform(m))
}

func (stl) Support(t *mat.SymDense, _ *Covariance, _ Params) float64 {
	return mat.Trace(t) / float64(t.SymmetricDim())
}

func (stl) held(m int, _ Params) *mat.SymDense { return Uniform(m) }

// Uniform is I/m, the covariance of trace 1 that shares nothing.
func Uniform(m int) *mat.SymDense { return identity(m, 1/float64(m)) }

// only is 0 at the one covariance that a model allows and +Inf elsewhere.
func only(omega, allowed *mat.SymDense) float64 {
	scale := mat.Max(allowed)
	m := allowed.SymmetricDim()
	for i := range m {
		for j := i; j < m; j++ {
			if !(math.Abs(omega.At(i, j)-allowed.At(i, j)) <= feasible*scale) {
				return math.Inf(1)
			}
		}
	}
	return 0
}

// fixed is the model of a given covariance.
type fixed struct{ omega *mat.SymDense }

func (f fixed) Info() Info {
	return Info{Name: "fixed", Title: "given covariance", Ranges: []Range{lambda1Range}}
}

func (f fixed) Step(*mat.SymDense, int, Params) (*Covariance, error) {
	return &Covariance{Omega: f.omega}, nil
}

func (f fixed) G(c *Covariance, _ int, _ Params) float64 { return only(c.Omega, f.omega) }

func (f fixed) held(int, Params) *mat.SymDense { return f.omega }

func (f fixed) Support(t *mat.SymDense, _ *Covariance, _ Params) float64 { return dot(t, f.omega) }

// Given is the model of a given Omega, divided by its trace.
func Given(omega *mat.SymDense) (Model, error) {
	if err := checkOmega(omega, omega.SymmetricDim()); err != nil {
		return nil, err
	}
	return fixed{Normalised(omega)}, nil
}
