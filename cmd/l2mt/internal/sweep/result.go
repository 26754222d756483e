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

// File has all that the pictures of a sweep are drawn from.
const File = "sweep.json"

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

	problems [][]string // of results.csv
	text     string     // of the experiment
}

// Axis is what is varied.
type Axis struct {
	Label   string `json:"label"`
	Numeric bool   `json:"numeric"`
	Log     bool   `json:"log,omitempty"`
	Fit     bool   `json:"fit,omitempty"`
	Change  bool   `json:"change,omitempty"`
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
	// Change is where asked for.
	Change *Change `json:"change,omitempty"`

	runs []compare.Row
}

// Change is by how many per cent the mean test error is above that at the first
// value of an axis. The standard error is that of the differences problem by
// problem, over all seeds.
type Change struct {
	Percent   float64 `json:"percent"`
	Deviation float64 `json:"standard_error"`
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

func newResult(x *Experiment) *Result {
	r := &Result{Name: x.name, Title: x.Title, Dataset: filepath.Base(x.Dataset), Seeds: x.Seeds, Show: x.Compare.Show, Versions: run.CurrentVersions(), text: x.text}
	header := []string{}
	for _, v := range x.Vary {
		r.Axes = append(r.Axes, Axis{v.Label, v.numeric(), v.Log, v.Fit, v.Change})
		header = append(header, v.Label)
	}
	r.problems = [][]string{append(header, "seed", "title", "model", "variant", "problem", "validation_error", "test_error", "stl_test_error")}
	return r
}

// add takes in the table of one run.
func (r *Result) add(s *setup, table *compare.Table) {
	names, x := []string{}, math.NaN()
	for i, p := range s.at {
		names = append(names, p.Name)
		if i == 0 {
			x = p.at
		}
	}
	stl := table.Rows[slices.IndexFunc(table.Rows, func(row compare.Row) bool { return row.Model == compare.STL })]
	for _, row := range table.Rows {
		for i, problem := range table.Problems {
			r.problems = append(r.problems, append(slices.Clone(names), strconv.FormatUint(s.seed, 10), row.Title, row.Model, string(row.Variant), problem,
				run.Full(row.Validation[i]), run.Full(row.Test[i]), run.Full(stl.Test[i])))
		}
		i := slices.IndexFunc(r.Rows, func(have Row) bool {
			return slices.Equal(have.At, names) && have.Model == row.Model && have.Variant == row.Variant
		})
		if i < 0 {
			i = len(r.Rows)
			r.Rows = append(r.Rows, Row{At: names, X: compare.Float(x), Title: row.Title, Model: row.Model, Variant: row.Variant})
		}
		r.Rows[i].runs = append(r.Rows[i].runs, row)
	}
}

// finish takes the means over the seeds, and puts the best of a point first.
func (r *Result) finish() {
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
	r.compare()
	for from := 0; from < len(r.Rows); {
		to := from + 1
		for to < len(r.Rows) && slices.Equal(r.Rows[to].At, r.Rows[from].At) {
			to++
		}
		slices.SortStableFunc(r.Rows[from:to], func(a, b Row) int { return cmp.Compare(a.Relative, b.Relative) })
		from = to
	}
}

// compare fills in the changes along the axis that asks for them.
func (r *Result) compare() {
	axis := slices.IndexFunc(r.Axes, func(a Axis) bool { return a.Change })
	if axis < 0 {
		return
	}
	first := r.Rows[0].At[axis]
	for i := range r.Rows {
		row := &r.Rows[i]
		at := slices.Clone(row.At)
		at[axis] = first
		j := slices.IndexFunc(r.Rows, func(have Row) bool {
			return slices.Equal(have.At, at) && have.Model == row.Model && have.Variant == row.Variant
		})
		if j >= 0 && row.At[axis] != first {
			row.Change = changeOf(r.Rows[j].runs, row.runs)
		}
	}
}

// changeOf compares the runs at two points, seed by seed. It is nil where they
// are of other problems, or have no error to change.
func changeOf(before, after []compare.Row) *Change {
	var old, differences []float64
	for i, run := range after {
		if i >= len(before) || len(run.Test) != len(before[i].Test) {
			return nil
		}
		for k, v := range run.Test {
			old = append(old, before[i].Test[k])
			differences = append(differences, v-before[i].Test[k])
		}
	}
	mean, deviation := stat.MeanStdDev(differences, nil)
	if base := stat.Mean(old, nil); base > 0 {
		return &Change{100 * mean / base, 100 * deviation / math.Sqrt(float64(len(old))) / base}
	}
	return nil
}

// Changes reports whether any axis asks for changes.
func (r *Result) Changes() bool {
	return slices.ContainsFunc(r.Axes, func(a Axis) bool { return a.Change })
}

// addCorrelations takes the covariances of the case study's problem.
func (r *Result) addCorrelations(s *setup, c *caseStudy, outcomes []compare.Outcome) error {
	var tasks []string
	for _, class := range c.Classes {
		tasks = append(tasks, class+" vs "+c.Shared)
	}
	for _, o := range outcomes {
		row := r.Rows[slices.IndexFunc(r.Rows, func(row Row) bool { return row.Model == o.Model && row.Variant == o.Variant })]
		if !r.shown(row) || o.Model == compare.STL {
			continue
		}
		omega, err := data.NewCovariance(o.Omega)
		if err != nil {
			return fmt.Errorf("%s: %w", row.Title, err)
		}
		title := row.Title
		for _, p := range s.at {
			title += ", " + p.Name
		}
		r.Correlations = append(r.Correlations, plot.Correlation{Title: title, Tasks: tasks, Correlation: run.Correlation(omega)})
	}
	return nil
}

// position is that of a method in Show, or -1. Where Show is empty, L2MT
// comes before the others.
func (r *Result) position(row Row) int {
	name := row.Model
	if row.Variant != compare.Plain {
		name += "/" + string(row.Variant)
	}
	switch {
	case len(r.Show) > 0:
		return slices.Index(r.Show, name)
	case row.Model == compare.L2MT:
		return 0
	}
	return 1
}

// shown reports whether the pictures show a method.
func (r *Result) shown(row Row) bool { return r.position(row) >= 0 }

// Save writes tables and pictures, each file whole or not at all.
func (r *Result) Save(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := files.WriteFile(filepath.Join(dir, "experiment.toml"), []byte(r.text)); err != nil {
		return err
	}
	if err := run.SaveCSV(filepath.Join(dir, "results.csv"), r.problems); err != nil {
		return err
	}
	if err := run.SaveCSV(filepath.Join(dir, "summary.csv"), r.summary()); err != nil {
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
	shown := slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool { return !r.shown(row) || math.IsNaN(float64(row.Relative)) })
	slices.SortStableFunc(shown, func(a, b Row) int { return cmp.Compare(r.position(a), r.position(b)) })
	for _, row := range shown {
		point := plot.Point{Name: row.Title, X: float64(row.X), Error: float64(row.Relative), Deviation: float64(row.Deviation)}
		method := plot.Method{} // where nothing is varied, the methods are the points
		if len(row.At) > 0 {
			point.Name, method.Title = row.At[0], strings.Join(append([]string{row.Title}, row.At[1:]...), ", ")
			method.Strong = row.Model == compare.L2MT
			method.Fit = method.Strong && r.Axes[0].Fit
		}
		i := slices.IndexFunc(p.Methods, func(m plot.Method) bool { return m.Title == method.Title })
		if i < 0 {
			i, p.Methods = len(p.Methods), append(p.Methods, method)
		}
		p.Methods[i].Points = append(p.Methods[i].Points, point)
	}
	for _, row := range r.Rows {
		name := strings.Join(append(slices.Clone(row.At), row.Title)[:1], "")
		if r.shown(row) && !slices.Contains(p.Names, name) {
			p.Names = append(p.Names, name)
		}
	}
	return p.Draw()
}

func (r *Result) summary() [][]string {
	var header []string
	for _, a := range r.Axes {
		header = append(header, a.Label)
	}
	rows := [][]string{append(header, "title", "model", "variant", "relative", "standard_error", "test_error", "seeds", "seconds")}
	for _, row := range r.Rows {
		rows = append(rows, append(slices.Clone(row.At), row.Title, row.Model, string(row.Variant),
			run.Full(float64(row.Relative)), run.Full(float64(row.Deviation)), run.Full(row.Error), strconv.Itoa(row.Seeds), run.Full(row.Seconds)))
	}
	if !r.Changes() {
		return rows
	}
	rows[0] = append(rows[0], "change_percent", "change_standard_error")
	for i, row := range r.Rows {
		percent, deviation := "", ""
		if row.Change != nil {
			percent, deviation = run.Full(row.Change.Percent), run.Full(row.Change.Deviation)
		}
		rows[i+1] = append(rows[i+1], percent, deviation)
	}
	return rows
}

// Write prints the table, and the correlations of a case study.
func (r *Result) Write(w io.Writer) {
	fmt.Fprintf(w, "%s\nrelative error: mean test error over that of STL; s.e. %s; seconds for a problem\n", r.Title, r.ErrorBars())
	if r.Changes() {
		fmt.Fprintln(w, "change: per cent of the test error at the first value, with its s.e. over the differences problem by problem")
	}
	fmt.Fprintln(w)
	t := run.Columns(w)
	for _, a := range r.Axes {
		fmt.Fprintf(t, "%s\t", a.Label)
	}
	changed := ""
	if r.Changes() {
		changed = "change\ts.e.\t"
	}
	fmt.Fprintf(t, "relative\ts.e.\ttest error\t%sseconds\t  method\n", changed)
	for _, row := range r.Rows {
		for _, at := range row.At {
			fmt.Fprintf(t, "%s\t", at)
		}
		fmt.Fprintf(t, "%s\t%s\t%.4f\t", run.Decimals(row.Relative), run.Decimals(row.Deviation), row.Error)
		switch {
		case row.Change != nil:
			fmt.Fprintf(t, "%+.2f\t%.2f\t", row.Change.Percent, row.Change.Deviation)
		case changed != "":
			fmt.Fprint(t, "\t\t")
		}
		fmt.Fprintf(t, "%.2f\t  %s\n", row.Seconds, row.Title)
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
