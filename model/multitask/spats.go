package multitask

// Sparse task relations: Omega itself is sparse.
//
//	sum of losses + Lambda1/2 tr(W Omega^-1 W') + Lambda2 ||Omega||_1
//	  subject to tr(Omega) = 1
//
//	g(Omega)    ||Omega||_1 over all entries where tr(Omega) = 1, else +Inf
//	Omega step  an interior point method, see solver_center.go
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
		Name: "spats", Title: "SPATS", Source: "Zhang and Yang 2017, with tr(Omega) = 1", Singular: true, MostTasks: 20,
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

// Step follows the central path until its gap is at rounding level.
func (k spats) Step(s *mat.SymDense, _ int, p Params) (*Covariance, error) {
	m := s.SymmetricDim()
	x := k.start(m)
	c := mat.NewSymDense(m, nil)
	c.ScaleSym(float64(m), s)
	best := &Covariance{Gap: math.Inf(1)}
	mu := 0.1 * (p.Lambda1/2*mat.Trace(c) + p.Lambda2)
	for range 40 {
		var err error
		if x, err = x.at(c, mu, p); err != nil {
			return nil, err
		}
		c = mat.NewSymDense(m, nil)
		for i, v := range x.c {
			c.SetSym(i, i, v)
		}
		plain, _ := x.value()
		// By duality no Omega is better than 2 tr C less the support of T.
		t := symmetrised(triple(x.inverse.T(), c, x.inverse), p.Lambda1/2)
		cov := x.relation().cov
		cov.Gap = max(0, plain-p.Lambda1*mat.Trace(c)+k.Support(t, cov, p))
		if cov.Gap <= best.Gap {
			best = cov
		}
		if best.Gap <= 1e-10*plain {
			break
		}
		mu /= 10
	}
	return best, nil
}

func (spats) start(m int) *center { return newCenter(m) }

// Support bounds max <T, Omega> - Lambda2 ||Omega||_1 by the largest eigenvalue
// of T - U, less Lambda2: any U with zero diagonal and |U_ij| <= Lambda2 will do,
// and that of the step at the optimum attains the maximum.
func (spats) Support(t *mat.SymDense, c *Covariance, p Params) float64 {
	m := t.SymmetricDim()
	rest := mat.NewSymDense(m, nil)
	for i := range m {
		rest.SetSym(i, i, t.At(i, i))
		for j := range i {
			rest.SetSym(i, j, soft(t.At(i, j), p.Lambda2))
		}
	}
	bound := largest(rest)
	if c != nil && c.center != nil {
		rest.CopySym(t)
		addSym(rest, -1, c.center.multiplier)
		bound = min(bound, largest(rest))
	}
	return bound - p.Lambda2
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
func (spatsLiteral) Support(t *mat.SymDense, _ *Covariance, p Params) float64 {
	for i := range t.SymmetricDim() {
		if t.At(i, i) > p.Lambda2 {
			return math.Inf(1)
		}
	}
	return 0
}

func (spatsLiteral) domain(t *mat.SymDense, p Params) float64 {
	top := 0.0
	for i := range t.SymmetricDim() {
		top = max(top, t.At(i, i))
	}
	return p.Lambda2 / top
}

// curve differentiates the diagonal.
func (spatsLiteral) curve(c *Covariance, s *mat.SymDense, _ int, _ Params) func(*mat.Dense) *mat.Dense {
	m := s.SymmetricDim()
	return func(ds *mat.Dense) *mat.Dense {
		dp := mat.NewDense(m, m, nil)
		for i := range m {
			dp.Set(i, i, -ds.At(i, i)/(2*s.At(i, i)*c.Omega.At(i, i)))
		}
		return dp
	}
}
