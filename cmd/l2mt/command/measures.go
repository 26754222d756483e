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
	"l2mt/data/table"
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
	m := taskReport{Task: "mean of tasks", By: map[string]evidence.Score{}}
	for by := range tasks[0].By {
		var scores []evidence.Score
		for _, t := range tasks {
			scores = append(scores, t.By[by])
		}
		m.By[by] = evidence.MeanScore(scores)
	}
	return m
}

// goodOf is the measure that is best at 1.
func goodOf(s evidence.Score, k data.Kind) files.Float {
	if k == data.Classification {
		return s.AUC
	}
	return s.R2
}

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

// measured is how well rows are predicted: task by task, as the mean of tasks, and all together.
type measured struct {
	// Positive is the positive class, if all tasks have the same two.
	Positive string       `json:"positive,omitempty"`
	Tasks    []taskReport `json:"tasks"`
	Mean     taskReport   `json:"mean"`
	All      taskReport   `json:"all"`
}

// add adds a task of two classes, one of them positive.
func (m *measured) add(t taskReport, positive string) {
	if m.Tasks == nil {
		m.Positive = positive
	} else if m.Positive != positive {
		m.Positive = ""
	}
	m.Tasks = append(m.Tasks, t)
}

// PositiveClass names it to a reader.
func (m measured) PositiveClass() string {
	if m.Positive == "" {
		return "the positive class"
	}
	return fmt.Sprintf("class %q", m.Positive)
}

// count counts things: "1 task", "2 tasks".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// overall is what speaks for all tasks: all rows, or the mean of targets in units of their own.
func (m measured) overall(r table.Recipe) taskReport {
	if len(r.Targets) > 1 {
		return m.Mean
	}
	return m.All
}

// answer says in a sentence how well rows are predicted.
func (m measured) answer(r table.Recipe, kind data.Kind, rows string) string {
	what := cmp.Or(format.Abridge(r.Targets), "the target")
	if r.Task != "" {
		what += " by " + r.Task
	}
	s := m.overall(r).By[byModel]
	mean := m.Mean.By[byModel].Error
	switch {
	case kind == data.Classification:
		what += fmt.Sprintf(": %.1f %% of %s are predicted wrong", 100*s.Error, rows)
		what += fmt.Sprintf(", as the mean of tasks %.1f %%; AUC %s", 100*mean, decimals(s.AUC))
		what += fmt.Sprintf(", log loss %.4f, Brier score %.4f.", s.LogLoss, s.Brier)
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
	share := math.Sqrt(max(0, float64(1-s.R2)))
	what += fmt.Sprintf(": the error (RMSE) of %s is %s, %s of the", rows, number(s.Error), percent(share))
	return what + fmt.Sprintf(" standard deviation (R^2 %.4f); the mean of tasks is %s.", s.R2, number(mean))
}

// ends are the best tasks and the worst that enough rows rank.
func (m measured) ends(r table.Recipe) (ends []taskReport) {
	key := func(t taskReport) float64 {
		s := t.By[byModel]
		switch {
		case s.Held < enoughHeld:
			return math.NaN()
		case len(r.Targets) > 1:
			return -float64(s.R2)
		}
		return float64(s.Error)
	}
	var ranked []taskReport
	for _, t := range m.Tasks {
		if !math.IsNaN(key(t)) {
			ranked = append(ranked, t)
		}
	}
	slices.SortStableFunc(ranked, func(a, b taskReport) int {
		return cmp.Compare(key(a), key(b))
	})
	n := len(ranked)
	if n < 2*halfListed {
		return m.Tasks[:2*halfListed]
	}
	return slices.Concat(ranked[:halfListed], ranked[n-halfListed:])
}

// write lists tasks, and behind them the numbers of all.
func (m measured) write(w io.Writer, r table.Recipe, kind data.Kind, every bool) {
	what, good, _ := units(kind)
	heads := []string{"rows", what, "+-", good}
	rivals := []string{byMean, bySTL, byPooled}
	rivals = slices.DeleteFunc(rivals, func(by string) bool {
		_, known := m.Mean.By[by]
		return !known
	})
	words := map[string]string{byMean: "its mean", bySTL: "alone", byPooled: "as one"}
	for _, by := range rivals {
		heads = append(heads, words[by])
	}
	t := newGrid(append(heads, "task")...)
	row := func(v taskReport, worth files.Float) {
		s := v.By[byModel]
		cells := []any{s.Rows, number(s.Error), number(s.StandardError), worth}
		for _, by := range rivals {
			cells = append(cells, number(v.By[by].Error))
		}
		t.row(append(cells, v.Task)...)
	}
	listed := m.Tasks
	if !every && len(listed) > fewTasks {
		listed = m.ends(r)
	}
	hidden := len(m.Tasks) - len(listed)
	for i, v := range listed {
		if hidden > 0 && i == halfListed {
			gap := slices.Repeat([]any{""}, len(heads))
			t.row(append(gap, fmt.Sprintf("(%d more: --tasks)", hidden))...)
		}
		row(v, goodOf(v.By[byModel], kind))
	}
	worth := goodOf(m.Mean.By[byModel], kind)
	if len(r.Targets) < 2 {
		row(m.All, goodOf(m.All.By[byModel], kind))
		if kind == data.Regression {
			worth = files.Float(math.NaN()) // a mean over tasks says nothing
		}
	}
	row(m.Mean, worth)
	t.named(w)
}
