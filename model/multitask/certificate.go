package multitask

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/layers/linalg"
)

// lower returns a lower bound of problem (1) by duality. With the slopes r of the losses
// at a point, scaled by some c in [0, 1], as the dual point it is
//
//	c (losses - <W, G>) - Support(c^2 G'G / (2 Lambda1))
//
// G being the gradient of the losses: a Fenchel conjugate of a loss is convex and 0 at 0.
func (x *splitting) lower(v *point) float64 {
	g := make([]float64, len(v.w))
	x.sumRows(g, v.r)
	m := x.set.Tasks()
	free := v.loss - floats.Dot(v.w, g)
	if model, ok := x.model.(spectral); ok {
		side := x.set.side(g)
		side.ScaleSym(1/(2*x.params.Lambda1), side)
		t := append(make([]float64, m-side.SymmetricDim()),
			eigenvalues(side)...)
		scaled := make([]float64, m)
		return highest(func(c float64) float64 {
			return c*free - model.support(floats.ScaleTo(scaled, c*c, t), x.params)
		})
	}
	t := gram(g, m)
	scaled := mat.NewSymDense(m, nil)
	return highest(func(c float64) float64 {
		scaled.ScaleSym(c*c/(2*x.params.Lambda1), t)
		return c*free - x.model.Support(scaled, x.cov, x.params)
	})
}

// highest returns the maximum of a concave function on [0, 1], which may be -Inf from some
// number on, by golden sections.
func highest(f func(c float64) float64) float64 {
	const golden = 0.6180339887498949
	low := 0.0
	width := 1.0
	best := f(1)
	left := f(1 - golden)
	right := f(golden)
	for range 45 {
		best = max(best, left, right)
		width *= golden
		if left < right {
			low += width * (1/golden - 1)
			left = right
			right = f(low + golden*width)
		} else {
			right = left
			left = f(low + (1-golden)*width)
		}
	}
	return best
}

// side returns the smaller one of W'W and WW', whose eigenvalues are the same up to
// zeros, from the rows of W'.
func (p *TrainingSet) side(w []float64) *mat.SymDense {
	m := p.Tasks()
	d := len(w) / m
	if m <= d {
		return gram(w, m)
	}
	rows := general(m, w)
	s := mat.NewDense(d, d, nil)
	gemm(blas.Trans, blas.NoTrans, rows, rows, s.RawMatrix())
	return linalg.Symmetrised(s, 1)
}

// certified returns the gap as fits report it. Rounding below 0, up to 1e-10 of the size of
// the numbers it comes from, is 0.
func certified(name string, gap, size float64) (float64, error) {
	if gap < -1e-10*size {
		return 0, fmt.Errorf("fitting %q: a gap of %.3g certifies nothing, it cannot be below 0: g, the Omega step and the dual (Support) of the model contradict each other", name, gap)
	}
	return max(gap, 0), nil
}

// isConvex says whether fits of a model can be certified by duality at these
// hyperparameters.
func isConvex(model Model, p Params) (Convex, bool) {
	c, ok := model.(Convex)
	return c, ok && !math.IsNaN(c.Support(mat.NewSymDense(1, nil), nil, p))
}
