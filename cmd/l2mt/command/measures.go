package command

import (
	"fmt"
	"io"
	"math"
	"slices"

	"l2mt/data"
	"l2mt/data/files"
	"l2mt/model/evidence"
)

// What predicts a task: the model and, beside it, the mean of the targets that it was fitted
// on (of classes their shares), single-task learning, and one model for all tasks.
const (
	byModel  = "model"
	byMean   = "mean"
	bySTL    = "STL"
	byPooled = "pooled"
)

// taskReport is how well a task is predicted, by what predicts it.
type taskReport struct {
	Task string                    `json:"task"`
	By   map[string]evidence.Score `json:"by"`
}

// meanOf is the mean of tasks.
func meanOf(tasks []taskReport) taskReport {
	m := taskReport{Task: "mean", By: map[string]evidence.Score{}}
	for by := range tasks[0].By {
		var all []evidence.Score
		for _, t := range tasks {
			all = append(all, t.By[by])
		}
		m.By[by] = evidence.MeanScore(all)
	}
	return m
}

// goodOf is what is best at 1.
func goodOf(s evidence.Score, k data.Kind) files.Float {
	if k == data.Classification {
		return s.AUC
	}
	return s.R2
}

// units are what errors are called.
func units(k data.Kind) (error, good, loss string) {
	if k == data.Classification {
		return "error", "AUC", "log loss"
	}
	return "RMSE", "R^2", "nMSE"
}

// mostListed bounds the tasks that are listed as text; JSON has all.
const mostListed = 200

// writeTasks lists tasks, and behind them what is of all.
func writeTasks(w io.Writer, kind data.Kind, tasks []taskReport, all ...taskReport) {
	what, good, _ := units(kind)
	heads := []string{"rows", what, "+-", good}
	rivals := []string{byMean, bySTL, byPooled}
	rivals = slices.DeleteFunc(rivals, func(by string) bool { _, has := all[0].By[by]; return !has })
	for _, by := range rivals {
		heads = append(heads, by+" "+what, good)
	}
	if kind == data.Classification {
		heads = append(heads, "log loss", "Brier")
	}
	t := newGrid(append(heads, "task")...)
	for _, v := range slices.Concat(tasks[:min(len(tasks), mostListed)], all) {
		s := v.By[byModel]
		cells := []any{s.Rows, errorGap(s.Error), errorGap(s.StandardError), goodOf(s, kind)}
		for _, by := range rivals {
			cells = append(cells, errorGap(v.By[by].Error), goodOf(v.By[by], kind))
		}
		if kind == data.Classification {
			cells = append(cells, s.LogLoss, s.Brier)
		}
		t.row(append(cells, v.Task)...)
	}
	t.write(w)
	if more := len(tasks) - mostListed; more > 0 {
		fmt.Fprintf(w, "(%d more tasks: --json lists them)\n", more)
	}
}

// errorGap writes an error, very small and large ones with four digits.
func errorGap(v files.Float) string {
	if v != 0 && v < 5e-4 || v >= 1e6 && v <= math.MaxFloat64 {
		return number(float64(v))
	}
	return decimals(v)
}
