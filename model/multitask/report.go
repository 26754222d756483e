package multitask

import "l2mt/data"

// Report returns the errors of a fit with hyperparameters of the caller's
// choice, in the form that Tune returns them.
func Report(r *Result, problem *data.ProblemData, stl *Tuned) (*Tuned, error) {
	t := &Tuned{Model: r.Model, Params: r.Params, Result: r, Seconds: r.Seconds}
	return t, t.report(problem, stl)
}
