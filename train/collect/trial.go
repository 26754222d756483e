package collect

// What the tuples of a problem share.

import (
	"fmt"
	"sync"

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
	// labelled chooses Lambda1 for OfLabelled. It is made when it is first asked for.
	labelled func() (evidence.Evidence, error)
}

// newTrial checks that a problem can be trained on, tuned and tested.
func newTrial(p *data.ProblemData, measured Measured) (*trial, error) {
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
	given := p
	if measured == OfLabelled {
		given = p.Labelled()
		p = data.InMetric(given)
	}
	t := &trial{given: given, problem: p, measured: measured}
	t.labelled = sync.OnceValues(func() (evidence.Evidence, error) { return evidence.Labelled(p, 0) })
	var err error
	t.train, err = multitask.Training(p)
	return t, err
}
