package solve

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"l2mt/data/progress"
	"l2mt/infer"
	"l2mt/model/multitask"
)

// Refinements is the number of steps that Fit takes by default.
const Refinements = 20

// stride is the length of the first step, as a part of the trace of Omega.
const stride = 0.2

// refine descends the soft error of the validation rows from a covariance; the
// error itself is a staircase. Steps are Proximal ones, so the closed form of
// the network's own problem serves again. After a step that does not lower the error, which is not taken,
// t is half as large, and after one that does half as large again.
func (e *Embedding) refine(ctx context.Context, from Candidate, o FitOptions, report progress.Reporter) (tried []Candidate, err error) {
	t, slope := stride, (*mat.SymDense)(nil)
	for k := 1; k <= o.Steps && from.Soft > 0; k++ {
		if slope == nil {
			if slope, err = e.slope(from.Tuned); err != nil {
				return nil, err
			}
			if mat.Norm(slope, 2) == 0 {
				return tried, nil
			}
		}
		phi, rho := infer.Proximal(slope, from.Omega, t)
		found, err := e.solve(phi, rho)
		if err != nil {
			return nil, err
		}
		o.Tune.Lambda1 = around(from.Tuned.Params.Lambda1)
		next, err := e.refit(ctx, Candidate{Found: found, Scale: from.Scale, Step: k}, o.Tune)
		if err != nil {
			return nil, err
		}
		tried = append(tried, next)
		if next.Soft < from.Soft {
			from, slope, t = next, nil, 1.5*t
		} else {
			t /= 2
		}
		report.Advance(1, "")
	}
	return tried, nil
}

// slope is the slope of the soft error at a fit, of length 1, along
// covariances of one trace.
func (e *Embedding) slope(t *multitask.Tuned) (*mat.SymDense, error) {
	slope, err := multitask.Slope(t.Result, e.problem)
	if err != nil {
		return nil, fmt.Errorf("solve: problem %q: %w", e.problem.Name, err)
	}
	m := slope.SymmetricDim()
	level := mat.Trace(slope) / float64(m)
	for i := range m {
		slope.SetSym(i, i, slope.At(i, i)-level)
	}
	if length := mat.Norm(slope, 2); length > 0 {
		slope.ScaleSym(1/length, slope)
	}
	return slope, nil
}

// around is the grid of Lambda1 in the neighbourhood of the last choice.
func around(lambda1 float64) []float64 {
	step := math.Sqrt(10)
	return []float64{lambda1 / step, lambda1, lambda1 * step}
}
