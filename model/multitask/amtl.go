package multitask

// Asymmetric multitask learning: every task is a sparse combination of the
// others.
//
//	sum of losses + Lambda1/2 (||W - W A||^2 + floor ||W||^2) + Lambda2 ||A||_1
//
//	g(Omega)    ||A||_1 where Omega^-1 = (I - A)(I - A)' + floor I. Omega does
//	            not determine A, so A is the unknown
//	Omega step  a lasso for every column of A
//	source      Lee, Yang, Hwang, "Asymmetric multi-task learning based on task
//	            relatedness and loss", ICML 2016, as Zhang, Wei, Yang modify it
//
// "amtl" keeps the diagonal of A at zero as the original work does;
// "amtl-literal" frees it, as the paper writes it, which lets A approach I. The
// floor, a hyperparameter, bounds Omega where tasks are combinations of
// others exactly. The problem is not convex.

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

func init() {
	Register(amtl{name: "amtl", title: "AMTL"})
	Register(amtl{name: "amtl-literal", title: "AMTL (literal)", free: true})
}

type amtl struct {
	name, title string
	free        bool // the diagonal of A is free
}

func (a amtl) Info() Info {
	return Info{
		Name: a.name, Title: a.title, Source: "Lee, Yang and Hwang 2016",
		Ranges: []Range{
			lambda1Range,
			{Name: Lambda2, Default: 1e-2, Low: 1e-4, High: 1, Log: true},
			{Name: "floor", Default: 1e-3, Low: 1e-3, High: 1e-3, Log: true},
		},
	}
}

// G needs the A that the covariance comes from.
func (a amtl) G(c *Covariance, _ int, _ Params) float64 {
	if c.A == nil {
		return math.NaN()
	}
	return norm1(c.A)
}

func (a amtl) Step(s *mat.SymDense, _ int, p Params) (*Covariance, error) {
	m := s.SymmetricDim()
	combine := mat.NewDense(m, m, nil)
	gap := 0.0
	for j := range m {
		column := make([]float64, m)
		gap += a.lasso(column, s, j, p)
		combine.SetCol(j, column)
	}
	var rest mat.Dense
	rest.Sub(identity(m, 1), combine)
	precision := mat.NewSymDense(m, nil)
	precision.SymOuterK(1, &rest)
	for i := range m {
		precision.SetSym(i, i, precision.At(i, i)+p.Get("floor"))
	}
	c, err := invert(precision)
	if err != nil {
		return nil, err
	}
	c.A, c.Gap = combine, gap
	return c, nil
}

// lasso minimises Lambda1/2 ||w_j - W a||^2 + Lambda2 ||a||_1 by coordinate
// descent, and returns the gap to the dual.
func (a amtl) lasso(column []float64, s *mat.SymDense, j int, p Params) (gap float64) {
	const passes = 10000
	m := len(column)
	rest := make([]float64, m) // W'(w_j - W a)
	for i := range m {
		rest[i] = s.At(i, j)
	}
	threshold := p.Lambda2 / p.Lambda1
	for pass := range passes {
		for i := range m {
			if s.At(i, i) == 0 || i == j && !a.free {
				continue
			}
			old := column[i]
			column[i] = soft(rest[i]/s.At(i, i)+old, threshold/s.At(i, i))
			if change := column[i] - old; change != 0 {
				for k := range m {
					rest[k] -= change * s.At(k, i)
				}
			}
		}
		if pass%10 == 0 {
			var value float64
			if value, gap = a.gap(column, rest, s, j, p); gap <= 1e-15*value {
				break
			}
		}
	}
	_, gap = a.gap(column, rest, s, j, p)
	return math.Max(gap, 0)
}

// gap returns the value of the lasso and how far it is above the dual at the
// residual, scaled into the dual's domain.
func (a amtl) gap(column, rest []float64, s *mat.SymDense, j int, p Params) (value, gap float64) {
	l1, l2 := p.Lambda1, p.Lambda2
	top, norm := 0.0, 0.0
	cross, square := s.At(j, j), s.At(j, j) // <w_j, residual>, ||residual||^2
	for i, v := range column {
		if i != j || a.free {
			top = max(top, l1*math.Abs(rest[i]))
		}
		norm += math.Abs(v)
		cross -= s.At(i, j) * v
		square -= v * (s.At(i, j) + rest[i])
	}
	square = max(square, 0)
	c := 1.0
	if top > l2 {
		c = l2 / top
	}
	value = l1/2*square + l2*norm
	return value, value - c*l1*(cross-c/2*square)
}
