package collect

// What the tuples of a problem share.

import (
	"fmt"
	"sync"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
)

// trial is a problem to try covariances on.
type trial struct {
	given    *data.ProblemData      // with the rows that are trained on, for networks
	problem  *data.ProblemData      // the same for fits: in its metric for OfLabelled
	train    *multitask.TrainingSet // these rows
	measured Measured
	slopes   bool
	// labelled chooses Lambda1 for OfLabelled, test has the test rows. Both are
	// made when they are first asked for.
	labelled func() (evidence.Evidence, error)
	test     func() (*evidence.Split, error)
}

// newTrial checks that a problem can be trained on, tuned and tested.
func newTrial(p *data.ProblemData, measured Measured, slopes bool) (*trial, error) {
	for _, t := range p.Tasks {
		for _, split := range []struct {
			name   string
			set    data.Samples
			needed bool
		}{{"validation", t.ValidationSet, measured != OfLabelled}, {"test", t.TestSet, true}} {
			if len(split.set.Y) == 0 && split.needed {
				return nil, fmt.Errorf("task %q, field %q: %w: there are no rows; experience needs them", t.Name, split.name, data.ErrInvalid)
			}
		}
	}
	given, err := p, error(nil)
	if measured == OfLabelled {
		if given, err = p.Labelled(); err != nil {
			return nil, err
		}
		p = data.InMetric(given)
	}
	t := &trial{given: given, problem: p, measured: measured, slopes: slopes}
	t.labelled = sync.OnceValues(func() (evidence.Evidence, error) { return evidence.Labelled(p, 0) })
	t.test = sync.OnceValues(func() (*evidence.Split, error) { return evidence.NewSplit(p.Tested()) })
	t.train, err = multitask.Training(p, "")
	return t, err
}

// slope is that of the soft test error over a test error, or nil if none is
// asked for.
func (t *trial) slope(r *multitask.Result, over float64) ([][]float64, error) {
	if !t.slopes {
		return nil, nil
	}
	test, err := t.test()
	if err != nil {
		return nil, err
	}
	held, err := test.Measure(r)
	if err != nil {
		return nil, err
	}
	slope, err := test.Slope(held)
	if err != nil {
		return nil, err
	}
	scaled := mat.NewSymDense(slope.SymmetricDim(), nil)
	scaled.ScaleSym(1/over, slope)
	return rows(scaled), nil
}
