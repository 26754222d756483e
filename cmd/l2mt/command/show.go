package command

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/infer/report"
	"l2mt/model/saved"
)

type showCmd struct {
	Model string `arg:"" type:"path" help:"Directory of a saved model, which l2mt fit --out wrote."`
	Task  string `help:"Task to show; by default all tasks."`
	Top   int    `default:"10" help:"Number of coefficients to show, the largest first."`
}

func (c *showCmd) Run(e *env) error {
	fit, err := saved.Load(c.Model)
	if err != nil {
		return err
	}
	task := saved.Average
	if c.Task != "" {
		task, err = fit.Task(c.Task)
		if err != nil {
			return errUsage.Errorf("%w", err)
		}
	}
	m, err := report.Explain(fit, c.Top)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Model, err)
	}
	return e.print(struct {
		*report.Model
		Task    int      `json:"-"`
		Related *related `json:"-"`
	}{m, task, relatedOf(m)}, "show")
}

// related are the correlations of tasks, for print.
type related struct {
	plot.Correlation
	Pairs []pair // the strongest first
	Same  bool   // says that all pairs have one number
}

// pair is a pair of tasks and their correlation.
type pair struct {
	A, B int
	V    float64
}

// relatedOf are the correlations of a model's tasks.
func relatedOf(m *report.Model) *related {
	var rows []int
	for _, task := range m.Tasks {
		rows = append(rows, task.Rows)
	}
	return relate("correlations of tasks", m.TaskNames(),
		m.Correlation, rows...)
}

// relate is nil for no correlations. Where rows are known, a number that all pairs have stands
// alone, and a task of a single row, which is as the others are, is in no pair.
func relate(title string, tasks []string, correlation [][]float64, rows ...int) *related {
	if correlation == nil {
		return nil
	}
	r := &related{Correlation: plot.Correlation{
		Title:       title,
		Tasks:       tasks,
		Correlation: correlation,
	}}
	for i, row := range correlation {
		for j, v := range row[:i] {
			if len(rows) == 0 || min(rows[i], rows[j]) > 1 {
				r.Pairs = append(r.Pairs, pair{j, i, v})
			}
		}
	}
	slices.SortStableFunc(r.Pairs, func(a, b pair) int {
		return cmp.Compare(math.Abs(b.V), math.Abs(a.V))
	})
	n := len(r.Pairs)
	if n > 0 && len(rows) > 0 {
		r.Same = r.Pairs[0].V == r.Pairs[n-1].V
	}
	return r
}
