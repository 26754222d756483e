package command

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/cmd/l2mt/internal/run"
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
	// Coefficients are those of the mean of all tasks, and of the tasks.
	Coefficients []coefficients `json:"coefficients"`
	Correlation  [][]float64    `json:"correlation"`
	// Curves are those of the columns that bend, Importance that of a kernel's columns.
	Curves     []plot.Curve     `json:"curves,omitempty"`
	Importance []run.Importance `json:"importance,omitempty"`
}

// coefficients are those of a task, or of one of its classes against the rest.
type coefficients struct {
	Title string        `json:"title"`
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
	var fit struct {
		Untold bool `json:"correlation_untold"`
	}
	if err := run.Optional(run.LoadJSON(filepath.Join(c.Model, run.FitFile), &fit)); err != nil {
		return err
	}
	if !fit.Untold {
		s.Correlation = run.Correlation(m.Omega)
	}
	if s.Curves, err = run.Curves(m); err == nil {
		s.Importance, err = run.Importances(m)
	}
	if err != nil {
		return err
	}
	s.Curves, s.Importance = s.Curves[:min(len(s.Curves), c.Top)], s.Importance[:min(len(s.Importance), c.Top)]
	s.add(saved.Average, "the mean of all tasks, which they share", c.Top)
	for i, t := range m.Tasks {
		title := fmt.Sprintf("%s, %d rows", t.Name, t.Rows)
		if t.Positive != "" {
			title += fmt.Sprintf(", %s against %s", t.Positive, t.Negative)
		}
		if t.StandardError > 0 {
			title += ", standard error " + run.Number(t.StandardError)
		}
		if c.Task == "" || c.Task == t.Name {
			s.add(i, title, c.Top)
		}
	}
	if _, err := m.Task(c.Task); err != nil && c.Task != "" {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	return e.print(s, s.write)
}

// add adds the coefficients of a task, class by class: those that count most, by the scale of
// their features.
func (s *shownModel) add(task int, title string, top int) {
	l := s.Linear(task)
	for k, b := range l.B {
		if math.IsInf(b, -1) {
			continue // the task lacks the class
		}
		of := coefficients{Title: title, Bias: b}
		if s.Classes != nil {
			of.Title += ", " + s.Classes[k] + " against the rest"
		}
		for j, name := range s.Features {
			w := l.W[j*len(l.B)+k]
			c := coefficient{name, w, w}
			if s.Scale != nil {
				c.Scaled *= s.Scale.Deviation[j]
			}
			of.Top = append(of.Top, c)
		}
		slices.SortStableFunc(of.Top, func(a, b coefficient) int { return cmp.Compare(math.Abs(b.Scaled), math.Abs(a.Scaled)) })
		of.Top = of.Top[:min(len(of.Top), top)]
		s.Coefficients = append(s.Coefficients, of)
	}
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
	for _, step := range s.Recipe.Steps {
		fmt.Fprintf(w, "step %s", step.Kind)
		if n := len(step.Landmarks); n > 0 {
			fmt.Fprintf(w, ": the model contains %d of the rows that it was fitted on", n)
		}
		fmt.Fprintln(w)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Versions)) {
		fmt.Fprintf(w, "%s %s\n", key, s.Versions[key])
	}
	s.writeBent(w)
	if s.Importance == nil { // else weights are those of landmarks
		s.writeCoefficients(w)
	}
	if s.Correlation != nil {
		fmt.Fprintln(w)
		writeCorrelations(w, "task correlations", taskNames(s.Fit), s.Correlation)
	}
}

func (s shownModel) writeCoefficients(w io.Writer) {
	if s.Scale != nil {
		fmt.Fprintln(w, "fitted on standardised features; weights are for the features as they are in a table, in brackets for a standard deviation")
	}
	for _, c := range s.Coefficients[:min(len(s.Coefficients), mostListed)] {
		fmt.Fprintf(w, "\n%s, b = %s\n", c.Title, run.Number(c.Bias))
		for _, c := range c.Top {
			scaled := ""
			if s.Scale != nil {
				scaled = "(" + run.Number(c.Scaled) + ")  "
			}
			fmt.Fprintf(w, "%12s  %s%s\n", run.Number(c.Weight), scaled, c.Feature)
		}
	}
}

// writeBent writes how columns bend, or what a kernel makes of them.
func (s shownModel) writeBent(w io.Writer) {
	if s.Curves != nil {
		fmt.Fprintln(w, "\nwhat a column adds, the mean of all tasks, from its lowest to its highest values (the page of l2mt report has the curve of each)")
		t := run.NewTable(w, "from", "to", "", "", "", "", "", "column")
		for _, c := range s.Curves {
			last := len(c.X) - 1
			cells := []any{run.Number(c.X[0]), run.Number(c.X[last])}
			for i := range 5 {
				cells = append(cells, fmt.Sprintf("%.3g", c.Shared[i*last/4]))
			}
			t.Row(append(cells, c.Column)...)
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

func taskNames(m *saved.Fit) []string {
	names := make([]string, len(m.Tasks))
	for i, t := range m.Tasks {
		names[i] = t.Name
	}
	return names
}
