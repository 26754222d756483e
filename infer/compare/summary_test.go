package compare

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"

	"l2mt/data/datatest"
	"l2mt/infer"
	"l2mt/model/evidence"
)

// results makes outcomes of one method on problems p, q, r, ..., each with a
// validation error and a test error.
func results(model string, v Variant, errors ...[2]float64) []Outcome {
	var list []Outcome
	for i, e := range errors {
		list = append(list, Outcome{
			Problem: string(rune('p' + i)), Method: Method{Model: model, Variant: v},
			Validation: evidence.Errors{Mean: e[0]}, Test: evidence.Errors{Mean: e[1]},
		})
	}
	return list
}

func summarise(t *testing.T, outcomes ...[]Outcome) *Table {
	t.Helper()
	return datatest.Must(Summarise(slices.Concat(outcomes...)))(t)
}

func row(t *testing.T, table *Table, model string, v Variant) Row {
	t.Helper()
	i := slices.IndexFunc(table.Rows, func(r Row) bool { return r.Model == model && r.Variant == v })
	datatest.Need(t, i >= 0, "there is no row of %s %q", model, v)
	return table.Rows[i]
}

// A table worked out by hand.
func TestTableByHand(t *testing.T) {
	table := summarise(t,
		results(STL, Labelled, [2]float64{0.3, 0.2}, [2]float64{0.3, 0.4}, [2]float64{0.3, 0.3}),
		results("mtrl", Refitted, [2]float64{0.2, 0.1}, [2]float64{0.4, 0.4}, [2]float64{0.3, 0.1}),
		results(L2MT, Plain, [2]float64{0.2, 0.1}, [2]float64{0.2, 0.3}, [2]float64{0.2, 0.6}),
	)
	datatest.Holds(t, table.Best == "MTRL" && slices.Equal(table.Problems, []string{"p", "q", "r"}),
		"best %q on %v", table.Best, table.Problems)
	var order []string
	for _, r := range table.Rows {
		order = append(order, r.Title)
	}
	datatest.Equal(t, order, []string{"MTRL", "STL", "L2MT"}, "rows")
	m := row(t, table, "mtrl", Refitted)
	datatest.Near(t, m.Error, 0.2, 1e-12, "error")
	datatest.Near(t, float64(m.Relative), 2./3, 1e-12, "relative error") // 0.6 over 0.9
	// Of the ratio of two means: the errors less 2/3 of those of STL are -1/30, 4/30 and -3/30.
	datatest.Near(t, float64(m.StandardError), math.Sqrt(26./900/2/3)/0.3, 1e-12, "standard error")
	datatest.Near(t, float64(m.AgainstSTL.Difference), 2./3-1, 1e-12, "difference to STL")
	if a := m.AgainstSTL; a.Wins != 2 || a.Ties != 1 || a.Losses != 0 || a.P != 0.5 { // two differences of one sign: 2/4
		t.Errorf("MTRL against STL: %+v", a)
	}
	n := row(t, table, L2MT, Plain)
	datatest.Near(t, float64(n.AgainstBest.Difference), (1.0-0.6)/0.9, 1e-12, "difference of L2MT to the best")
	a := n.AgainstBest
	datatest.Holds(t, a.Wins == 1 && a.Ties == 1 && a.Losses == 1, "L2MT against MTRL: %+v", a)
}

// What is chosen is chosen by validation errors, however bad for the test error.
func TestChoicesAreByValidation(t *testing.T) {
	table := summarise(t,
		results(STL, Plain, [2]float64{0.3, 0.3}, [2]float64{0.1, 0.6}),
		results(STL, Labelled, [2]float64{0.3, 0.3}, [2]float64{0.1, 0.5}),
		results("mtrl", Plain, [2]float64{0.2, 0.4}, [2]float64{0.2, 0.1}),
		results("mtrl", Refitted, [2]float64{0.5, 0.1}, [2]float64{0.05, 0.6}),
		results("mtrl", Labelled, [2]float64{0.4, 0.2}, [2]float64{0.2, 0.2}),
		results(L2MT, Plain, [2]float64{0.9, 0.9}, [2]float64{0.9, 0.9}),
		results(L2MT, Alone, [2]float64{0, 0}, [2]float64{0, 0}),
	)
	order := []Row{
		{Title: "MTRL, tuned on all labelled rows", Method: Method{Model: "mtrl", Variant: Labelled}, Test: []float64{0.2, 0.2}},
		{Title: "MTRL", Method: Method{Model: "mtrl", Variant: Refitted}, Test: []float64{0.1, 0.6}},
		{Title: "STL", Method: Method{Model: STL, Variant: Labelled}, Test: []float64{0.3, 0.5}},
		{Title: "best of 3 by validation", Method: Method{Model: "best", Variant: Refitted}, Test: []float64{0.3, 0.6}},
		{Title: "L2MT", Method: Method{Model: L2MT}, Test: []float64{0.9, 0.9}},
		{Title: "L2MT, the network alone", Method: Method{Model: L2MT, Variant: Alone}, Test: []float64{0, 0}},
		{Title: "MTRL, as in the paper", Method: Method{Model: "mtrl"}, Test: []float64{0.4, 0.1}, Published: true},
		{Title: "STL, as in the paper", Method: Method{Model: STL}, Test: []float64{0.3, 0.6}, Published: true},
		{Title: "best of 2 by validation, as in the paper", Method: Method{Model: "best"}, Test: []float64{0.4, 0.6}, Published: true},
	}
	datatest.Need(t, len(table.Rows) == len(order),
		"%d rows, want %d", len(table.Rows), len(order))
	for i, want := range order {
		r := table.Rows[i]
		got := Row{Title: r.Title, Method: r.Method, Test: r.Test, Published: r.Published}
		datatest.Equal(t, got, want, "row %d", i)
	}
}

// Problems on which single-task learning makes no error count like all others.
func TestTableWithoutErrors(t *testing.T) {
	table := summarise(t,
		results(STL, Labelled, [2]float64{0, 0}, [2]float64{0.3, 0.4}),
		results("mtrl", Refitted, [2]float64{0, 0.1}, [2]float64{0.2, 0.2}),
	)
	m := row(t, table, "mtrl", Refitted)
	datatest.Near(t, float64(m.Relative), 0.75, 1e-12, "relative error")
	// The errors less 0.75 of those of STL are 0.1 and -0.1.
	datatest.Near(t, float64(m.StandardError), 0.1/0.2, 1e-12, "standard error")
	none := summarise(t, results(STL, Labelled, [2]float64{0, 0}), results("mtrl", Refitted, [2]float64{0, 0}))
	m = row(t, none, "mtrl", Refitted)
	datatest.Holds(t, math.IsNaN(float64(m.Relative)) && math.IsNaN(float64(m.StandardError)) && m.AgainstSTL.P == 1 && m.AgainstSTL.Ties == 1,
		"no errors at all: %+v", m)
}

// Errors that differ by rounding tie.
func TestRoundingDoesNotWin(t *testing.T) {
	table := summarise(t, results(STL, Labelled, [2]float64{0, 0.3}), results("mtrl", Refitted, [2]float64{0, math.Nextafter(0.3, 0)}))
	got := row(t, table, "mtrl", Refitted).AgainstSTL
	datatest.Holds(t, got.Ties == 1, "%+v", got)
}

func TestOutcomesThatMakeNoTable(t *testing.T) {
	for _, outcomes := range [][]Outcome{nil, results("mtrl", Refitted, [2]float64{1, 1})} {
		datatest.Refused(Summarise(outcomes))(t, infer.ErrInvalid, "stl")
	}
}

// The p values are those of scipy.stats.wilcoxon, version 1.10.1: with
// method="exact" where no two differences have one size and there are at most
// 50, else with method="approx", correction=True. Zeros are left out first. The
// first case is the example of its documentation.
func TestWilcoxonAgreesWithSciPy(t *testing.T) {
	for _, c := range []struct {
		name        string
		differences []float64
		p           float64
	}{
		{"documentation", []float64{6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75}, 0.041259765625},
		{"five", []float64{1.5, -0.7, 2.2, 3.1, 0.4}, 0.1875},
		{"all positive", []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}, 0.001953125},
		{"balanced", []float64{1, -1.5, -2, 2.5}, 1},
		{"nothing", nil, 1},
		{"zeros alone", []float64{0, 0, 0}, 1},
		{"zeros", []float64{0, 0, 1, -2, 3, 4, -5, 6, 7, 8}, 0.1484375},
		{"ties", []float64{1, 1, -1, 2, 2, -3, 4, 5, 5, -5, 6, 7}, 0.090556875837822},
		{"fifty", thirdsNegative(50), 0.02616696817119646},
		{"more than fifty", thirdsNegative(51), 0.056455805367702144},
	} {
		datatest.Near(t, Wilcoxon(c.differences), c.p, 1e-12, "%s: p =", c.name)
	}
}

// thirdsNegative returns the n differences 1.5, 2.5, -3.5, 4.5, ...
func thirdsNegative(n int) []float64 {
	d := make([]float64, n)
	for i := range d {
		d[i] = float64(i) + 1.5
		if (i+1)%3 == 0 {
			d[i] = -d[i]
		}
	}
	return d
}

// The exact p is the share of all ways to sign the ranks that are at least as
// far from balance. Neither the order, nor a common factor, nor the direction matters.
func TestWilcoxonCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := distinct(t)
		far := func(signs int) float64 {
			sum := 0.0
			for i := range d {
				if signs>>i&1 == 1 {
					sum += float64(i + 1)
				} else {
					sum -= float64(i + 1)
				}
			}
			return math.Abs(sum)
		}
		mine, extreme := 0, 0
		for i, v := range d {
			if v > 0 {
				mine |= 1 << i
			}
		}
		for signs := range 1 << len(d) {
			if far(signs) >= far(mine) {
				extreme++
			}
		}
		want := float64(extreme) / float64(int(1)<<len(d))
		other := rapid.Permutation(d).Draw(t, "order")
		floats.Scale(rapid.SampledFrom([]float64{1, -1, 8, -0.25}).Draw(t, "factor"), other)
		if p := Wilcoxon(other); math.Abs(p-want) > 1e-12 {
			t.Fatalf("%v: p = %v, but %d of %d ways are as extreme", other, p, extreme, 1<<len(d))
		}
	})
}

// distinct draws differences in the order of their sizes, all different.
func distinct(t *rapid.T) []float64 {
	d := make([]float64, rapid.IntRange(1, 10).Draw(t, "n"))
	size := 0.0
	for i := range d {
		size += rapid.Float64Range(0.1, 2).Draw(t, "step")
		d[i] = size
		if rapid.Bool().Draw(t, "negative") {
			d[i] = -size
		}
	}
	return d
}
