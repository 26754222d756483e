// Package sweep brings the tables of many runs together: one for every point of what is
// varied, over the seeds.
package sweep

import (
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/cmd/l2mt/internal/run"
	"l2mt/data"
	"l2mt/data/files"
	"l2mt/infer/compare"
)

// File has the differences between points and what the pictures are drawn from. Runs is the
// folder of the runs; points is that of the tables.
const (
	File   = "sweep.json"
	Runs   = "runs"
	points = "points"
)

// Result is what a sweep comes to.
type Result struct {
	Title string `json:"title"`
	// Picture has the errors of the methods at the points.
	Picture plot.Relative `json:"picture"`
	// Pairs compare L2MT at every point with that at others, on the same problems.
	Pairs []compare.Pair `json:"pairs,omitempty"`
	// Correlations are those of the tasks, where there is one problem.
	Correlations []plot.Correlation `json:"correlations,omitempty"`

	show   []string
	points []*point
	tasks  []string // of a problem that is the only one
}

// point is what the runs at a point come to.
type point struct {
	name     string
	outcomes []compare.Outcome
	runs     []float64 // so many are the mean in each
	table    *compare.Table
}

// New is the result of no run yet. The picture shows the methods named, as model or
// model/variant; those of an empty list are all that learn from the same rows.
func New(title, label string, show []string) *Result {
	return &Result{Title: title, Picture: plot.Relative{Title: title, Axis: label}, show: show}
}

// Add takes in the table of one run at a point, and its first problem. The name of its data tells
// problems of one name apart. Errors of several seeds on one problem count as their mean.
func (r *Result) Add(at, from string, problem *data.Problem, table *compare.Table) {
	r.tasks = nil
	for _, t := range problem.Tasks {
		r.tasks = append(r.tasks, t.Name)
	}
	i := slices.Index(r.Picture.Names, at)
	if i < 0 {
		i = len(r.points)
		r.Picture.Names, r.points = append(r.Picture.Names, at), append(r.points, &point{name: at})
	}
	for _, row := range table.Rows {
		for k, name := range table.Problems {
			o := compare.Outcome{Problem: from + " " + name, Model: row.Model, Variant: row.Variant, Omega: row.Omega, Seconds: row.Seconds}
			o.Validation.Mean, o.Test.Mean = row.Validation[k], row.Test[k]
			if row.Model != compare.Best { // it is chosen again
				r.points[i].add(o)
			}
		}
	}
}

// add takes the mean with what other seeds came to on the same problem.
func (p *point) add(o compare.Outcome) {
	i := slices.IndexFunc(p.outcomes, func(had compare.Outcome) bool {
		return had.Problem == o.Problem && had.Model == o.Model && had.Variant == o.Variant
	})
	if i < 0 {
		p.outcomes, p.runs = append(p.outcomes, o), append(p.runs, 1)
		return
	}
	p.runs[i]++
	mean := func(to *float64, v float64) { *to += (v - *to) / p.runs[i] }
	mean(&p.outcomes[i].Validation.Mean, o.Validation.Mean)
	mean(&p.outcomes[i].Test.Mean, o.Test.Mean)
	mean(&p.outcomes[i].Seconds, o.Seconds)
}

// Finish makes the tables of the points, and compares L2MT at those that have problems in
// common.
func (r *Result) Finish() (err error) {
	for i, p := range r.points {
		if p.table, err = compare.Summarise(p.outcomes); err != nil {
			return err
		}
		for _, row := range r.shown(p.table) {
			r.Picture.Put(i, row)
			if row.Omega == nil || row.Model == compare.STL {
				continue
			}
			omega, err := data.NewCovariance(row.Omega)
			if err != nil {
				return fmt.Errorf("%s: %w", row.Title, err)
			}
			title := strings.TrimSuffix(row.Title+", "+p.name, ", ")
			r.Correlations = append(r.Correlations, plot.Correlation{Title: title, Tasks: r.tasks, Correlation: run.Correlation(omega)})
		}
		for _, other := range r.points[:i] {
			if !slices.Equal(p.table.Problems, other.table.Problems) {
				continue
			}
			a, b, stl := find(other.table, compare.L2MT, compare.Plain), find(p.table, compare.L2MT, compare.Plain), find(other.table, compare.STL, compare.Labelled)
			if a != nil && b != nil {
				r.Pairs = append(r.Pairs, compare.Pair{A: other.name, B: p.name, Paired: compare.Against(a.Test, b.Test, stl.Error)})
			}
		}
	}
	if len(r.points) == 1 { // the methods are what is compared
		r.Picture = plot.OfRows(r.Title, r.shown(r.points[0].table))
	}
	for _, name := range r.Picture.Names {
		x, err := strconv.ParseFloat(name, 64)
		if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
			r.Picture.At = nil
			break
		}
		r.Picture.At = append(r.Picture.At, x)
	}
	return nil
}

func find(table *compare.Table, model string, v compare.Variant) *compare.Row {
	for i, row := range table.Rows {
		if row.Model == model && row.Variant == v {
			return &table.Rows[i]
		}
	}
	return nil
}

// shown are the rows of a table that the picture shows, in its order.
func (r *Result) shown(table *compare.Table) (rows []compare.Row) {
	for _, name := range r.show {
		model, variant, _ := strings.Cut(name, "/")
		if row := find(table, model, compare.Variant(variant)); row != nil {
			rows = append(rows, *row)
		}
	}
	if r.show != nil {
		return rows
	}
	return slices.DeleteFunc(slices.Clone(table.Rows), func(row compare.Row) bool { return row.Published })
}

// Save writes tables and pictures, each file whole or not at all, and the experiment's text.
func (r *Result) Save(dir, experiment string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := files.WriteFile(filepath.Join(dir, "experiment.toml"), []byte(experiment)); err != nil {
		return err
	}
	for _, p := range r.points {
		at := filepath.Join(dir, points, url.QueryEscape(p.name))
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		if err := run.SaveTable(at, p.table); err != nil {
			return err
		}
	}
	if err := run.SaveJSON(filepath.Join(dir, File), r); err != nil {
		return err
	}
	errors, err := r.Picture.Draw()
	if err := plot.Save(filepath.Join(dir, "sweep.png"), errors, err); err != nil {
		return err
	}
	maps, err := plot.Correlations(r.Correlations)
	return plot.Save(filepath.Join(dir, "correlation.png"), maps, err)
}

// Load reads what Save wrote.
func Load(dir string) (*Result, error) {
	r := new(Result)
	return r, run.LoadJSON(filepath.Join(dir, File), r)
}

// Write prints what the pictures show. The tables of the points have all methods.
func (r *Result) Write(w io.Writer) {
	fmt.Fprintf(w, "%s\nrelative error: mean over the problems of the test error over that of STL\n\n", r.Title)
	t := run.Columns(w)
	fmt.Fprintf(t, "%s\trelative\ts.e.\t  method\n", r.Picture.Axis)
	for i, name := range r.Picture.Names {
		for _, m := range r.Picture.Methods {
			fmt.Fprintf(t, "%s\t%s\t%s\t  %s\n", name, run.Decimals(m.Errors[i]), run.Decimals(m.Deviations[i]), m.Title)
		}
	}
	t.Flush()
	run.WritePairs(w, r.Pairs)
	for _, c := range r.Correlations {
		fmt.Fprintf(w, "\ntask correlations of %s\n", c.Title)
		run.WriteMatrix(w, c.Correlation, c.Tasks)
	}
}
