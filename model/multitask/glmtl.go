package multitask

// Multitask learning with the graphical lasso: the inverse of Omega is sparse.
//
//	sum of losses + Lambda1/2 tr(W Omega^-1 W')
//	  + Lambda1 d/2 ln|Omega| + Lambda2 ||Omega^-1||_1
//
//	g(Omega)    Lambda1 d/(2 Lambda2) ln|Omega| + ||Omega^-1||_1, the norm over
//	            all entries, the diagonal too: without it the step is unbounded
//	Omega step  the graphical lasso of W'W/d with penalty 2 Lambda2/(Lambda1 d)
//	source      Zhang, Schneider, "Learning multiple tasks with a sparse
//	            matrix-normal penalty", NIPS 2010; Rai, Kumar, Daume, NIPS 2012
//
// The problem is not convex in Omega, but the step is convex in Omega^-1. A fit
// may end in a local minimum: on small problems, up to 2 % above the best of
// several starts.

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

func init() { Register(glmtl{}) }

type glmtl struct{}

func (glmtl) Info() Info {
	return Info{
		Name: "glmtl", Title: "glMTL", Source: "Zhang and Schneider 2010; Rai, Kumar and Daume 2012", MostTasks: 32,
		Ranges: []Range{lambda1Range, {Name: Lambda2, Default: 1e-3, Low: 1e-5, High: 1e-1, Log: true}},
	}
}

func (glmtl) G(c *Covariance, d int, p Params) float64 {
	precision := c.Precision
	e, err := Eigen(c.Omega)
	if err != nil {
		return math.NaN()
	}
	if e.Values[0] <= 0 {
		return math.Inf(1)
	}
	logDet := 0.0
	inverse := make([]float64, len(e.Values))
	for i, v := range e.Values {
		logDet += math.Log(v)
		inverse[i] = 1 / v
	}
	if precision == nil {
		precision = e.Rebuild(inverse)
	}
	return p.Lambda1*float64(d)/(2*p.Lambda2)*logDet + norm1(precision)
}

func (glmtl) Step(s *mat.SymDense, d int, p Params, h Hint) (*Covariance, error) {
	var scaled mat.SymDense
	scaled.ScaleSym(1/float64(d), s)
	unit := p.Lambda1 * float64(d) / 2
	h.Enough /= unit
	omega, precision, gap, err := graphicalLasso(&scaled, 2*p.Lambda2/(p.Lambda1*float64(d)), h)
	if err != nil {
		return nil, err
	}
	return &Covariance{Omega: omega, Precision: precision, Gap: unit * gap}, nil
}

// graphicalLasso minimises tr(C P) - ln|P| + alpha ||P||_1 over positive
// definite P and returns P^-1, P and a bound on the distance to the minimum.
//
// It maximises the dual ln|Omega| + m over |Omega - C| <= alpha, whose diagonal
// is C + alpha whatever C is, so that a start within the domain is at hand. A
// unit diagonal of Omega, by scaling the tasks, makes it indifferent to scale.
func graphicalLasso(c *mat.SymDense, alpha float64, h Hint) (omega, precision *mat.SymDense, gap float64, err error) {
	if err := checkFinite(c); err != nil {
		return nil, nil, 0, err
	}
	const iterations = 200
	m := c.SymmetricDim()
	size := make([]float64, m)
	for i := range m {
		size[i] = math.Sqrt(c.At(i, i) + alpha)
	}
	q := mat.NewSymDense(m, nil) // C + alpha I, scaled
	for i := range m {
		for j := range i {
			q.SetSym(i, j, c.At(i, j)/size[i]/size[j])
		}
		q.SetSym(i, i, 1)
	}
	bound := func(i, j int) float64 { return alpha / size[i] / size[j] }
	dual := &boxed{q: q, bound: bound}
	start := mat.NewSymDense(m, nil)
	if h.From != nil {
		for i := range m {
			for j := range i {
				b := bound(i, j)
				start.SetSym(i, j, min(max(h.From.Omega.At(i, j)/size[i]/size[j]-q.At(i, j), -b), b))
			}
		}
	}
	for ridge := 0.0; !dual.moveTo(start); ridge = max(10*ridge, 1e-16) {
		// Where alpha is next to nothing, rounding errors may hide it.
		for i := range m {
			q.SetSym(i, i, 1+ridge)
		}
		start.Zero()
	}
	gap = math.Inf(1)
	for range iterations {
		// The gradient is P = Omega^-1.
		p := dual.p
		g := dot(q, p) - float64(m)
		for i := range m {
			for j := range m {
				if i != j {
					g += bound(i, j) * math.Abs(p.At(i, j))
				}
			}
		}
		if g < gap {
			gap, omega, precision = g, dual.omega, p
		}
		if gap <= max(1e-14*float64(m), h.Enough) {
			break
		}
		if !dual.advance() {
			break
		}
	}
	for i := range m {
		for j := range i + 1 {
			omega.SetSym(i, j, omega.At(i, j)*size[i]*size[j])
			precision.SetSym(i, j, precision.At(i, j)/size[i]/size[j])
		}
	}
	return omega, precision, math.Max(gap, 0), nil
}
