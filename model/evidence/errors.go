package evidence

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/model/multitask"
)

// Errors are the errors of a fit on one split of every task.
type Errors struct {
	// Task is the error of every task: the rate of misclassified rows, or for
	// regression the mean squared error divided by the variance of the
	// targets (nMSE).
	Task []float64 `json:"task"`
	// RMSE is the root mean squared error of every task, for regression only.
	RMSE []float64 `json:"rmse,omitempty"`
	// Mean is the mean of Task.
	Mean float64 `json:"mean"`
}

// Evaluate returns the errors of a fit on the given rows, one Samples a task.
func Evaluate(r *multitask.Result, kind data.Kind, tasks []data.Samples) (Errors, error) {
	d, m := r.W.Dims()
	if len(tasks) != m {
		return Errors{}, fmt.Errorf("evidence: %w: the fit has %d tasks, not %d", multitask.ErrInvalidData, m, len(tasks))
	}
	e := Errors{Task: make([]float64, m)}
	for i, s := range tasks {
		if s.X == nil || s.X.Rows() == 0 || d%s.X.Cols() != 0 || len(s.Y) != s.X.Rows() {
			return Errors{}, fmt.Errorf("evidence: task %d: %w: it needs rows with %d features and as many labels", i, multitask.ErrInvalidData, d)
		}
		f := r.Scores(i, s.X)
		if kind == data.Regression {
			variance := stat.PopVariance(s.Y, nil)
			if variance == 0 {
				return Errors{}, fmt.Errorf("evidence: task %d, y: %w: all targets are equal, so that nMSE is undefined", i, multitask.ErrInvalidData)
			}
			e.Task[i] = stat.Mean(squares(f, s.Y, variance), nil)
			e.RMSE = append(e.RMSE, math.Sqrt(e.Task[i]*variance))
		} else {
			e.Task[i] = misclassified(f, s.Y)
		}
		e.Mean += e.Task[i] / float64(m)
	}
	return e, nil
}

// evaluateAny is Evaluate, and no errors where no task has rows.
func evaluateAny(r *multitask.Result, kind data.Kind, tasks []data.Samples) (Errors, error) {
	if !slices.ContainsFunc(tasks, func(s data.Samples) bool { return len(s.Y) > 0 }) {
		return Errors{}, nil
	}
	return Evaluate(r, kind, tasks)
}

// Report returns the errors of a fit with hyperparameters of the caller's
// choice, in the form that Tune returns them.
func Report(r *multitask.Result, problem *data.ProblemData, stl *Tuned) (*Tuned, error) {
	t := &Tuned{Model: r.Model, Params: r.Params, Result: r, Seconds: r.Seconds}
	return t, t.report(problem, stl)
}

// report fills in what follows from the fit.
func (t *Tuned) report(problem *data.ProblemData, stl *Tuned) (err error) {
	t.Omega = multitask.Normalised(t.Result.Omega)
	validation, test := make([]data.Samples, len(problem.Tasks)), make([]data.Samples, len(problem.Tasks))
	for i, task := range problem.Tasks {
		validation[i], test[i] = task.ValidationSet, task.TestSet
	}
	if t.HeldOut != nil {
		t.Validation = Errors{Mean: t.HeldOut.Error} // validation rows may be among those trained on
	} else if t.Validation, err = evaluateAny(t.Result, problem.Kind(), validation); err != nil {
		return fmt.Errorf("%w (validation rows)", err)
	}
	if t.Test, err = evaluateAny(t.Result, problem.Kind(), test); err != nil {
		return fmt.Errorf("%w (test rows)", err)
	}
	t.Relative = math.NaN()
	if stl != nil && stl.Test.Mean > 0 && t.Test.Task != nil {
		t.Relative = t.Test.Mean / stl.Test.Mean
	}
	return nil
}
