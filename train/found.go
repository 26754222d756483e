package train

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/infer/solve"
	"l2mt/model"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
)

// practice is a problem on which covariances are measured by what counts, their
// test error, while a network learns to find them. It is experience made on the
// way: a quadratic f that is fitted to what stored tuples say runs off to where
// none of them is.
type practice struct {
	train   *multitask.TrainingSet
	test    *evidence.Split
	lambda1 float64 // of the best tuple
	unit    float64 // the test error of single-task learning
	best    float64 // the least o of the tuples
}

const (
	// leastUnit keeps problems that are solved anyway from shouting.
	leastUnit = 0.01
	// steepest is the length of the longest slope that counts in full.
	steepest = 3
)

// newPractice is nil where nothing can be measured: where tuples do not say their
// Lambda1, there are no test rows, or the best tuple makes no error.
func newPractice(ctx context.Context, e Example) (*practice, error) {
	var best *model.Tuple
	for q, t := range e.Tuples {
		if t.Lambda1 > 0 && t.O > 0 && (best == nil || t.O < best.O) {
			best = &e.Tuples[q]
		}
	}
	for _, t := range e.Problem.Tasks {
		if len(t.TestSet.Y) == 0 || best == nil {
			return nil, nil
		}
	}
	problem := e.Problem
	if e.InMetric {
		problem = data.InMetric(problem)
	}
	p := &practice{lambda1: best.Lambda1, best: best.O, unit: 1}
	var err error
	if p.train, err = multitask.Training(problem, ""); err == nil {
		p.test, err = evidence.NewSplit(problem.Tested())
	}
	if err != nil {
		return nil, fmt.Errorf("train: problem %q: %w", e.Problem.Name, err)
	}
	held, err := p.measure(ctx, mat.NewSymDense(len(e.Problem.Tasks), best.Omega))
	if err != nil || held.Error == 0 {
		return nil, err
	}
	p.unit = held.Error / best.O
	return p, nil
}

// measure says what the test rows do of a covariance. Lambda1 is that of the best
// tuple: choosing it anew would take ten times as long.
func (p *practice) measure(ctx context.Context, omega *mat.SymDense) (*evidence.HeldOut, error) {
	fit, err := multitask.FitFixed(ctx, omega, p.train, p.lambda1, multitask.Options{Tolerance: 1e-7, MaxIterations: 50})
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	held, err := p.test.Measure(fit)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	return held, nil
}

// tuple is what measuring a covariance tells, with its slope.
func (p *practice) tuple(ctx context.Context, omega *mat.SymDense) (t model.Tuple, err error) {
	held, err := p.measure(ctx, omega)
	if err != nil {
		return t, err
	}
	slope, err := p.test.Slope(held)
	if err != nil {
		return t, fmt.Errorf("train: %w", err)
	}
	t = model.Tuple{Omega: entries(omega), O: held.Error / p.unit, Slope: entries(slope)}
	floats.Scale(1/max(p.unit, leastUnit), t.Slope)
	if length := floats.Norm(t.Slope, 2); length > steepest {
		floats.Scale(steepest/length, t.Slope)
	}
	return t, nil
}

func entries(a *mat.SymDense) (all []float64) {
	for i := range a.SymmetricDim() {
		for j := range a.SymmetricDim() {
			all = append(all, a.At(i, j))
		}
	}
	return all
}

// find is the covariance that the network finds on a problem. It is nil if f has no
// least value inside of the covariances.
func (t *trainer) find(p prepared) (*mat.SymDense, error) {
	e, err := t.forward.Estimate(p.payload)
	if err != nil {
		return nil, err
	}
	direction, phi := t.network.Direction(), mat.NewSymDense(e.Tasks, nil)
	if !(direction*e.C > 0) {
		return nil, nil
	}
	for i := range e.Tasks {
		for j := i; j < e.Tasks; j++ {
			phi.SetSym(i, j, direction*(e.Phi[i*e.Tasks+j]+e.Phi[j*e.Tasks+i])/2)
		}
	}
	s, err := solve.Omega(phi, direction*e.C)
	if err != nil {
		return nil, t.diverged(fmt.Sprintf("the covariance of problem %q: %v", p.name, err))
	}
	return s.Omega, nil
}

// preparePractice keeps what the covariances found are measured on.
func (t *trainer) preparePractice(ctx context.Context, source Source) error {
	if t.config.Model.Objective != model.Found {
		return nil
	}
	if t.network.Head != nil {
		return fmt.Errorf("train: %w: the objective %q measures errors on the features of the problems, which a head changes; extract them first", ErrConfig, model.Found)
	}
	for _, examples := range [][]prepared{t.training, t.heldOut} {
		for i := range examples {
			e, err := source.Example(examples[i].at)
			if err != nil {
				return err
			}
			if examples[i].practice, err = newPractice(ctx, e); err != nil {
				return err
			}
		}
	}
	t.steps = steps(t.training, t.config.Update)
	if !slices.ContainsFunc(t.training, func(p prepared) bool { return p.practice != nil }) {
		return fmt.Errorf("train: %w: the objective is %q, but on no problem can an error be measured: that takes test rows, and tuples that say their Lambda1", ErrConfig, model.Found)
	}
	return nil
}

// practise adds to the tuples of a step the covariance that the network finds now.
func (t *trainer) practise(ctx context.Context, s prepared) (prepared, error) {
	if s.practice == nil {
		return s, nil
	}
	omega, err := t.find(s)
	if err != nil || omega == nil {
		return s, err
	}
	found, err := s.practice.tuple(ctx, omega)
	s.tuples = append(s.tuples[:len(s.tuples):len(s.tuples)], found)
	return s, err
}

// measureFound fills in how good the covariances found on held-out problems are.
func (t *trainer) measureFound(ctx context.Context, m *Metrics) error {
	var found, regret, total float64
	for _, h := range t.heldOut {
		if h.practice == nil {
			continue
		}
		omega, err := t.find(h)
		if err != nil {
			return err
		}
		if omega == nil {
			return nil
		}
		held, err := h.practice.measure(ctx, omega)
		if err != nil {
			return err
		}
		o := held.Error / h.practice.unit
		found += h.weight * o
		regret += h.weight * (o - h.practice.best)
		total += h.weight
	}
	if total > 0 {
		m.Found, m.Regret = ptr(found/total), ptr(regret/total)
	}
	return nil
}

func ptr(v float64) *float64 { return &v }
