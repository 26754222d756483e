package command

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"l2mt/data"
	"l2mt/data/files"
	"l2mt/data/format"
	"l2mt/infer/report"
)

// units are the names of errors.
func units(k data.Kind) (error, good, loss string) {
	if k == data.Classification {
		return "error", "AUC", "log loss"
	}
	return "RMSE", "R^2", "squared error"
}

// listing is how many tasks are printed.
type listing struct {
	Tasks bool `help:"List all tasks, not only the best and the worst."`
}

const (
	// fewTasks are listed whole, and of more as many as halfListed of each end.
	fewTasks   = 12
	halfListed = 4
	// enoughHeld is how many rows held out rank a task: a single one may be right by chance.
	enoughHeld = 5
	// lineWidth is how wide a terminal is at least.
	lineWidth = 80
)

// count counts things: "1 task", "2 tasks".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// answer says in a sentence how well rows are predicted.
func answer(m report.Measured, kind data.Kind, rows string) string {
	r := m.Recipe
	what := cmp.Or(format.Abridge(r.Targets), "the target")
	if r.Task != "" {
		what += " by " + r.Task
	}
	s := m.Overall().By[report.ByModel]
	mean := m.Mean.By[report.ByModel].Error
	switch {
	case kind == data.Classification:
		what += fmt.Sprintf(": %.1f %% of %s are predicted wrong, as the mean of tasks %.1f %%; AUC %s, log loss %.4f, Brier score %.4f.",
			100*s.Error, rows, 100*mean, decimals(s.AUC), s.LogLoss, s.Brier)
		if !math.IsNaN(float64(s.AveragePrecision)) {
			what += fmt.Sprintf(" Of %s %s are found (recall)", m.PositiveClass(), percent(float64(s.Recall)))
			if s.Recall > 0 {
				what += fmt.Sprintf(", %s of those taken for it are right (precision)", percent(float64(s.Precision)))
			}
			what += fmt.Sprintf("; average precision %s.", decimals(s.AveragePrecision))
		}
		return what
	case len(r.Targets) > 1:
		return fmt.Sprintf("%s: the mean R^2 is %.4f, of %s.", what, s.R2, rows)
	}
	what += fmt.Sprintf(": the error (RMSE) of %s is %s", rows, number(s.Error))
	if s.R2 <= 1 { // else targets are all the same
		what += fmt.Sprintf(", %s of the standard deviation (R^2 %.4f)", percent(math.Sqrt(float64(1-s.R2))), s.R2)
	}
	return what + fmt.Sprintf("; the mean of tasks is %s.", number(mean))
}

// ends are the best tasks and the worst that enough rows rank.
func ends(m report.Measured) []report.Task {
	var ranked []report.Task
	for _, t := range m.Tasks {
		if t.By[report.ByModel].Held >= enoughHeld {
			ranked = append(ranked, t)
		}
	}
	slices.SortStableFunc(ranked, func(a, b report.Task) int {
		return cmp.Compare(m.Error(a, report.ByModel), m.Error(b, report.ByModel))
	})
	n := len(ranked)
	if n < 2*halfListed {
		return m.Tasks[:2*halfListed]
	}
	return slices.Concat(ranked[:halfListed], ranked[n-halfListed:])
}

// write lists tasks, and behind them the numbers of all.
func (l listing) write(w io.Writer, m report.Measured, kind data.Kind) {
	what, good, _ := units(kind)
	heads := []string{"rows", what, "+-", good}
	words := map[string]string{report.ByMean: "its mean", report.BySTL: "alone", report.ByPooled: "as one"}
	var rivals []string
	for _, by := range []string{report.ByMean, report.BySTL, report.ByPooled} {
		if _, known := m.Mean.By[by]; known {
			rivals = append(rivals, by)
			heads = append(heads, words[by])
		}
	}
	t := newGrid(append(heads, "task")...)
	row := func(v report.Task, judged bool) {
		s := v.By[report.ByModel]
		worth := report.Good(s, kind)
		if !judged {
			worth = files.Float(math.NaN())
		}
		cells := []any{s.Rows, number(s.Error), number(s.StandardError), worth}
		for _, by := range rivals {
			cells = append(cells, number(v.By[by].Error))
		}
		t.row(append(cells, v.Task)...)
	}
	listed := m.Tasks
	if !l.Tasks && len(listed) > fewTasks {
		listed = ends(m)
	}
	hidden := len(m.Tasks) - len(listed)
	for i, v := range listed {
		if hidden > 0 && i == halfListed {
			gap := slices.Repeat([]any{""}, len(heads))
			t.row(append(gap, fmt.Sprintf("(%d more: --tasks)", hidden))...)
		}
		row(v, true)
	}
	several := len(m.Recipe.Targets) > 1
	if !several {
		row(m.All, true)
	}
	row(m.Mean, several || kind != data.Regression) // R^2 is no mean over tasks of one target
	t.named(w)
}
