package multitask

// Sparse task relations: Omega itself is sparse.
//
//	sum of losses + Lambda1/2 tr(W Omega^-1 W') + Lambda2 ||Omega||_1
//	  subject to tr(Omega) = 1
//
//	g(Omega)    ||Omega||_1 over all entries where tr(Omega) = 1, else +Inf
//	Omega step  projected Newton on the dual of the step, see sparse.go
//	source      Zhang, Yang, "Learning sparse task relations in multi-task
//	            learning", AAAI 2017
//
// Without the constraint, as the paper has it, the step always gives
//
//	Omega = sqrt(Lambda1/(2 Lambda2)) diag(||w_1||, ..., ||w_m||)
//
// and the tasks share nothing; that is "spats-literal". Both are convex.

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

func init() {
	Register(spats{})
	Register(spatsLiteral{})
}

type spats struct{}

func (spats) Info() Info {
	return Info{
		Name: "spats", Title: "SPATS", Source: "Zhang and Yang 2017, with tr(Omega) = 1", Singular: true,
		Ranges: []Range{lambda1Range, {Name: Lambda2, Default: 1e-2, Low: 1e-3, High: 1, Log: true}},
	}
}

func (spats) G(c *Covariance, _ int, _ Params) float64 {
	e, err := Eigen(c.Omega)
	if err != nil {
		return math.NaN()
	}
	if math.Abs(mat.Trace(c.Omega)-1) > feasible || e.Values[0] < -feasible {
		return math.Inf(1)
	}
	return norm1(c.Omega)
}

func (spats) Step(s *mat.SymDense, _ int, p Params) (*Covariance, error) {
	return sparseStep(s, p.Lambda1, p.Lambda2)
}

// Support bounds max <T, Omega> - Lambda2 ||Omega||_1 by the largest eigenvalue
// of T with its entries off the diagonal shrunk by Lambda2, less Lambda2.
// The bound is attained at the optimum of a fit.
func (spats) Support(t *mat.SymDense, p Params) float64 {
	m := t.SymmetricDim()
	shrunk := mat.NewSymDense(m, nil)
	for i := range m {
		shrunk.SetSym(i, i, t.At(i, i))
		for j := range i {
			shrunk.SetSym(i, j, soft(t.At(i, j), p.Lambda2))
		}
	}
	return largest(shrunk) - p.Lambda2
}

type spatsLiteral struct{}

func (spatsLiteral) Info() Info {
	return Info{
		Name: "spats-literal", Title: "SPATS (literal)", Source: "Zhang and Yang 2017", Singular: true,
		Ranges: []Range{lambda1Range, {Name: Lambda2, Default: 1e-2, Low: 1e-2, High: 1e-2, Log: true}},
	}
}

func (spatsLiteral) G(c *Covariance, _ int, _ Params) float64 { return norm1(c.Omega) }

func (spatsLiteral) Step(s *mat.SymDense, _ int, p Params) (*Covariance, error) {
	m := s.SymmetricDim()
	omega := mat.NewSymDense(m, nil)
	for i := range m {
		omega.SetSym(i, i, math.Sqrt(p.Lambda1/(2*p.Lambda2)*s.At(i, i)))
	}
	return &Covariance{Omega: omega}, nil
}

// Support is 0 or +Inf: no entry of T is larger than its largest on the diagonal.
func (spatsLiteral) Support(t *mat.SymDense, p Params) float64 {
	for i := range t.SymmetricDim() {
		if t.At(i, i) > p.Lambda2 {
			return math.Inf(1)
		}
	}
	return 0
}
