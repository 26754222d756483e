package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"text/tabwriter"
)

// comparison is one row of the table of models.
type comparison struct {
	Model    string `json:"model"`
	Title    string `json:"title"`
	Problems int    `json:"problems"`
	// Error is the mean test error, and Relative that over STL's: the ratio of
	// the means, as in the paper's tables.
	Error    float64 `json:"error"`
	Relative float64 `json:"relative"`
	// PerProblem is the mean of the relative errors of the problems, and
	// StandardError its standard error.
	PerProblem    float64 `json:"per_problem"`
	StandardError float64 `json:"standard_error"`
	// Seconds is the mean over problems.
	Seconds float64 `json:"seconds"`
}

// compare averages over problems, and sorts by relative error.
func compare(fits []problemFit) []comparison {
	type sums struct {
		row            comparison
		stl            float64
		ratios, square float64
		defined        float64
	}
	rows := map[string]*sums{}
	for _, f := range fits {
		s := rows[f.Model]
		if s == nil {
			s = &sums{row: comparison{Model: f.Model, Title: f.Title}}
			rows[f.Model] = s
		}
		s.row.Problems++
		s.row.Error += f.Test.Mean
		s.row.Seconds += f.Seconds
		s.stl += f.STL.Mean
		if f.Relative != nil {
			s.defined++
			s.ratios += *f.Relative
			s.square += *f.Relative * *f.Relative
		}
	}
	var table []comparison
	for _, s := range rows {
		n := float64(s.row.Problems)
		s.row.Relative = s.row.Error / s.stl
		s.row.Error /= n
		s.row.Seconds /= n
		if s.defined > 0 {
			s.row.PerProblem = s.ratios / s.defined
		}
		if s.defined > 1 {
			variance := (s.square - s.ratios*s.ratios/s.defined) / (s.defined - 1)
			s.row.StandardError = math.Sqrt(max(variance, 0) / s.defined)
		}
		table = append(table, s.row)
	}
	slices.SortFunc(table, func(a, b comparison) int {
		return cmp.Or(cmp.Compare(a.Relative, b.Relative), cmp.Compare(a.Model, b.Model))
	})
	return table
}

func writeComparison(w io.Writer, table []comparison) {
	fmt.Fprintf(w, "relative error: mean test error over that of STL, %d problems\n\n", table[0].Problems)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "relative\tper problem\tstd. error\ttest error\tseconds\t  model")
	for _, r := range table {
		deviation := "-"
		if r.Problems > 1 {
			deviation = fmt.Sprintf("%.4f", r.StandardError)
		}
		fmt.Fprintf(t, "%.4f\t%.4f\t%s\t%.4f\t%.2f\t  %s\n", r.Relative, r.PerProblem, deviation, r.Error, r.Seconds, r.Title)
	}
	t.Flush()
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
