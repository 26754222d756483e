// Package sweep is what experiments come to: tables of all methods at all points of
// what is varied, over the seeds.
package sweep

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/cmd/l2mt/internal/run"
	"l2mt/data"
	"l2mt/data/files"
	"l2mt/infer/compare"
)

// File has all that the pictures are drawn from, and Runs is the folder of the runs.
const (
	File = "sweep.json"
	Runs = "runs"
)

// Result is what a sweep comes to.
type Result struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Dataset string   `json:"dataset"`
	Seeds   []uint64 `json:"seeds"`
	// Label says what is varied, if anything is.
	Label string `json:"label,omitempty"`
	// Show lists what the pictures show; empty means everything.
	Show []string `json:"show,omitempty"`
	// Rows has the methods of every point, in the order of an evaluation.
	Rows []Row `json:"rows"`
	// Pairs compare L2MT at every point with that at others, on the same problems.
	Pairs []compare.Pair `json:"pairs,omitempty"`
	// Correlations are those of the case study, for the first seed.
	Correlations []plot.Correlation `json:"correlations,omitempty"`
	Versions     run.Versions       `json:"versions"`
	// Experiment is the text of its file.
	Experiment string `json:"-"`

	problems [][]string // rows of results.csv
}

// Row is one method at one point: means over the seeds. The standard error is that of the
// relative error over the seeds, or over the problems where there is one seed.
type Row struct {
	At    string `json:"at,omitempty"` // names the point
	Seeds int    `json:"seeds"`
	compare.Row

	runs  []compare.Row
	tests map[string][]float64 // errors of all seeds, by problem
}

// Check finds what no sweep writes and pictures rely on.
func (r *Result) Check() error {
	for _, c := range r.Correlations {
		if err := c.Check(); err != nil {
			return err
		}
		if len(c.Tasks) != len(r.Correlations[0].Tasks) {
			return fmt.Errorf("correlations of %d tasks beside such of %d", len(c.Tasks), len(r.Correlations[0].Tasks))
		}
	}
	return nil
}

// Add takes in the table of one run at a point; problems tells problems of one name apart.
func (r *Result) Add(at string, seed uint64, problems string, table *compare.Table) {
	stl := table.Rows[slices.IndexFunc(table.Rows, func(row compare.Row) bool { return row.Model == compare.STL && !row.Published })]
	for _, row := range table.Rows {
		i := slices.IndexFunc(r.Rows, func(have Row) bool { return have.At == at && have.Model == row.Model && have.Variant == row.Variant })
		if i < 0 {
			i = len(r.Rows)
			r.Rows = append(r.Rows, Row{
				At: at, tests: map[string][]float64{},
				Row: compare.Row{Title: row.Title, Model: row.Model, Variant: row.Variant, Published: row.Published},
			})
		}
		r.Rows[i].runs = append(r.Rows[i].runs, row)
		for k, problem := range table.Problems {
			of := problems + problem
			r.Rows[i].tests[of] = append(r.Rows[i].tests[of], row.Test[k])
			r.problems = append(r.problems, []string{at, strconv.FormatUint(seed, 10), row.Title, row.Model, string(row.Variant), problem,
				run.Full(row.Validation[k]), run.Full(row.Test[k]), run.Full(stl.Test[k])})
		}
	}
}

// Finish takes the means over the seeds, puts the best of a point first, and compares L2MT at
// the points. A case study has the names of its tasks.
func (r *Result) Finish(tasks []string) error {
	for i := range r.Rows {
		row := &r.Rows[i]
		var relative, errors, seconds []float64
		for _, run := range row.runs {
			relative, errors, seconds = append(relative, float64(run.Relative)), append(errors, run.Error), append(seconds, run.Seconds)
		}
		mean, deviation := stat.MeanStdDev(relative, nil)
		row.Relative, row.StandardError = compare.Float(mean), compare.Float(deviation/math.Sqrt(float64(len(relative))))
		if len(row.runs) == 1 {
			row.StandardError = row.runs[0].StandardError
		}
		row.Error, row.Seconds, row.Seeds = stat.Mean(errors, nil), stat.Mean(seconds, nil), len(row.runs)
	}
	for i, a := range r.Rows {
		for _, b := range r.Rows[i+1:] {
			if a.ours() && b.ours() {
				r.pair(a, b)
			}
		}
	}
	for _, row := range r.shown() {
		if tasks == nil || row.Model == compare.STL || row.runs[0].Omega == nil {
			continue
		}
		omega, err := data.NewCovariance(row.runs[0].Omega)
		if err != nil {
			return fmt.Errorf("%s: %w", row.name(), err)
		}
		r.Correlations = append(r.Correlations, plot.Correlation{Title: row.name(), Tasks: tasks, Correlation: run.Correlation(omega)})
	}
	order := points(r.Rows)
	slices.SortStableFunc(r.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.At), slices.Index(order, b.At)), cmp.Compare(a.Rank(), b.Rank()), cmp.Compare(a.Relative, b.Relative))
	})
	return nil
}

func (r Row) ours() bool { return r.Model == compare.L2MT && r.Variant == compare.Plain }

// name is that of the method at its point.
func (r Row) name() string { return strings.TrimSuffix(r.Title+", "+r.At, ", ") }

// points names the points of rows, in order.
func points(rows []Row) (names []string) {
	for _, row := range rows {
		if !slices.Contains(names, row.At) {
			names = append(names, row.At)
		}
	}
	return names
}

// pair compares two rows on the problems that both have, if there are any. The errors of
// several seeds on one problem count as their mean.
func (r *Result) pair(a, b Row) {
	stl := r.Rows[slices.IndexFunc(r.Rows, func(row Row) bool {
		return row.At == a.At && row.Model == compare.STL && row.Variant == compare.Labelled
	})]
	var errors, others, unit []float64
	for _, problem := range slices.Sorted(maps.Keys(a.tests)) {
		if b.tests[problem] != nil {
			errors, others = append(errors, stat.Mean(a.tests[problem], nil)), append(others, stat.Mean(b.tests[problem], nil))
			unit = append(unit, stat.Mean(stl.tests[problem], nil))
		}
	}
	if errors != nil {
		r.Pairs = append(r.Pairs, compare.Pair{A: a.At, B: b.At, Paired: compare.Against(errors, others, stat.Mean(unit, nil))})
	}
}

// shown are the rows that the pictures show, in their order. Where Show is empty, these are all
// that learn from the same rows, L2MT before the others.
func (r *Result) shown() []Row {
	position := func(row Row) int {
		switch {
		case len(r.Show) > 0:
			return slices.Index(r.Show, strings.TrimSuffix(row.Model+"/"+string(row.Variant), "/"))
		case row.Published:
			return -1
		case row.Model == compare.L2MT:
			return 0
		}
		return 1
	}
	rows := slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool { return position(row) < 0 })
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(position(a), position(b)), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Variant, b.Variant))
	})
	return rows
}

// Columns are those of results.csv after the label of what is varied.
func Columns() []string {
	return []string{"seed", "title", "model", "variant", "problem", "validation_error", "test_error", "stl_test_error"}
}

// Save writes tables and pictures, each file whole or not at all.
func (r *Result) Save(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := files.WriteFile(filepath.Join(dir, "experiment.toml"), []byte(r.Experiment)); err != nil {
		return err
	}
	header := append([]string{cmp.Or(r.Label, "point")}, Columns()...)
	if err := run.SaveCSV(filepath.Join(dir, "results.csv"), append([][]string{header}, r.problems...)); err != nil {
		return err
	}
	if err := run.SaveJSON(filepath.Join(dir, File), r); err != nil {
		return err
	}
	for _, end := range []string{".png", ".svg"} {
		errors, err := r.Picture()
		if err := plot.Save(filepath.Join(dir, r.Name+end), errors, err); err != nil {
			return err
		}
		maps, err := plot.Correlations(r.Correlations)
		if err := plot.Save(filepath.Join(dir, "correlation"+end), maps, err); err != nil {
			return err
		}
	}
	return nil
}

// Load reads what Save wrote.
func Load(dir string) (*Result, error) {
	r := new(Result)
	return r, run.LoadJSON(filepath.Join(dir, File), r)
}

// Picture draws the relative errors of the methods that are to be shown: over numbers where
// the points are such. What has no relative error, where single-task learning makes no error,
// is left out.
func (r *Result) Picture() (*plot.Picture, error) {
	rows, p := r.shown(), &plot.Relative{Title: r.Title, Axis: r.Label, Label: "test error relative to STL (bars: standard error " + r.ErrorBars() + ")", Names: points(r.Rows)}
	if r.Label == "" { // the methods are the points
		for i, row := range rows {
			rows[i].At, rows[i].Title = row.Title, ""
		}
		p.Names = points(rows)
	}
	number := func(name string) float64 {
		if x, err := strconv.ParseFloat(name, 64); err == nil && !math.IsInf(x, 0) {
			return x
		}
		return math.NaN()
	}
	if r.Label != "" && !slices.ContainsFunc(p.Names, func(name string) bool { return math.IsNaN(number(name)) }) {
		slices.SortFunc(p.Names, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
		for _, name := range p.Names {
			p.At = append(p.At, number(name))
		}
	}
	none := slices.Repeat([]float64{math.NaN()}, len(p.Names))
	for _, row := range rows {
		i, k := slices.IndexFunc(p.Methods, func(m plot.Method) bool { return m.Title == row.Title }), slices.Index(p.Names, row.At)
		if i < 0 {
			i, p.Methods = len(p.Methods), append(p.Methods, plot.Method{Title: row.Title, Strong: row.Model == compare.L2MT, Errors: slices.Clone(none), Deviations: slices.Clone(none)})
		}
		p.Methods[i].Errors[k], p.Methods[i].Deviations[k] = float64(row.Relative), float64(row.StandardError)
	}
	return p.Draw()
}

// Write prints the table, and the correlations of a case study.
func (r *Result) Write(w io.Writer) {
	fmt.Fprintf(w, "%s\nrelative error: mean test error over that of STL; s.e. %s; seconds for a problem\n", r.Title, r.ErrorBars())
	fmt.Fprintln(w)
	t := run.Columns(w)
	fmt.Fprintf(t, "%s\trelative\ts.e.\ttest error\tseconds\t  method\n", r.Label)
	heading := ""
	for _, row := range r.Rows {
		if row.Heading() != heading {
			heading = row.Heading()
			fmt.Fprintln(t, strings.Repeat("\t", 5)+"  "+heading)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%.4f\t%.2f\t  %s\n", row.At, run.Decimals(row.Relative), run.Decimals(row.StandardError), row.Error, row.Seconds, row.Title)
	}
	t.Flush()
	run.WritePairs(w, r.Pairs)
	for _, c := range r.Correlations {
		fmt.Fprintf(w, "\ntask correlations of %s\n", c.Title)
		run.WriteMatrix(w, c.Correlation, c.Tasks)
	}
}

// ErrorBars says what the error bars are.
func (r *Result) ErrorBars() string {
	if len(r.Seeds) == 1 {
		return "over problems"
	}
	return fmt.Sprintf("over %d seeds", len(r.Seeds))
}
