package sweep

import (
	"math"
	"slices"
	"testing"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/data"
	"l2mt/infer/compare"
)

// The means over seeds and the comparison of two points by hand: the errors of two seeds on one
// problem count as their mean, and points that have other problems are not compared.
func TestErrorsOfSeedsAreMeans(t *testing.T) {
	table := func(a, b float64) *compare.Table {
		return &compare.Table{Problems: []string{"a", "b"}, Rows: []compare.Row{
			{Model: compare.STL, Variant: compare.Labelled, Title: "STL", Validation: []float64{0, 0}, Test: []float64{1, 3}},
			{Model: compare.L2MT, Title: "L2MT", Seconds: a, Validation: []float64{0, 0}, Test: []float64{a, b}},
			{Model: compare.Best, Title: "best", Validation: []float64{0, 0}, Test: []float64{0, 0}},
		}}
	}
	r := New("t", "x", nil)
	problems := &data.Problem{Name: "a", Tasks: []*data.Task{{Name: "t"}}}
	r.Add("1", "p", problems, table(1, 2))
	r.Add("1", "p", problems, table(3, 2))
	r.Add("2", "p", problems, table(1, 3))
	r.Add("3", "other", problems, table(0.5, 0))
	if err := r.Finish(); err != nil {
		t.Fatal(err)
	}
	// At 1 L2MT has the errors 2 and 2, relative to 1 and 3.
	ours := r.Picture.Methods[slices.IndexFunc(r.Picture.Methods, func(m *plot.Method) bool { return m.Title == "L2MT" })]
	if len(r.Picture.Methods) != 2 || math.Abs(float64(ours.Errors[0])-4./3) > 1e-12 || math.Abs(float64(ours.Deviations[0])-2./3) > 1e-12 || !ours.Strong {
		t.Errorf("%d methods, L2MT %+v", len(r.Picture.Methods), ours)
	}
	if row := find(r.points[0].table, compare.L2MT, compare.Plain); row.Seconds != 2 || row.Error != 2 {
		t.Errorf("%+v", row)
	}
	if !slices.Equal(r.Picture.At, []float64{1, 2, 3}) {
		t.Errorf("the points are at %v", r.Picture.At)
	}
	// 1 has the errors 2, 2 and 2 has 1, 3, in units of 2, the mean error of STL.
	if len(r.Pairs) != 1 || r.Pairs[0].A != "1" || r.Pairs[0].B != "2" || r.Pairs[0].Difference != 0 || r.Pairs[0].StandardError != 0.5 || r.Pairs[0].Losses != 1 {
		t.Errorf("%+v", r.Pairs)
	}
}
