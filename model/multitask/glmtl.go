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

	"l2mt/layers/linalg"
)

func init() {
	Register(glmtl{})
}

type glmtl struct{}

func (glmtl) Info() Info {
	return Info{
		Name: "glmtl", Title: "glMTL",
		Ranges: []Range{lambda1Range, {Lambda2, 1e-3, 1e-5, 1e-1}},
	}
}

func (glmtl) G(c *Covariance, d int, p Params) float64 {
	precision, logDet, err := inverted(c.Omega)
	if err != nil {
		return math.Inf(1)
	}
	return p.Lambda1*float64(d)/(2*p.Lambda2)*logDet + norm1(precision)
}

func (k glmtl) Step(s *mat.SymDense, d int, p Params, h Hint) (*Covariance, error) {
	var scaled mat.SymDense
	scaled.ScaleSym(1/float64(d), s)
	unit := p.Lambda1 * float64(d) / 2
	omega, gap, err := graphicalLasso(&scaled,
		2*p.Lambda2/(p.Lambda1*float64(d)), h.Enough/unit)
	if err != nil {
		return nil, err
	}
	return &Covariance{
		Omega: omega,
		Gap:   unit * gap,
	}, nil
}

// graphicalLasso minimises tr(C P) - ln|P| + alpha ||P||_1 over positive
// definite P, to a distance that is enough, and returns P^-1 and a bound on the distance.
//
// It maximises the dual ln|Omega| + m over |Omega - C| <= alpha, whose diagonal
// is C + alpha, row by row: given the other rows the best one is Omega a with a
// the minimum of a lasso (Friedman, Hastie, Tibshirani, Biostatistics 2008).
func graphicalLasso(c *mat.SymDense, alpha, enough float64) (omega *mat.SymDense, gap float64, err error) {
	if err := linalg.Finite(c); err != nil {
		return nil, 0, err
	}
	m := c.SymmetricDim()
	x := shifted(c, alpha)
	// Where alpha is next to nothing, rounding errors may hide it.
	for ridge := 1e-13; ; ridge *= 10 {
		for i := range m {
			x.SetSym(i, i, x.At(i, i)*(1+ridge))
		}
		_, _, err := inverted(x)
		if err == nil {
			break
		}
	}
	columns := mat.NewDense(m, m, nil) // row j has the lasso of row j
	gap = math.Inf(1)
	for range 500 {
		p, _, err := inverted(x) // the gradient of the dual
		if err != nil {
			break // rounding errors are left
		}
		g := dot(c, p) + alpha*norm1(p) - float64(m)
		if !(g < gap) {
			break
		}
		gap = g
		omega = shifted(x, 0)
		if gap <= max(1e-14*float64(m), enough) {
			break
		}
		for j := range m {
			a := columns.RawRowView(j)
			for i := range m {
				if i != j {
					x.SetSym(i, j, c.At(i, j))
				}
			}
			lasso(a, x, j, false, alpha, -1)
			var row mat.VecDense
			row.MulVec(x, mat.NewVecDense(m, a))
			for i := range m {
				if i != j {
					v := c.At(i, j)
					x.SetSym(i, j, min(max(row.AtVec(i), v-alpha), v+alpha))
				}
			}
		}
	}
	return omega, max(gap, 0), nil
}
