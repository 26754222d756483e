package multitask

// Regularised multitask learning: tasks pull each other's weights together.
//
//	sum of losses + Lambda1/2 tr(W (L + eps I) W')
//
//	g(Omega)    0 at (L + eps I)^-1, +Inf elsewhere
//	Omega step  (L + eps I)^-1
//	source      Evgeniou, Pontil, "Regularized multi-task learning", KDD 2004
//
// L is the Laplacian of tasks that are all equally similar, m I - 11', so that
// tr(W L W') = 1/2 sum_ij ||w_i - w_j||^2. L has no inverse; eps > 0, a
// hyperparameter, stands for how much a task may differ from the rest.

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

func init() { Register(rmtl{}) }

type rmtl struct{}

func (rmtl) Info() Info {
	return Info{
		Name: "rmtl", Title: "RMTL", Source: "Evgeniou and Pontil 2004",
		Ranges: []Range{lambda1Range, {Name: "eps", Default: 0.1, Low: 1e-2, High: 10, Log: true}},
	}
}

func (rmtl) Step(s *mat.SymDense, _ int, p Params) (*Covariance, error) {
	m := s.SymmetricDim()
	return invert(alike(m, float64(m-1)+p.Get("eps"), -1))
}

func (r rmtl) G(c *Covariance, d int, p Params) float64 {
	step, err := r.Step(c.Omega, d, p)
	if err != nil {
		return math.NaN()
	}
	return only(c.Omega, step.Omega)
}

func (r rmtl) Support(t *mat.SymDense, _ *Covariance, p Params) float64 {
	step, err := r.Step(t, 0, p)
	if err != nil {
		return math.NaN()
	}
	return dot(t, step.Omega)
}

// held is (L + eps I)^-1 written out.
func (rmtl) held(m int, p Params) *mat.SymDense {
	eps := p.Get("eps")
	own := 1 / (float64(m) + eps)
	return alike(m, own+own/eps, own/eps)
}

// alike has one number on the diagonal and one beside it.
func alike(m int, diagonal, beside float64) *mat.SymDense {
	a := identity(m, diagonal)
	for i := range m {
		for j := range i {
			a.SetSym(i, j, beside)
		}
	}
	return a
}

// invert returns the covariance of a positive definite precision.
func invert(precision *mat.SymDense) (*Covariance, error) {
	e, err := Eigen(precision)
	if err != nil {
		return nil, err
	}
	values := make([]float64, len(e.Values))
	for i, v := range e.Values {
		values[i] = 1 / v
	}
	return &Covariance{Omega: e.Rebuild(values), Precision: precision}, nil
}
