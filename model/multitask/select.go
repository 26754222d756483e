package multitask

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/floats"

	"l2mt/data"
	"l2mt/data/view"
)

// SelectByRidge returns the step that keeps the k features with the best scores, ties going to
// the lower column, as the paper prepares 20newsgroups and RCV1. Every class c, or the target, has
// the weights w_c of a ridge regression of its indicator on all rows,
//
//	minimise over w_c and b_c  ||X w_c + b_c - y_c||^2 + ||w_c||^2
//
// which is single-task learning. The score of feature j is sum_c w_cj^2 times its variance.
func SelectByRidge(
	ctx context.Context, d *data.Dataset, k, workers int,
) (view.Step, error) {
	step := view.Step{
		Kind: view.Select,
		Cols: d.X.Cols(),
	}
	if k < 1 || k > step.Cols {
		return step, data.Invalid("%s: ridge selection: %d features are to be kept of %d; it must be one at least, and no more than there are",
			d.Name, k, step.Cols)
	}
	weights, err := ridgeWeights(ctx, d, Options{
		Tolerance: 1e-5,
		Workers:   workers,
	})
	if err != nil {
		return step, err
	}
	spread, err := view.Fit(view.Standardise, d.X)
	score := make([]float64, step.Cols)
	for j, deviation := range spread.Deviation {
		w := weights.W.RawRowView(j)
		score[j] = -float64(float32(floats.Dot(w, w) * deviation * deviation)) // equal but for rounding
	}
	if floats.Min(score) == 0 {
		err = data.Invalid("%s: ridge selection: the rows have one class or one target only; nothing distinguishes features", d.Name)
	}
	best := make([]int, len(score))
	floats.ArgsortStable(score, best)
	step.Columns = slices.Sorted(slices.Values(best[:k]))
	return step, err
}

// ridgeWeights fits the indicators of all classes, or the target.
func ridgeWeights(ctx context.Context, d *data.Dataset, o Options) (*Result, error) {
	p := &data.ProblemData{}
	targets := max(1, len(d.Classes))
	for c := range targets {
		y := slices.Clone(d.Target)
		for i, class := range d.Label {
			y = append(y, 0)
			if int(class) == c {
				y[i] = 1
			}
		}
		task := data.TaskData{Task: &data.Task{Kind: data.Regression}}
		task.TrainSet = data.Samples{
			X: d.X,
			Y: y,
		}
		p.Tasks = append(p.Tasks, task)
	}
	set, err := Training(p)
	if err != nil {
		return nil, err
	}
	rows := float64(d.X.Rows() * targets) // Omega is I/m
	return Fit(ctx, registry["stl"], set, Params{Lambda1: 2 / rows}, o)
}
