package command

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"l2mt/data/format"
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
		if task, err = fit.Task(c.Task); err != nil {
			return errUsage.Errorf("%w", err)
		}
	}
	m, err := report.Explain(fit, c.Top)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Model, err)
	}
	return e.print(m, func(w io.Writer) { writeModel(w, m, task) })
}

// writeModel writes the parts of a model, and the columns that count in a task or the average.
func writeModel(w io.Writer, s *report.Model, task int) {
	say := func(format string, args ...any) { wrap(w, fmt.Sprintf(format, args...)) }
	if s.Outcome.Text != "" {
		say("%s\n%s", size(&s.Outcome), s.Outcome.Text)
		say("the method: %s", s.Outcome.Title)
	}
	for _, note := range s.Outcome.Notes {
		say("%s", note)
	}
	for _, c := range s.Recipe.Columns {
		if c.Levels != nil && c.Date == "" {
			say("column %q has %d levels: %s", c.Name, len(c.Levels), format.Abridge(c.Levels))
		}
	}
	if s.Classes != nil {
		say("%d classes: %s", len(s.Classes), format.Abridge(s.Classes))
	}
	for _, key := range slices.Sorted(maps.Keys(s.Versions)) {
		say("%s %s", key, s.Versions[key])
	}
	fmt.Fprintln(w)
	t := newGrid("rows", "intercepts", "task")
	var rows []int
	for i, task := range s.Tasks {
		rows = append(rows, task.Rows)
		if i >= mostListed {
			continue
		}
		biases := ""
		if task.Positive != "" {
			task.Name += fmt.Sprintf(", %s against %s", task.Positive, task.Negative)
		}
		for _, b := range s.Linear(i).B {
			biases += " " + number(b)
		}
		t.row(task.Rows, biases, task.Name)
	}
	t.named(w)
	if rest := len(s.Tasks) - mostListed; rest > 0 {
		fmt.Fprintf(w, "(%d more: --json has all)\n", rest)
	}
	writeColumns(w, s, task)
	if s.Correlation != nil {
		fmt.Fprintln(w)
		writeCorrelations(w, "correlations of tasks", s.TaskNames(), s.Correlation, rows)
	}
}

// mostListed bounds the tasks that are listed.
const mostListed = 20

// writeColumns writes what columns add at the knots of their curves.
func writeColumns(w io.Writer, s *report.Model, task int) {
	whose := "the mean of all tasks"
	if task != saved.Average {
		whose = s.Tasks[task].Name
	}
	if s.Curves != nil {
		wrap(w, fmt.Sprintf("\nwhat a column adds at some of its values, for %s, %s, and how far tasks are from their mean", whose, s.Unit()))
		t := newGrid("values", "", "", "", "", "tasks", "column")
		for _, c := range s.Curves {
			y := c.Shared
			if task != saved.Average {
				y = c.Tasks[task]
			}
			row := slices.Repeat([]any{""}, len(t.Heads)-2)
			adds := slices.Clone(row)
			knots := c.Knots[:min(len(c.Knots), len(row))]
			if c.Days && len(knots) == len(row) { // a date is as wide as two numbers
				knots = slices.Concat(knots[:2], knots[3:])
			}
			for i, knot := range knots {
				row[i] = c.Label(knot)
				adds[i] = number(y[slices.Index(c.X, knot)])
			}
			t.row(append(row, "", c.Column)...)
			t.row(append(adds, number(c.Apart), "  adds")...)
		}
		t.named(w)
	}
}

// mostInTable bounds the tasks whose correlations are all printed.
const mostInTable = 8

// writeCorrelations prints the matrix of few tasks, and the strongest pairs of more. Where rows are
// known, a number that all pairs have stands alone, and a task of a single row, which is as the
// others are, is in no pair.
func writeCorrelations(w io.Writer, title string, names []string, correlation [][]float64, rows []int) {
	type pair struct {
		a, b int
		v    float64
	}
	var pairs []pair
	for i, row := range correlation {
		for j, v := range row[:i] {
			if rows == nil || min(rows[i], rows[j]) > 1 {
				pairs = append(pairs, pair{j, i, v})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int {
		return cmp.Compare(math.Abs(b.v), math.Abs(a.v))
	})
	last := len(pairs) - 1
	switch {
	case rows != nil && last >= 0 && pairs[0].v == pairs[last].v:
		fmt.Fprintf(w, "%s: %.3f, of every pair\n", title, pairs[0].v)
		return
	case len(names) <= mostInTable:
		fmt.Fprintln(w, title)
		for i, row := range correlation {
			for _, v := range row {
				fmt.Fprintf(w, "%7.3f", v)
			}
			fmt.Fprintf(w, "  %s\n", names[i])
		}
		return
	case last < 0:
		return
	}
	fmt.Fprintf(w, "%s, the strongest\n", title)
	for _, p := range pairs[:min(len(pairs), 10)] {
		fmt.Fprintf(w, "%6.3f  %s and %s\n", p.v, names[p.a], names[p.b])
	}
}
