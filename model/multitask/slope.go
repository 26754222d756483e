package multitask

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
)

// softness is the width of the step that stands for a misclassified row in
// Slope, relative to the mean distance of the rows of the task from its
// boundary. A wide one asks for confidence, a narrow one hears few rows.
const softness = 0.1

// Slope returns the gradient of the validation error of a fit with respect to
// Omega, W and b following it with Lambda1 held. The fit must be one for a
// given Omega. Steps of misclassified rows are taken for logistic curves, which
// have slopes.
//
// With G the gradient of the losses, W = -G Omega / Lambda1 at the minimum, so
// that dW = -(H dW Omega + G dOmega) / Lambda1. One linear system, the adjoint
// of this one, gives the slope in all directions.
func Slope(r *Result, problem *data.ProblemData) (*mat.SymDense, error) {
	train, err := Training(problem, "")
	if err != nil {
		return nil, err
	}
	if d, m := r.W.Dims(); d != train.d || m != len(train.tasks) {
		return nil, fmt.Errorf("multitask: slope: %w: the fit is for %d features and %d tasks; the problem has %d and %d", ErrInvalidData, d, m, train.d, len(train.tasks))
	}
	s := newSolver(train, fixed{r.Omega}, r.Params, 1)
	if err := s.start(r); err != nil {
		return nil, err
	}
	s.gradient()
	u := make([]float64, s.m*s.d) // the slope with respect to W', m x d
	for i := range s.m {
		v := problem.Tasks[i].ValidationSet
		if len(v.Y) == 0 || v.X.Cols() != s.d {
			return nil, fmt.Errorf("multitask: slope: task %q: %w: it needs validation rows with %d features", train.tasks[i].name, ErrInvalidData, s.d)
		}
		f := make([]float64, len(v.Y))
		v.X.Mul(f, s.w[i*s.d:][:s.d], 1)
		floats.AddConst(s.b[i], f)
		slopes := errorSlopes(f, v.Y, problem.Tasks[i].Kind)
		floats.Scale(1/float64(s.m), slopes)
		v.X.AddMulT(u[i*s.d:][:s.d], slopes, 1)
		s.biasSlope(u[i*s.d:][:s.d], i, floats.Sum(slopes))
	}
	// (Lambda1 I + Q'HQ) X = -Q'U, then U + HQX, which the covariance sees.
	root, l1 := s.rel.root, s.params.Lambda1
	rootT := mat.DenseCopyOf(root.T())
	_, k := root.Dims()
	size := k * s.d
	x, dir, res, hv := s.cg[0][:size], s.cg[1][:size], s.cg[2][:size], s.cg[3][:size]
	rotate(res, rootT, u, s.d)
	if norm := inner(res, res); norm > 0 {
		s.conjugate(x, dir, res, hv, root, rootT, norm, 1e-12*norm)
		rotate(s.t1, root, x, s.d)
		s.hessian(u, s.t1)
	}
	product := products(u, s.data, s.m, s.d)
	slope := mat.NewSymDense(s.m, nil)
	for i := range s.m {
		for j := i; j < s.m; j++ {
			slope.SetSym(i, j, -(product.At(i, j)+product.At(j, i))/(2*l1))
		}
	}
	return slope, nil
}

// biasSlope adds to u the slope with respect to w_i that comes of the bias,
// which follows w_i on the training rows.
func (s *solver) biasSlope(u []float64, i int, slope float64) {
	h := s.h[i]
	if total := floats.Sum(h); total > 0 {
		follow := make([]float64, len(h))
		floats.AddScaled(follow, -slope/total, h)
		s.problem.tasks[i].x.AddMulT(u, follow, 1)
	}
}

// errorSlopes returns the derivative of the error of one task with respect to
// the predictions f.
func errorSlopes(f, y []float64, kind data.Kind) []float64 {
	n := float64(len(y))
	slopes := make([]float64, len(y))
	if kind == data.Regression {
		unit := 2 / (n * stat.PopVariance(y, nil))
		for j := range y {
			slopes[j] = unit * (f[j] - y[j])
		}
		return slopes
	}
	width := softness * floats.Norm(f, 1) / n
	if width == 0 {
		return slopes
	}
	for j := range y {
		e := math.Exp(-math.Abs(f[j]) / width) // the same on both sides of the boundary
		slopes[j] = -y[j] * e / ((1 + e) * (1 + e)) / (width * n)
	}
	return slopes
}
