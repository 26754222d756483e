package solve

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"l2mt/data"
	"l2mt/data/progress"
	"l2mt/model/multitask"
)

const (
	// Steps is how many steps of Search Fit takes by default.
	Steps = 20
	// Rows is n_0, the number of held-out rows that what a network says counts for
	// by default.
	Rows = 30
)

// FitOptions control Fit. The zero value means the defaults.
type FitOptions struct {
	// Evidence judges covariances and Lambda1; nil means all labelled rows,
	// multitask.Labelled.
	Evidence multitask.Evidence
	// Without puts I/m where the network would say something: the control that
	// tells what the network adds.
	Without bool
	// Rows is n_0; 0 means the default, Rows.
	Rows float64
	// Steps is the number of steps from what the network says; 0 means the
	// default, Steps, and a negative number none.
	Steps int
	// Tune controls the fits. Its Evidence is not used.
	Tune multitask.TuneOptions
}

// Fitted is a problem solved with the covariance that network and evidence found.
type Fitted struct {
	*Searched
	// Prior is what the network says, or I/m without it, and Start its fit.
	Prior *Found
	Start *Searched
	// Estimated is the relative error that the network expects of Omega.
	Estimated float64
	// STL is single-task learning on the same rows, by the same evidence.
	STL *multitask.Tuned
	// Seconds is the time for all fits.
	Seconds float64
}

// Fit finds the best covariance for a problem, and W and b, on all its labelled
// rows. It is Embed of these rows with Embedding.Fit.
func (f *Finder) Fit(ctx context.Context, p *data.ProblemData, o FitOptions) (*Fitted, error) {
	all, err := p.Labelled()
	if err != nil {
		return nil, fmt.Errorf("solve: problem %q: %w", p.Name, err)
	}
	e, err := f.Embed(all)
	if err != nil {
		return nil, err
	}
	return e.Fit(ctx, o)
}

// Fit finds the best covariance, with W and b and Lambda1: what the network says
// is a prior, held-out rows are evidence, and Search weighs them.
func (e *Embedding) Fit(ctx context.Context, o FitOptions) (*Fitted, error) {
	begin := time.Now()
	evidence, err := o.Evidence, error(nil)
	if evidence == nil {
		if evidence, err = multitask.Labelled(e.problem, multitask.EvidenceOptions{Seed: o.Tune.Seed}); err != nil {
			return nil, fmt.Errorf("solve: problem %q: %w", e.problem.Name, err)
		}
	}
	f := &Fitted{}
	scale := 1.0
	if o.Without {
		scale = math.Inf(1)
	}
	if f.Prior, err = e.Omega(scale); err != nil {
		return nil, err
	}
	steps := max(cmp.Or(o.Steps, Steps), 0)
	report := cmp.Or(o.Tune.Progress, progress.Silent())
	o.Tune.Progress = nil // its stages would follow each other quickly
	report.Start("fitting", steps+3)
	defer report.Finish()
	s := &search{problem: e.problem, evidence: evidence, rows: cmp.Or(o.Rows, Rows), tune: o.Tune, report: report}
	if err := s.run(ctx, f, steps); err != nil {
		return nil, fmt.Errorf("solve: problem %q: %w", e.problem.Name, err)
	}
	f.Estimated = e.network.RelativeError(e.estimate.Value(f.Omega))
	f.Seconds = time.Since(begin).Seconds()
	return f, nil
}
