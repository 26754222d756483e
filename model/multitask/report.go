package multitask

import "l2mt/data"

// Report returns the errors of a fit with hyperparameters of the caller's
// choice, in the form that Tune returns them.
func Report(r *Result, problem *data.ProblemData, stl *Tuned) (*Tuned, error) {
	t := &Tuned{Model: r.Model, Params: r.Params, Result: r, Seconds: r.Seconds}
	return t, t.report(problem, stl)
}

// Restored returns what was found on metric.Problem(problem) as a fit of the
// problem.
func (t *Tuned) Restored(metric *data.Metric, problem *data.ProblemData) (*Tuned, error) {
	u := *t
	u.Result = t.Result.restored(metric)
	return &u, u.report(problem, nil)
}

func (r *Result) restored(metric *data.Metric) *Result {
	s := *r
	s.W, s.set, s.a, s.of, s.inside = metric.Restore(r.W), nil, nil, nil, nil
	return &s
}
