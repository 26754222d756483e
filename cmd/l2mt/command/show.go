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
	Model string `arg:"" type:"path" help:"Directory that fit has saved a model to."`
	Task  string `help:"Only this task."`
	Top   int    `default:"10" help:"How many coefficients to show, the largest first."`
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
	m, err := report.Explain(fit, task, c.Top)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Model, err)
	}
	return e.print(m, func(w io.Writer) { writeModel(w, m, task) })
}

// writeModel writes the parts of a model, and the columns that count in a task or the average.
func writeModel(w io.Writer, s *report.Model, task int) {
	say := func(format string, args ...any) { wrap(w, fmt.Sprintf(format, args...)) }
	tasks := count(len(s.Tasks), "task")
	features := count(s.Recipe.Width(), "feature")
	say("%s of %s with %s", s.Kind, tasks, features)
	if s.Outcome.Text != "" {
		say("%s", s.Outcome.Text)
		say("the method: %s", s.Outcome.Title)
	}
	if s.Threshold > 0 {
		say("rows are of %s from a probability of %.3g on", s.Outcome.PositiveClass(), s.Threshold)
	}
	if s.Log {
		quantity := "the target"
		if s.Counts > 0 {
			quantity = "the count that is expected"
		}
		say("weights and what columns add are of the logarithm of %s", quantity)
	}
	if s.Recipe.Time != "" {
		say("errors are those of rows that come later by column %q", s.Recipe.Time)
	}
	if s.Recipe.Weight != "" {
		say("rows count as column %q says", s.Recipe.Weight)
	}
	if s.Recipe.Group != nil {
		group := format.Abridge(s.Recipe.Group)
		say("errors are those of rows with another %s", group)
	}
	for _, c := range s.Recipe.Columns {
		if c.Levels != nil {
			say("column %q has %d levels: %s", c.Name, len(c.Levels), format.Abridge(c.Levels))
		}
	}
	if s.Classes != nil {
		say("%d classes: %s", len(s.Classes), format.Abridge(s.Classes))
	}
	for _, step := range s.Recipe.Steps {
		if n := step.Compared(); n > 0 {
			say("the model contains %d of the rows that it was fitted on", n)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.Versions)) {
		wrap(w, key+" "+s.Versions[key])
	}
	fmt.Fprintln(w)
	t := newGrid("rows", "intercepts", "standard error", "task")
	var rows []int
	for _, task := range s.Tasks {
		rows = append(rows, task.Rows)
	}
	for i, task := range s.Tasks[:min(len(s.Tasks), mostListed)] {
		name := task.Name
		deviation := ""
		biases := ""
		if task.Positive != "" {
			name = fmt.Sprintf("%s, %s against %s", task.Name, task.Positive, task.Negative)
		}
		if task.StandardError > 0 {
			deviation = number(task.StandardError)
		}
		for _, b := range s.Linear(i).B {
			biases += " " + number(b)
		}
		t.row(task.Rows, biases, deviation, name)
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

// writeColumns writes the weights of columns, what they add at the knots of their curves, or how
// much they count in a kernel.
func writeColumns(w io.Writer, s *report.Model, task int) {
	whose := "the mean of all tasks"
	if task != saved.Average {
		whose = s.Tasks[task].Name
	}
	for _, of := range s.Weights {
		if of.Class != "" {
			of.Class = ", " + of.Class + " against the rest"
		}
		wrap(w, fmt.Sprintf("\nthe largest weights of %s%s, for features as they are in a table and for a standard deviation of these", whose, of.Class))
		t := newGrid("weight", "of a deviation", "feature")
		for _, c := range of.Features {
			v := c.For(task)
			t.row(number(v), number(c.Scaled(v)), c.Feature)
		}
		t.named(w)
	}
	if s.Curves != nil {
		wrap(w, fmt.Sprintf("\nwhat a column adds at some of its values, for %s, %s, and how far tasks are from their mean", whose, s.Unit()))
		widest := 0
		for _, c := range s.Curves {
			widest = max(widest, len(c.Knots))
		}
		t := grid{Heads: slices.Concat([]string{"values"},
			make([]string, widest-1), []string{"tasks", "column"})}
		for _, c := range s.Curves {
			y := c.Shared
			if task != saved.Average {
				y = c.Tasks[task]
			}
			row := slices.Repeat([]any{""}, widest)
			adds := slices.Repeat([]any{""}, widest)
			for i, knot := range c.Knots {
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

// writeCorrelations prints the matrix of few tasks, and the strongest pairs of more. A task of a
// single row, where rows are known, is as the others are, and in no such pair.
func writeCorrelations(w io.Writer, title string, names []string, correlation [][]float64, rows []int) {
	if len(names) <= mostInTable {
		fmt.Fprintln(w, title)
		for i, row := range correlation {
			for _, v := range row {
				fmt.Fprintf(w, "%7.3f", v)
			}
			fmt.Fprintf(w, "  %s\n", names[i])
		}
		return
	}
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
	if len(pairs) == 0 {
		return
	}
	slices.SortStableFunc(pairs, func(a, b pair) int {
		return cmp.Compare(math.Abs(b.v), math.Abs(a.v))
	})
	if pairs[0].v == pairs[len(pairs)-1].v {
		fmt.Fprintf(w, "%s: %.3f, of every pair\n", title, pairs[0].v)
		return
	}
	fmt.Fprintf(w, "%s, the strongest\n", title)
	for _, p := range pairs[:min(len(pairs), 10)] {
		fmt.Fprintf(w, "%6.3f  %s and %s\n", p.v, names[p.a], names[p.b])
	}
}
