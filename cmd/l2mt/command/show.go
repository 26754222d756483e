package command

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/cmd/l2mt/internal/run"
	"l2mt/data"
	"l2mt/data/format"
	"l2mt/model/saved"
)

type showCmd struct {
	Model string `arg:"" type:"path" help:"Directory that fit or infer saved a model to."`
	Task  string `help:"Only this task."`
	Top   int    `default:"10" help:"How many coefficients to show, the largest first."`
}

// shownModel is what show prints.
type shownModel struct {
	*saved.Fit
	Weights     []shownWeights `json:"weights"`
	Correlation [][]float64    `json:"correlation,omitempty"`
	// Curves are those of the columns that bend, Importance that of a kernel's columns.
	Curves     []plot.Curve     `json:"curves,omitempty"`
	Importance []run.Importance `json:"importance,omitempty"`

	task int // whose weights or curves are shown, or the Average
}

// shownWeights are the largest weights, of a class where there are more than two.
type shownWeights struct {
	Class    string       `json:"class,omitempty"`
	Features []run.Weight `json:"features"`
}

func (c *showCmd) Run(e *env) error {
	m, err := saved.Load(c.Model)
	if err != nil {
		return err
	}
	s := shownModel{Fit: m, task: saved.Average}
	if c.Task != "" {
		if s.task, err = m.Task(c.Task); err != nil {
			return fmt.Errorf("%w: %w", errUsage, err)
		}
	}
	var fit struct {
		Unclear bool `json:"correlation_unclear"`
	}
	if err := run.Optional(run.LoadJSON(filepath.Join(c.Model, run.FitFile), &fit)); err != nil {
		return err
	}
	if !fit.Unclear {
		s.Correlation = run.Correlation(m.Omega)
	}
	if s.Curves, err = run.Curves(m); err != nil {
		return err
	}
	if s.Importance, err = run.Importances(m); err != nil {
		return err
	}
	s.Curves, s.Importance = s.Curves[:min(len(s.Curves), c.Top)], s.Importance[:min(len(s.Importance), c.Top)]
	for k, b := range m.Linear(s.task).B {
		if math.IsInf(b, -1) {
			continue // the task cannot have the class
		}
		w := shownWeights{Features: run.Weights(m, k, s.task)}
		if w.Features = w.Features[:min(len(w.Features), c.Top)]; m.Classes != nil {
			w.Class = m.Classes[k]
		}
		s.Weights = append(s.Weights, w)
	}
	return e.print(s, s.write)
}

func (s shownModel) write(w io.Writer) {
	fmt.Fprintf(w, "%s, %s of %d tasks with %d features, lambda1 = %s\n", s.Model, s.Kind, len(s.Tasks), len(s.Features), run.Number(s.Params.Lambda1))
	if s.Recipe.Task != "" {
		fmt.Fprintf(w, "column %q names the task\n", s.Recipe.Task)
	}
	for _, c := range s.Recipe.Columns {
		if c.Levels != nil {
			fmt.Fprintf(w, "column %q has %d levels: %s\n", c.Name, len(c.Levels), format.Abridge(c.Levels))
		}
	}
	if s.Classes != nil {
		fmt.Fprintf(w, "%d classes: %s\n", len(s.Classes), format.Abridge(s.Classes))
	}
	bent := false
	for _, step := range s.Recipe.Steps {
		bent = bent || slices.Contains([]string{data.StepCurves, data.StepGauss, data.StepLaplace}, step.Kind)
		fmt.Fprintf(w, "step %s", step.Kind)
		if n := len(step.Landmarks); n > 0 {
			fmt.Fprintf(w, ": the model contains %d of the rows that it was fitted on", n)
		}
		fmt.Fprintln(w)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Versions)) {
		fmt.Fprintf(w, "%s %s\n", key, s.Versions[key])
	}
	fmt.Fprintln(w)
	t := run.Table{Heads: []string{"rows", "intercepts", "standard error", "task"}}
	for i, of := range s.Tasks[:min(len(s.Tasks), mostListed)] {
		name, deviation, biases := of.Name, "", ""
		if of.Positive != "" {
			name = fmt.Sprintf("%s, %s against %s", of.Name, of.Positive, of.Negative)
		}
		if of.StandardError > 0 {
			deviation = run.Number(of.StandardError)
		}
		for _, b := range s.Linear(i).B {
			biases += " " + run.Number(b)
		}
		t.Row(of.Rows, biases, deviation, name)
	}
	t.Write(w)
	s.writeBent(w)
	for _, of := range s.Weights {
		if !bent {
			s.writeWeights(w, of)
		}
	}
	if s.Correlation != nil {
		fmt.Fprintln(w)
		writeCorrelations(w, "task correlations", s.TaskNames(), s.Correlation)
	}
}

// of is the task whose weights or curves are shown.
func (s shownModel) of() string {
	if s.task == saved.Average {
		return "the mean of all tasks"
	}
	return s.Tasks[s.task].Name
}

// writeBent writes what columns add at the knots of their curves, or what counts in a kernel.
func (s shownModel) writeBent(w io.Writer) {
	if s.Curves != nil {
		fmt.Fprintf(w, "\nwhat columns add at the knots of their curves, of %s, and how far tasks are from their mean\n", s.of())
		most := 0
		for _, c := range s.Curves {
			most = max(most, len(c.Knots))
		}
		t := run.Table{Heads: slices.Concat([]string{"knots"}, make([]string, most-1), []string{"tasks", "column"})}
		for _, c := range s.Curves {
			y := c.Shared
			if s.task != saved.Average {
				y = c.Tasks[s.task]
			}
			at, adds := slices.Repeat([]any{""}, most), slices.Repeat([]any{""}, most)
			for i, knot := range c.Knots {
				at[i], adds[i] = run.Number(knot), run.Number(y[slices.Index(c.X, knot)])
			}
			t.Row(append(at, "", c.Column)...)
			t.Row(append(adds, run.Number(c.Apart), "  adds")...)
		}
		t.Write(w)
	}
	if s.Importance != nil {
		fmt.Fprintln(w, "\nhow much predictions, the mean of all tasks, change where the values of a column are shuffled, beside their standard deviation")
		t := run.Table{Heads: []string{"change", "column"}}
		for _, c := range s.Importance {
			t.Row(c.Change, c.Column)
		}
		t.Write(w)
	}
}

func (s shownModel) writeWeights(w io.Writer, of shownWeights) {
	what := s.of()
	if of.Class != "" {
		what += ", " + of.Class + " against the rest"
	}
	fmt.Fprintf(w, "\nthe largest weights of %s, for features as they are in a table and for a standard deviation of these\n", what)
	t := run.Table{Heads: []string{"weight", "of a deviation", "feature"}}
	for _, c := range of.Features {
		v := c.Of(s.task)
		t.Row(run.Number(v), run.Number(c.Scaled(v)), c.Feature)
	}
	t.Write(w)
}

// mostInTable bounds the tasks whose correlations are all printed.
const mostInTable = 12

// writeCorrelations prints the matrix of few tasks, and the strongest pairs of more.
func writeCorrelations(w io.Writer, title string, names []string, correlation [][]float64) {
	if len(names) <= mostInTable {
		fmt.Fprintln(w, title)
		t := tabwriter.NewWriter(w, 0, 0, 1, ' ', tabwriter.AlignRight)
		for i, row := range correlation {
			for _, v := range row {
				fmt.Fprintf(t, "%.3f\t", v)
			}
			fmt.Fprintf(t, "  %s\n", names[i])
		}
		t.Flush()
		return
	}
	type pair struct {
		a, b int
		v    float64
	}
	var pairs []pair
	for i, row := range correlation {
		for j, v := range row[:i] {
			pairs = append(pairs, pair{j, i, v})
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(math.Abs(b.v), math.Abs(a.v)) })
	if pairs[0].v == pairs[len(pairs)-1].v {
		fmt.Fprintf(w, "%s: %.3f, of every pair\n", title, pairs[0].v)
		return
	}
	fmt.Fprintf(w, "%s, the strongest\n", title)
	for _, p := range pairs[:10] {
		fmt.Fprintf(w, "%6.3f  %s and %s\n", p.v, names[p.a], names[p.b])
	}
}
