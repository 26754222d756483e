package train

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/infer"
	"l2mt/model"
	"l2mt/model/multitask"
)

// contest is a held-out problem on which the covariance that a network finds is
// measured by what counts, its test error.
type contest struct {
	train   *multitask.Problem
	kind    data.Kind
	test    []data.Samples
	payload *model.Payload
	lambda1 float64 // of the best tuple
	unit    float64 // the test error of single-task learning
	best    float64 // the least o of the tuples
	weight  float64
}

// newContest is nil where nothing can be measured: where tuples do not say their
// Lambda1, there are no test rows, or the best tuple makes no error.
func newContest(ctx context.Context, e Example, payload *model.Payload) (*contest, error) {
	var best *model.Tuple
	for q, t := range e.Tuples {
		if t.Lambda1 > 0 && t.O > 0 && (best == nil || t.O < best.O) {
			best = &e.Tuples[q]
		}
	}
	c := &contest{payload: payload, kind: e.Problem.Tasks[0].Kind}
	for _, t := range e.Problem.Tasks {
		if len(t.TestSet.Y) == 0 || best == nil {
			return nil, nil
		}
		c.test = append(c.test, t.TestSet)
	}
	c.lambda1, c.best = best.Lambda1, best.O
	var err error
	if c.train, err = multitask.Training(e.Problem, ""); err != nil {
		return nil, fmt.Errorf("train: problem %q: %w", e.Problem.Name, err)
	}
	m := len(e.Problem.Tasks)
	made, err := c.errorOf(ctx, mat.NewSymDense(m, best.Omega))
	if err != nil || made == 0 {
		return nil, err
	}
	c.unit = made / best.O
	return c, nil
}

// errorOf is the test error of a covariance. Lambda1 is that of the best tuple:
// choosing it anew would take ten times as long.
func (c *contest) errorOf(ctx context.Context, omega *mat.SymDense) (float64, error) {
	fit, err := multitask.FitFixed(ctx, omega, c.train, c.lambda1, multitask.Options{Tolerance: 1e-4, MaxIterations: 50})
	if err != nil {
		return 0, fmt.Errorf("train: %w", err)
	}
	errors, err := multitask.Evaluate(fit, c.kind, c.test)
	if err != nil {
		return 0, fmt.Errorf("train: %w", err)
	}
	return errors.Mean, nil
}

// found is the relative error of the covariance that a network finds.
func (c *contest) found(ctx context.Context, n *model.Network, f *model.Forward) (float64, error) {
	e, err := f.Estimate(c.payload)
	if err != nil {
		return 0, err
	}
	direction, phi := n.Direction(), mat.NewSymDense(e.Tasks, nil)
	for i := range e.Tasks {
		for j := i; j < e.Tasks; j++ {
			phi.SetSym(i, j, direction*(e.Phi[i*e.Tasks+j]+e.Phi[j*e.Tasks+i])/2)
		}
	}
	s, err := infer.Omega(phi, direction*e.C)
	if err != nil {
		return 0, fmt.Errorf("train: %w", err)
	}
	made, err := c.errorOf(ctx, s.Omega)
	return made / c.unit, err
}
