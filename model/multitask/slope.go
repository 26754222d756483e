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
// SoftError, relative to the mean distance of the rows of the task from the
// boundary. A wide one asks for confidence, a narrow one hears few rows.
const softness = 0.1

// SoftError returns the mean error of a fit on the validation rows with logistic
// curves for the steps of misclassified rows, so that it changes with every row
// near the boundary. For regression it is the validation error itself.
func SoftError(r *Result, problem *data.ProblemData) (float64, error) {
	if err := checkFit(r, problem); err != nil {
		return 0, err
	}
	mean, w := 0.0, rowsOf(r.W)
	for i := range problem.Tasks {
		e, _ := softError(validationScores(w, r.B[i], i, problem), problem.Tasks[i].ValidationSet.Y, problem.Tasks[i].Kind)
		mean += e / float64(len(problem.Tasks))
	}
	return mean, nil
}

// Slope returns the gradient of SoftError with respect to Omega, W and b
// following it with Lambda1 held. The fit must be one for a given Omega.
//
// With G the gradient of the losses, W = -G Omega / Lambda1 at the minimum, so
// that dW = -(H dW Omega + G dOmega) / Lambda1. One linear system, the adjoint
// of this one, gives the slope in all directions.
func Slope(r *Result, problem *data.ProblemData) (*mat.SymDense, error) {
	if err := checkFit(r, problem); err != nil {
		return nil, err
	}
	train, err := Training(problem, "")
	if err != nil {
		return nil, err
	}
	s := newSolver(train, fixed{r.Omega}, r.Params, 1)
	if err := s.start(r); err != nil {
		return nil, err
	}
	s.gradient()
	u := make([]float64, s.m*s.d) // the slope with respect to W', m x d
	for i := range s.m {
		v := problem.Tasks[i].ValidationSet
		_, slopes := softError(validationScores(s.w, s.b[i], i, problem), v.Y, problem.Tasks[i].Kind)
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

// checkFit reports what keeps a fit from being measured on the validation rows
// of a problem.
func checkFit(r *Result, problem *data.ProblemData) error {
	d, m := r.W.Dims()
	if m != len(problem.Tasks) {
		return fmt.Errorf("multitask: soft error: %w: the fit is for %d tasks; the problem has %d", ErrInvalidData, m, len(problem.Tasks))
	}
	for _, t := range problem.Tasks {
		if v := t.ValidationSet; len(v.Y) == 0 || v.X.Cols() != d {
			return fmt.Errorf("multitask: soft error: task %q: %w: it needs validation rows with %d features", t.Name, ErrInvalidData, d)
		}
	}
	return nil
}

// validationScores returns the predictions for the validation rows of task i.
func validationScores(w []float64, b float64, i int, problem *data.ProblemData) []float64 {
	x := problem.Tasks[i].ValidationSet.X
	f := make([]float64, x.Rows())
	x.Mul(f, w[i*x.Cols():][:x.Cols()], 1)
	floats.AddConst(b, f)
	return f
}

// softError returns the soft error of one task and its derivative with respect
// to the predictions f.
func softError(f, y []float64, kind data.Kind) (e float64, slopes []float64) {
	n := float64(len(y))
	slopes = make([]float64, len(y))
	if kind == data.Regression {
		variance := stat.PopVariance(y, nil)
		for j := range y {
			slopes[j] = 2 / (n * variance) * (f[j] - y[j])
		}
		return meanSquare(f, y) / variance, slopes
	}
	width := softness * floats.Norm(f, 1) / n
	if width == 0 {
		return 0.5, slopes // every row is on the boundary
	}
	narrow := 0.0 // the derivative with respect to the width
	for j := range y {
		t := y[j] * f[j] / width
		c := math.Exp(-math.Abs(t))
		if t > 0 {
			e += c / (1 + c) / n
		} else {
			e += 1 / (1 + c) / n
		}
		steep := c / ((1 + c) * (1 + c)) / (width * n)
		slopes[j] = -y[j] * steep
		narrow += t * steep
	}
	for j := range y {
		slopes[j] += narrow * math.Copysign(softness/n, f[j])
	}
	return e, slopes
}
