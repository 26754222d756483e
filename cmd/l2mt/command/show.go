package command

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/cmd/l2mt/internal/run"
	"l2mt/data"
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
	Shared       []coefficients `json:"shared"`
	Coefficients []coefficients `json:"coefficients"`
	Correlation  [][]float64    `json:"correlation"`
	// Curves are those of the columns that bend, Importance that of a kernel's columns.
	Curves     []plot.Curve     `json:"curves,omitempty"`
	Importance []run.Importance `json:"importance,omitempty"`
}

// coefficients are those of a task, or of one of its classes.
type coefficients struct {
	Task  string        `json:"task,omitempty"`
	Class string        `json:"class,omitempty"`
	Bias  float64       `json:"bias"`
	Top   []coefficient `json:"top"`
}

// coefficient is the weight of a feature as it is in the table, and of one
// standard deviation of it if the fit was standardised.
type coefficient struct {
	Feature string  `json:"feature"`
	Weight  float64 `json:"weight"`
	Scaled  float64 `json:"scaled"`
}

func (c *showCmd) Run(e *env) error {
	m, err := saved.Load(c.Model)
	if err != nil {
		return err
	}
	s := shownModel{Fit: m}
	var said fitReport
	if err := run.Optional(run.LoadJSON(filepath.Join(c.Model, run.FitFile), &said)); err != nil {
		return err
	}
	if !said.Untold {
		s.Correlation = run.Correlation(m.Omega)
	}
	if s.Curves, err = run.Curves(m); err == nil {
		s.Importance, err = run.Importances(m)
	}
	if err != nil {
		return err
	}
	s.Curves, s.Importance = s.Curves[:min(len(s.Curves), c.Top)], s.Importance[:min(len(s.Importance), c.Top)]
	s.Shared = c.coefficients(m, saved.Average, "")
	for i, t := range m.Tasks {
		if c.Task == "" || c.Task == t.Name {
			s.Coefficients = append(s.Coefficients, c.coefficients(m, i, t.Name)...)
		}
	}
	if s.Coefficients == nil {
		_, err := m.Task(c.Task)
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	return e.print(s, s.write)
}

// coefficients are those of a task, class by class.
func (c *showCmd) coefficients(m *saved.Fit, task int, name string) (all []coefficients) {
	l := m.Linear(task)
	for k, b := range l.B {
		of := coefficients{Task: name, Bias: b}
		if m.Classes != nil {
			of.Class = m.Classes[k]
		}
		if math.IsInf(b, -1) {
			continue // the task lacks the class
		}
		var w []float64
		for j := k; j < len(l.W); j += len(l.B) {
			w = append(w, l.W[j])
		}
		of.Top = c.largest(m, w)
		all = append(all, of)
	}
	return all
}

// largest are the coefficients that count most, by the scale of their features.
func (c *showCmd) largest(m *saved.Fit, w []float64) []coefficient {
	all := make([]coefficient, len(w))
	for j, v := range w {
		all[j] = coefficient{m.Features[j], v, v}
		if m.Scale != nil {
			all[j].Scaled = v * m.Scale.Deviation[j]
		}
	}
	slices.SortStableFunc(all, func(a, b coefficient) int { return cmp.Compare(max(b.Scaled, -b.Scaled), max(a.Scaled, -a.Scaled)) })
	return all[:min(len(all), c.Top)]
}

func (s shownModel) write(w io.Writer) {
	fmt.Fprintf(w, "%s, %s of %d tasks with %d features, lambda1 = %s\n", s.Model, s.Kind, len(s.Tasks), len(s.Features), run.Number(s.Params.Lambda1))
	if s.Recipe.Task != "" {
		fmt.Fprintf(w, "column %q names the task\n", s.Recipe.Task)
	}
	for _, c := range s.Recipe.Columns {
		if c.Levels != nil {
			fmt.Fprintf(w, "column %q has %d levels: %s\n", c.Name, len(c.Levels), few(c.Levels))
		}
	}
	if s.Classes != nil {
		fmt.Fprintf(w, "%d classes: %s\n", len(s.Classes), few(s.Classes))
	}
	for _, step := range s.Recipe.Steps {
		fmt.Fprintf(w, "step %s", step.Kind)
		if n := len(step.Landmarks); n > 0 {
			fmt.Fprintf(w, ": the model contains %d of the rows that it was fitted on", n)
		}
		fmt.Fprintln(w)
	}
	if s.Scale != nil {
		fmt.Fprintln(w, "fitted on standardised features; weights are for the features as they are in a table, in brackets for a standard deviation")
	}
	for _, key := range slices.Sorted(maps.Keys(s.Versions)) {
		fmt.Fprintf(w, "%s %s\n", key, s.Versions[key])
	}
	s.writeBent(w)
	if s.Importance != nil { // which weights of landmarks do not tell
		s.writeCorrelations(w)
		return
	}
	fmt.Fprintln(w, "\nshared part, the mean of all tasks")
	for _, c := range s.Shared {
		if c.Class != "" {
			fmt.Fprintf(w, "%s\n", c.Class)
		}
		writeCoefficients(w, c.Top, s.Scale != nil)
	}
	for _, c := range s.Coefficients[:min(len(s.Coefficients), mostListed)] {
		i, _ := s.Task(c.Task)
		t := s.Tasks[i]
		fmt.Fprintf(w, "\n%s: %d rows, b = %s", c.Task, t.Rows, run.Number(c.Bias))
		switch {
		case c.Class != "":
			fmt.Fprintf(w, ", %s against the rest", c.Class)
		case s.Kind == data.Classification:
			fmt.Fprintf(w, ", %s against %s", t.Positive, t.Negative)
		}
		if t.StandardError > 0 {
			fmt.Fprintf(w, ", standard error %s", run.Number(t.StandardError))
		}
		fmt.Fprintln(w)
		writeCoefficients(w, c.Top, s.Scale != nil)
	}
	s.writeCorrelations(w)
}

func (s shownModel) writeCorrelations(w io.Writer) {
	if s.Correlation != nil {
		fmt.Fprintln(w)
		writeCorrelations(w, "task correlations", taskNames(s.Fit), s.Correlation)
	}
}

// writeBent writes how columns bend, or what a kernel makes of them.
func (s shownModel) writeBent(w io.Writer) {
	if s.Curves != nil {
		fmt.Fprintln(w, "\nwhat a column adds, from its lowest to its highest values, the mean of all tasks (the page of l2mt report has the curve of each)")
		t := run.Columns(w)
		for _, c := range s.Curves {
			last := len(c.X) - 1
			fmt.Fprintf(t, "from %s to %s\t", run.Number(c.X[0]), run.Number(c.X[last]))
			for i := range 5 {
				fmt.Fprintf(t, "\t%.3g", c.Shared[i*last/4])
			}
			fmt.Fprintf(t, "\t  %s\n", c.Column)
		}
		t.Flush()
	}
	if s.Importance != nil {
		fmt.Fprintln(w, "\nhow much predictions change where the values of a column are shuffled, beside their standard deviation")
		for _, c := range s.Importance {
			fmt.Fprintf(w, "%12.3f  %s\n", c.Change, c.Column)
		}
	}
}

func writeCoefficients(w io.Writer, all []coefficient, scaled bool) {
	for _, c := range all {
		if scaled {
			fmt.Fprintf(w, "%12s  (%s)  %s\n", run.Number(c.Weight), run.Number(c.Scaled), c.Feature)
		} else {
			fmt.Fprintf(w, "%12s  %s\n", run.Number(c.Weight), c.Feature)
		}
	}
}

// mostInTable bounds the tasks whose correlations are all printed.
const mostInTable = 12

func writeCorrelations(w io.Writer, title string, names []string, correlation [][]float64) {
	if len(names) <= mostInTable {
		fmt.Fprintln(w, title)
		run.WriteMatrix(w, correlation, names)
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

// few lists some names.
func few(names []string) string {
	const most = 8
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, ... (%d in all)", strings.Join(names[:most], ", "), len(names))
}

func taskNames(m *saved.Fit) []string {
	names := make([]string, len(m.Tasks))
	for i, t := range m.Tasks {
		names[i] = t.Name
	}
	return names
}
