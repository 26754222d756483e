package train

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/files"
	"l2mt/data/view"
	"l2mt/infer"
	"l2mt/model"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
)

// tester measures covariances by the error on the test rows of a problem. Fits have the Lambda1 of
// the best tuple: choosing it anew takes ten times as long, and ranks networks in the same order.
type tester struct {
	problem *data.ProblemData // in the features that the tuples were measured in
	test    *evidence.Folds
	best    model.Tuple // the tuple of the least o
	stl     float64     // the error of single-task learning
}

// leastUnit bounds the weight of problems that single-task learning solves anyway.
const leastUnit = 0.01

// newTester is nil where nothing can be measured: where tuples do not say their
// Lambda1, there are no test rows, or the best tuple makes no error.
func newTester(ctx context.Context, e Example) (*tester, error) {
	t := &tester{
		problem: e.Problem,
		best:    e.best(0),
	}
	if t.best.Lambda1 == 0 ||
		slices.ContainsFunc(e.Problem.Tasks, func(t data.TaskData) bool {
			return len(t.TestSet.Y) == 0
		}) {
		return nil, nil
	}
	if e.InMetric {
		t.problem = view.InMetric(t.problem)
	}
	var err error
	t.test, err = evidence.NewSplit(t.problem.Tested())
	if err != nil {
		return nil, fmt.Errorf("problem %q: %w", e.Problem.Name, err)
	}
	held, err := t.fit(ctx,
		mat.NewSymDense(len(e.Problem.Tasks), t.best.Omega))
	if err != nil || held.Error == 0 {
		return nil, err
	}
	t.stl = held.Error / t.best.O
	return t, nil
}

// fit fits a covariance and measures it on the test rows.
func (t *tester) fit(ctx context.Context, omega *mat.SymDense) (*evidence.HeldOut, error) {
	fit, err := multitask.FitFixed(ctx, omega, t.test.Training(),
		t.best.Lambda1, multitask.Options{
			Tolerance:     1e-7,
			MaxIterations: 50,
		})
	if err != nil {
		return nil, err
	}
	return t.test.Measure(fit), nil
}

// soft is the smooth error of a covariance relative to single-task learning's, and its slope.
func (t *tester) soft(ctx context.Context, omega *mat.SymDense) (float64, *mat.SymDense, error) {
	held, err := t.fit(ctx, omega)
	if err != nil {
		return 0, nil, err
	}
	sum := 0.0
	var rows []data.Samples
	var derivatives [][]float64
	n := float64(len(held.Y))
	for i, y := range held.Y {
		soft, slopes := softError(held.Scores[i], y, t.problem.Kind())
		sum += soft / n
		floats.Scale(1/n, slopes)
		derivatives = append(derivatives, slopes)
		rows = append(rows, t.problem.Tasks[i].TestSet)
	}
	slope, err := t.test.Training().Slope(held.Fits[0], rows, derivatives)
	if err != nil {
		return 0, nil, err
	}
	unit := max(t.stl, leastUnit)
	slope.ScaleSym(1/unit, slope)
	return sum / unit, slope, nil
}

// find is the covariance that the network finds on a problem.
func (t *trainer) find(p prepared) (*mat.SymDense, error) {
	e, err := t.forward.Estimate(p.payload)
	if err != nil {
		return nil, err
	}
	s, err := infer.Omega(e.Asked(t.network.Direction()))
	if err != nil {
		return nil, t.diverged(
			fmt.Sprintf("the covariance of problem %q: %v", p.Problem.Name, err))
	}
	return s.Omega, nil
}

// prepareTesters keeps the problems that covariances are measured on: held-out problems, and for
// objectives that are measured training problems.
func (t *trainer) prepareTesters(ctx context.Context) (err error) {
	measured := [][]prepared{t.heldOut[:min(len(t.heldOut),
		max(0, t.config.Measured))]}
	found := t.config.Model.Measures()
	if found {
		measured = append(measured, t.training)
	}
	for _, examples := range measured {
		for i := range examples {
			e := &examples[i]
			e.tester, err = newTester(ctx, e.Example)
			if err != nil {
				return err
			}
		}
	}
	if found && !slices.ContainsFunc(t.training, func(p prepared) bool {
		return p.tester != nil
	}) {
		return ErrConfig.Errorf("the objective %q needs a problem on which errors can be measured, with test rows and with tuples that state their Lambda1; there is none", t.config.Model.Objective)
	}
	return nil
}

// measureFound fills in how good the covariances found on held-out problems are, and
// the best tuples there.
func (t *trainer) measureFound(ctx context.Context, m *Metrics) error {
	o := make([]float64, len(t.heldOut))
	tuple := make([]float64, len(o))
	weights := make([]float64, len(o)) // 0 where nothing is measured
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(runtime.GOMAXPROCS(0))
	for i, p := range t.heldOut {
		if p.tester == nil {
			continue
		}
		tuple[i] = p.tester.best.O
		weights[i] = p.Weight
		omega, err := t.find(p)
		if err != nil {
			return errors.Join(err, work.Wait())
		}
		work.Go(func() error {
			held, err := p.tester.fit(ctx, omega)
			if err == nil {
				o[i] = held.Error / p.tester.stl
			}
			return err
		})
	}
	err := work.Wait()
	if err != nil {
		return err
	}
	m.Found = files.Float(stat.Mean(o, weights))
	m.Tuple = files.Float(stat.Mean(tuple, weights)) // NaN of none
	return nil
}
