// Package sweep is what experiments come to: tables of all methods at all points of
// what is varied, over the seeds.
package sweep

import (
	"cmp"
	"fmt"
	"io"
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

// Files of a sweep.
const (
	// File has all that the pictures are drawn from.
	File = "sweep.json"
	// DoneFile is the last one in the folder of a run, and says what it was made of.
	DoneFile = "done.json"
)

// Result is what a sweep comes to.
type Result struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Dataset string   `json:"dataset"`
	Seeds   []uint64 `json:"seeds"`
	Axes    []Axis   `json:"axes"`
	// Show lists what the pictures show; empty means everything.
	Show []string `json:"show,omitempty"`
	// Rows has the methods of every point.
	Rows []Row `json:"rows"`
	// Correlations are those of the case study, for the first seed.
	Correlations []plot.Correlation `json:"correlations,omitempty"`
	Versions     run.Versions       `json:"versions"`
	// Experiment is the text of its file.
	Experiment string `json:"-"`

	problems [][]string // rows of results.csv
}

// Axis is what is varied.
type Axis struct {
	Label   string `json:"label"`
	Numeric bool   `json:"numeric"`
	Log     bool   `json:"log,omitempty"`
}

// Row is one method at one point, over the seeds.
type Row struct {
	// At names the point on every axis, and X is where it is on the first.
	At      []string        `json:"at"`
	X       compare.Float   `json:"x"`
	Title   string          `json:"title"`
	Model   string          `json:"model"`
	Variant compare.Variant `json:"variant,omitempty"`
	// Relative is the mean over seeds of the relative error. Deviation is its
	// standard error: over the seeds, or over the problems where there is one.
	Relative  compare.Float `json:"relative"`
	Deviation compare.Float `json:"standard_error"`
	// Error is the mean test error.
	Error   float64 `json:"error"`
	Seeds   int     `json:"seeds"`
	Seconds float64 `json:"seconds"`

	runs []compare.Row
}

// Check finds what no sweep writes and pictures rely on.
func (r *Result) Check() error {
	if len(r.Axes) > 2 {
		return fmt.Errorf("%d axes; a sweep has at most 2", len(r.Axes))
	}
	for i, row := range r.Rows {
		if len(row.At) != len(r.Axes) {
			return fmt.Errorf("row %d: a point on %d axes, of %d", i, len(row.At), len(r.Axes))
		}
		if x := float64(row.X); len(r.Axes) > 0 && r.Axes[0].Numeric && (math.IsNaN(x) || math.IsInf(x, 0)) {
			return fmt.Errorf("row %d: x is %v; it must be a number", i, x)
		}
	}
	for i, c := range r.Correlations {
		if err := c.Check(); err != nil {
			return fmt.Errorf("correlations %d: %w", i, err)
		}
	}
	return nil
}

// Add takes in the table of one run. Where it is is named on every axis, and x is the
// number on the first.
func (r *Result) Add(at []string, x float64, seed uint64, table *compare.Table) {
	stl := table.Rows[slices.IndexFunc(table.Rows, func(row compare.Row) bool { return row.Model == compare.STL })]
	for _, row := range table.Rows {
		for i, problem := range table.Problems {
			r.problems = append(r.problems, append(slices.Clone(at), strconv.FormatUint(seed, 10), row.Title, row.Model, string(row.Variant), problem,
				run.Full(row.Validation[i]), run.Full(row.Test[i]), run.Full(stl.Test[i])))
		}
		i := slices.IndexFunc(r.Rows, func(have Row) bool {
			return slices.Equal(have.At, at) && have.Model == row.Model && have.Variant == row.Variant
		})
		if i < 0 {
			i = len(r.Rows)
			r.Rows = append(r.Rows, Row{At: at, X: compare.Float(x), Title: row.Title, Model: row.Model, Variant: row.Variant})
		}
		r.Rows[i].runs = append(r.Rows[i].runs, row)
	}
}

// Finish takes the means over the seeds, and puts the best of a point first.
func (r *Result) Finish() {
	for i := range r.Rows {
		row := &r.Rows[i]
		var relative, errors, seconds []float64
		for _, run := range row.runs {
			relative, errors, seconds = append(relative, float64(run.Relative)), append(errors, run.Error), append(seconds, run.Seconds)
		}
		mean, deviation := stat.MeanStdDev(relative, nil)
		row.Relative, row.Deviation = compare.Float(mean), compare.Float(deviation/math.Sqrt(float64(len(relative))))
		if len(row.runs) == 1 {
			row.Deviation = row.runs[0].StandardError
		}
		row.Error, row.Seconds, row.Seeds = stat.Mean(errors, nil), stat.Mean(seconds, nil), len(row.runs)
	}
	for from := 0; from < len(r.Rows); {
		to := from + 1
		for to < len(r.Rows) && slices.Equal(r.Rows[to].At, r.Rows[from].At) {
			to++
		}
		slices.SortStableFunc(r.Rows[from:to], func(a, b Row) int { return cmp.Compare(a.Relative, b.Relative) })
		from = to
	}
}

// AddCorrelations takes the covariances of the only problem of a run, in the order of
// the pictures.
func (r *Result) AddCorrelations(at, tasks []string, outcomes []compare.Outcome) error {
	outcomes = slices.DeleteFunc(outcomes, func(o compare.Outcome) bool { return o.Model == compare.STL || r.position(o.Model, o.Variant) < 0 })
	slices.SortFunc(outcomes, func(a, b compare.Outcome) int {
		return cmp.Or(cmp.Compare(r.position(a.Model, a.Variant), r.position(b.Model, b.Variant)), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Variant, b.Variant))
	})
	for _, o := range outcomes {
		omega, err := data.NewCovariance(o.Omega)
		if err != nil {
			return fmt.Errorf("%s: %w", o.Model, err)
		}
		row := r.Rows[slices.IndexFunc(r.Rows, func(row Row) bool { return row.Model == o.Model && row.Variant == o.Variant })]
		title := strings.Join(append([]string{row.Title}, at...), ", ")
		r.Correlations = append(r.Correlations, plot.Correlation{Title: title, Tasks: tasks, Correlation: run.Correlation(omega)})
	}
	return nil
}

// position is that of a method in the pictures, or -1 if they do not show it. Where
// Show is empty, L2MT comes before the others.
func (r *Result) position(model string, v compare.Variant) int {
	name := model
	if v != compare.Plain {
		name += "/" + string(v)
	}
	switch {
	case len(r.Show) > 0:
		return slices.Index(r.Show, name)
	case model == compare.L2MT:
		return 0
	}
	return 1
}

// Columns are those of results.csv after the labels of what is varied.
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
	var header []string
	for _, a := range r.Axes {
		header = append(header, a.Label)
	}
	if err := run.SaveCSV(filepath.Join(dir, "results.csv"), append([][]string{append(header, Columns()...)}, r.problems...)); err != nil {
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

// Picture draws the relative errors of the methods that are to be shown. What has
// none, where single-task learning makes no error, is left out.
func (r *Result) Picture() (*plot.Picture, error) {
	p := &plot.Relative{Title: r.Title, Label: "test error relative to STL"}
	if slices.ContainsFunc(r.Rows, func(row Row) bool { return !math.IsNaN(float64(row.Deviation)) }) {
		p.Label += " (bars: standard error " + r.ErrorBars() + ")"
	}
	curve := len(r.Axes) > 0 && r.Axes[0].Numeric
	if curve {
		p.Axis, p.Log = cmp.Or(r.Axes[0].Label, " "), r.Axes[0].Log
	}
	shown := slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool {
		return r.position(row.Model, row.Variant) < 0 || !(row.Relative < compare.Float(math.Inf(1)))
	})
	slices.SortStableFunc(shown, func(a, b Row) int { return cmp.Compare(r.position(a.Model, a.Variant), r.position(b.Model, b.Variant)) })
	for _, row := range shown {
		point := plot.Point{Name: row.Title, X: float64(row.X), Error: float64(row.Relative), Deviation: float64(row.Deviation)}
		method := plot.Method{} // where nothing is varied, the methods are the points
		if len(row.At) > 0 {
			point.Name, method.Title = row.At[0], strings.Join(append([]string{row.Title}, row.At[1:]...), ", ")
			method.Strong = row.Model == compare.L2MT
		}
		i := slices.IndexFunc(p.Methods, func(m plot.Method) bool { return m.Title == method.Title })
		if i < 0 {
			i, p.Methods = len(p.Methods), append(p.Methods, method)
		}
		p.Methods[i].Points = append(p.Methods[i].Points, point)
	}
	for _, row := range r.Rows {
		name := strings.Join(append(slices.Clone(row.At), row.Title)[:1], "")
		if r.position(row.Model, row.Variant) >= 0 && !slices.Contains(p.Names, name) {
			p.Names = append(p.Names, name)
		}
	}
	return p.Draw()
}

// Write prints the table, and the correlations of a case study.
func (r *Result) Write(w io.Writer) {
	fmt.Fprintf(w, "%s\nrelative error: mean test error over that of STL; s.e. %s; seconds for a problem\n", r.Title, r.ErrorBars())
	fmt.Fprintln(w)
	t := run.Columns(w)
	for _, a := range r.Axes {
		fmt.Fprintf(t, "%s\t", a.Label)
	}
	fmt.Fprintln(t, "relative\ts.e.\ttest error\tseconds\t  method")
	for _, row := range r.Rows {
		for _, at := range row.At {
			fmt.Fprintf(t, "%s\t", at)
		}
		fmt.Fprintf(t, "%s\t%s\t%.4f\t%.2f\t  %s\n", run.Decimals(row.Relative), run.Decimals(row.Deviation), row.Error, row.Seconds, row.Title)
	}
	t.Flush()
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
