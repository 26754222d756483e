package solve

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/mat"

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
	// Without puts I/m where the network would say something: the control that
	// tells what the network adds.
	Without bool
	// Euclidean fits the features as they are, not in their data.Metric: the
	// control that tells what that adds.
	Euclidean bool
	// Undirected leaves out the directions that experience has taught, if there are
	// any: the control that tells what these add.
	Undirected bool
	// Rows is n_0; 0 means the default, Rows.
	Rows float64
	// Steps is the number of steps from what the network says; 0 means the
	// default, Steps, and a negative number none.
	Steps int
	// Tune controls the fits. Evidence is that of all labelled rows,
	// multitask.Labelled.
	Tune multitask.TuneOptions
}

// Fitted is a problem solved with the covariance that network and evidence found.
type Fitted struct {
	*Searched
	// Prior is what the network says, or I/m without it, and Start its fit.
	Prior *Found
	Start *Searched
	// Trust is what held-out rows bear out, and where the search begins: the network
	// alone without steps. Without the network I/m stands for what it says.
	Trust Trust
	// HasMetric says whether the features have a data.Metric, as sparse ones do not,
	// and Ridge which one they were fitted in: held-out rows may speak for another than
	// that of 1, or for the features as they are, with an infinite one.
	HasMetric bool
	Ridge     float64
	// HasDirections says whether experience has taught any for these features, and
	// Directed whether held-out rows speak for them.
	HasDirections, Directed bool
	// Signal is how much of the problem's data.Metric.Signal lies along them, beside what
	// is usual of training problems: NaN where that is not known.
	Signal float64
	// Estimated is the relative error that the network expects of Omega.
	Estimated float64
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
	v := view{ridge: 1}
	if o.Euclidean || !data.HasMetric(e.problem) {
		v.ridge = math.Inf(1)
	}
	v.directed = !o.Undirected && e.finder.of.DirectionsOf(e.problem) != nil
	g, err := e.ground(v, o.Tune.Seed)
	if err != nil {
		return nil, err
	}
	f := &Fitted{Trust: trusts[0], HasMetric: !math.IsInf(g.ridge, 1), HasDirections: g.directed, Signal: math.NaN()}
	s := &search{of: e, ground: g, rows: cmp.Or(o.Rows, Rows), tune: o.Tune, without: o.Without}
	if g.directed {
		d := e.finder.directions(e.problem, e.metric)
		f.Signal, s.margin = d.Signal, d.Margin()
	}
	scale := 1.0
	if o.Without {
		scale = math.Inf(1)
	}
	if f.Prior, err = e.Omega(scale); err != nil {
		return nil, err
	}
	steps := max(cmp.Or(o.Steps, Steps), 0)
	s.report = cmp.Or(o.Tune.Progress, progress.Silent())
	s.tune.Progress = nil // its stages would follow each other quickly
	fits := 1
	if steps > 0 {
		fits += len(trusts) + steps
		if f.HasMetric {
			fits += len(ridges) - 1
		}
		if f.HasDirections {
			fits++
		}
	}
	s.report.Start("fitting", fits)
	defer s.report.Finish()
	if err := s.run(ctx, f, steps); err != nil {
		return nil, fmt.Errorf("solve: problem %q: %w", e.problem.Name, err)
	}
	start := f.Start
	f.Ridge, f.Directed = s.ridge, s.directed
	if f.Start, err = e.restore(g.metric, start); err != nil {
		return nil, err
	}
	if f.Searched == start {
		f.Searched = f.Start
	} else if f.Searched, err = e.restore(s.metric, f.Searched); err != nil {
		return nil, err
	}
	f.Estimated = e.finder.of.RelativeError(e.estimate.Value(f.Omega))
	f.Seconds = time.Since(begin).Seconds()
	return f, nil
}

// view is how fits see the features.
type view struct {
	ridge    float64 // of the metric; infinite for rows as they are
	directed bool    // along what experience has taught
}

// metric is that of the rows of a problem, or nil for rows as they are.
func (v view) metric(own func() *data.Metric, p *data.ProblemData, directions *mat.Dense) *data.Metric {
	m := (*data.Metric)(nil)
	if v.ridge == 1 {
		m = own()
	} else {
		m = data.NewMetric(p, v.ridge)
	}
	if v.directed {
		m = m.Along(p, directions)
	}
	return m
}

// ground is what fits of a problem stand on: its labelled rows, in their metric or
// as they are, and what they say when they are left out.
type ground struct {
	view
	metric   *data.Metric // nil for rows as they are
	problem  *data.ProblemData
	evidence multitask.Evidence
}

// groundOf says which one is meant.
type groundOf struct {
	view
	seed uint64
}

// ground makes each of them once: L2MT and its controls share what takes a pass over
// all pairs of rows.
func (e *Embedding) ground(v view, seed uint64) (*ground, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := groundOf{v, seed}
	if g := e.grounds[key]; g != nil {
		return g, nil
	}
	labelled, err := e.problem.Labelled()
	if err != nil {
		return nil, fmt.Errorf("solve: problem %q: %w", e.problem.Name, err)
	}
	g := &ground{view: v, metric: v.metric(e.metric, e.problem, e.finder.of.DirectionsOf(e.problem))}
	if g.metric == nil {
		g.view = view{ridge: math.Inf(1)}
	}
	// Test rows need not be brought into the metric: W leaves it.
	g.problem = g.metric.Problem(labelled.TrainingOnly())
	if g.evidence, err = multitask.Labelled(g.problem, multitask.EvidenceOptions{Seed: seed}); err != nil {
		return nil, fmt.Errorf("solve: problem %q: %w", e.problem.Name, err)
	}
	if e.grounds == nil {
		e.grounds = map[groundOf]*ground{}
	}
	e.grounds[key] = g
	return g, nil
}

// restore returns what was found in a metric with the features as they are.
func (e *Embedding) restore(metric *data.Metric, found *Searched) (*Searched, error) {
	s := *found
	var err error
	if s.Tuned, err = found.Tuned.Restored(metric, e.problem); err != nil {
		return nil, fmt.Errorf("solve: problem %q: %w", e.problem.Name, err)
	}
	return &s, nil
}

// STL is single-task learning on the same rows, by the same kind of evidence, with
// the features as they are.
func (e *Embedding) STL(ctx context.Context, tune multitask.TuneOptions) (*multitask.Tuned, error) {
	g, err := e.ground(view{ridge: math.Inf(1)}, tune.Seed)
	if err != nil {
		return nil, err
	}
	tune.Progress, tune.Evidence = nil, g.evidence
	stl, err := multitask.Refit(ctx, multitask.Uniform(len(e.problem.Tasks)), g.problem, tune)
	if err == nil {
		stl, err = stl.Restored(g.metric, e.problem)
	}
	if err != nil {
		return nil, fmt.Errorf("solve: problem %q: %w", e.problem.Name, err)
	}
	return stl, nil
}
