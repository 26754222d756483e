package evidence

import (
	"fmt"
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
	// Mean is the mean of Task.
	Mean float64 `json:"mean"`
}

// Evaluate returns the errors of a fit on the given rows, one Samples a task, and none
// where no task has rows. Link, if it is not nil, makes predictions of scores, in place.
func Evaluate(
	r *multitask.Result, kind data.Kind, tasks []data.Samples, link func([]float64),
) (e Errors, err error) {
	if !slices.ContainsFunc(tasks, func(s data.Samples) bool {
		return len(s.Y) > 0
	}) {
		return e, nil
	}
	d, m := r.W.Dims()
	var y [][]float64
	for i, s := range tasks {
		if len(s.Y) == 0 || d%s.X.Cols() != 0 {
			return e, multitask.ErrInvalidData.Errorf("task %d: it needs rows with %d features", i, d)
		}
		y = append(y, s.Y)
	}
	scale := make([]float64, m)
	if kind == data.Regression {
		scale, err = scales(y, true)
		if err != nil {
			return e, err
		}
	}
	for i, s := range tasks {
		f := r.Scores(i, s.X)
		if link != nil {
			link(f)
		}
		mean := stat.Mean(rowErrors(kind, f, s.Y, scale[i]), nil)
		e.Task = append(e.Task, mean)
		e.Mean += mean / float64(m)
	}
	return e, nil
}

// Report returns the errors of a fit in the form that Tune returns them. Where rows of the fit were
// held out, they give the validation error, as the fit may have the validation rows. Link is as in
// Evaluate.
func Report(
	r *multitask.Result, problem *data.ProblemData, held *HeldOut, link func([]float64),
) (*Tuned, error) {
	t := &Tuned{
		Result:  r,
		HeldOut: held,
		Omega:   multitask.Normalised(r.Omega),
	}
	var validation, test []data.Samples
	for _, task := range problem.Tasks {
		validation = append(validation, task.ValidationSet)
		test = append(test, task.TestSet)
	}
	var err error
	if held != nil {
		t.Validation = Errors{Mean: held.Error}
	} else if t.Validation, err = Evaluate(r,
		problem.Kind(), validation, link); err != nil {
		return nil, fmt.Errorf("%w (validation rows)", err)
	}
	t.Test, err = Evaluate(r, problem.Kind(), test, link)
	if err != nil {
		return nil, fmt.Errorf("%w (test rows)", err)
	}
	return t, nil
}
