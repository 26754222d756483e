package multitask

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
)

// check reports what keeps a fit from being one of the problem.
func (p *TrainingSet) check(r *Result) error {
	if d, m := r.W.Dims(); d != p.classes*p.cols || m != p.Tasks() {
		return fmt.Errorf("multitask: evidence: %w: the W of the fit is %d x %d; that of the problem is %d x %d", ErrInvalidData, d, m, p.classes*p.cols, p.Tasks())
	}
	return nil
}

// near is at in the coordinates of the fit, where scores are to be had for less.
func (p *TrainingSet) near(r *Result) *ridge {
	if inner := p.narrowed(); inner != nil && r.of == inner {
		in := *r
		in.W = r.inside
		return inner.at(&in)
	}
	return p.at(r)
}

// slope returns the gradient with respect to Omega of a function of the scores
// of rows that are not trained on, given its derivatives with respect to these
// (of several classes, row by row),
// at the minimum for a given Omega. W and b follow, Lambda1 is held.
func (p *TrainingSet) slope(r *Result, rows []data.Samples, derivatives [][]float64) (*mat.SymDense, error) {
	x := p.at(r)
	u := make([]float64, p.size()) // the slope with respect to W', m x d
	for i, all := range derivatives {
		for class := range p.classes {
			if c := column(all, class, p.classes); len(c) > 0 {
				part := i*p.classes + class
				rows[i].X.AddMulT(p.part(part, u), c, 1)
				x.biasSlope(p.part(part, u), part, floats.Sum(c))
			}
		}
	}
	return x.adjoint(u), nil
}

// biasSlope adds to u the slope with respect to w_i that comes of the bias,
// which follows w_i on the training rows.
func (x *ridge) biasSlope(u []float64, i int, slope float64) {
	h := x.h[i]
	if total := floats.Sum(h); total > 0 {
		follow := make([]float64, len(h))
		floats.AddScaled(follow, -slope/total, h)
		x.set.tasks[i].x.AddMulT(u, follow, 1)
	}
}

// softError returns the soft errors of the rows of one task and the derivatives of
// their mean with respect to the predictions f.
func softError(f, y []float64, kind data.Kind, softness float64) (rows, slopes []float64) {
	if perRow(f, y) > 1 {
		return softMargins(f, y, softness)
	}
	n := float64(len(y))
	rows, slopes = make([]float64, len(y)), make([]float64, len(y))
	if kind == data.Regression {
		variance := stat.PopVariance(y, nil)
		for j := range y {
			rows[j] = (f[j] - y[j]) * (f[j] - y[j]) / variance
			slopes[j] = 2 / (n * variance) * (f[j] - y[j])
		}
		return rows, slopes
	}
	width := softness * floats.Norm(f, 1) / n
	if width == 0 { // every row is on the boundary
		for j := range rows {
			rows[j] = 0.5
		}
		return rows, slopes
	}
	narrow := 0.0 // the derivative with respect to the width
	for j := range y {
		t := y[j] * f[j] / width
		c := math.Exp(-math.Abs(t))
		if t > 0 {
			rows[j] = c / (1 + c)
		} else {
			rows[j] = 1 / (1 + c)
		}
		steep := c / ((1 + c) * (1 + c)) / (width * n)
		slopes[j] = -y[j] * steep
		narrow += t * steep
	}
	for j := range y {
		slopes[j] += narrow * math.Copysign(softness/n, f[j])
	}
	return rows, slopes
}
