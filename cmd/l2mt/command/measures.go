package command

import (
	"fmt"
	"io"
	"math"
	"slices"

	"l2mt/data"
	"l2mt/infer/compare"
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

// measures are scores of tasks, by what predicts them.
type measures map[string][]evidence.Score

// taskReport is how well a task is predicted, by what predicts it.
type taskReport struct {
	Task string                 `json:"task"`
	Rows int                    `json:"rows"`
	Held int                    `json:"held_out"`
	By   map[string]scoreReport `json:"by"`
}

// scoreReport is a Score whose gaps JSON can hold.
type scoreReport struct {
	Error         compare.Float `json:"error"`
	StandardError compare.Float `json:"standard_error"`
	AUC           compare.Float `json:"auc"`
	R2            compare.Float `json:"r2"`
	LogLoss       compare.Float `json:"log_loss"`
	Brier         compare.Float `json:"brier"`
}

// report picks of the scores of each.
func (m measures) report(name string, pick func([]evidence.Score) evidence.Score) taskReport {
	t := taskReport{Task: name, By: map[string]scoreReport{}}
	for by, scores := range m {
		s := pick(scores)
		t.Rows, t.Held = s.Rows, s.Held
		t.By[by] = reportOf(s)
	}
	return t
}

func reportOf(s evidence.Score) scoreReport {
	return scoreReport{compare.Float(s.Error), compare.Float(s.StandardError), compare.Float(s.AUC), compare.Float(s.R2), compare.Float(s.LogLoss), compare.Float(s.Brier)}
}

func (s scoreReport) good(k data.Kind) compare.Float {
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
	heads, rivals := []string{"rows", what, "+-", good}, []string{byMean, bySTL, byPooled}
	rivals = slices.DeleteFunc(rivals, func(by string) bool { _, has := all[0].By[by]; return !has })
	for _, by := range rivals {
		heads = append(heads, by+" "+what, good)
	}
	if kind == data.Classification {
		heads = append(heads, "log loss", "Brier")
	}
	t := grid{Heads: append(heads, "task")}
	for _, v := range slices.Concat(tasks[:min(len(tasks), mostListed)], all) {
		s := v.By[byModel]
		cells := []any{v.Rows, errorGap(s.Error), errorGap(s.StandardError), s.good(kind)}
		for _, by := range rivals {
			cells = append(cells, errorGap(v.By[by].Error), v.By[by].good(kind))
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
func errorGap(v compare.Float) string {
	if v != 0 && v < 5e-4 || v >= 1e6 && v <= math.MaxFloat64 {
		return number(float64(v))
	}
	return decimals(v)
}
