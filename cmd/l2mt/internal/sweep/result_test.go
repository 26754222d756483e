package sweep

import (
	"math"
	"testing"

	"l2mt/infer/compare"
)

// The summary over seeds against its definition, and the comparison of two points by hand:
// the errors of two seeds on one problem count as their mean, and problems of one name that
// are others are not compared.
func TestRowsAreMeansOverSeeds(t *testing.T) {
	table := func(relative, a, b float64) *compare.Table {
		return &compare.Table{Problems: []string{"a", "b"}, Rows: []compare.Row{
			{Model: compare.STL, Variant: compare.Labelled, Relative: 1, Error: 2, Validation: []float64{0, 0}, Test: []float64{1, 3}},
			{Model: compare.L2MT, Relative: compare.Float(relative), Error: a + b, Seconds: a, Validation: []float64{0, 0}, Test: []float64{a, b}},
		}}
	}
	r := &Result{}
	r.Add("x", 1, "p", table(0.8, 1, 2))
	r.Add("x", 2, "p", table(1.2, 3, 2))
	r.Add("y", 1, "p", table(0.5, 1, 3))
	r.Add("z", 1, "other", table(0.4, 0, 0))
	if err := r.Finish(nil); err != nil {
		t.Fatal(err)
	}
	row := r.Rows[0]
	if row.Model != compare.STL || len(r.Rows) != 6 {
		t.Fatalf("%d rows, the best of x is %s", len(r.Rows), row.Model)
	}
	row = r.Rows[1]
	if math.Abs(float64(row.Relative)-1) > 1e-12 || math.Abs(float64(row.StandardError)-0.2) > 1e-12 || row.Error != 4 || row.Seconds != 2 || row.Seeds != 2 {
		t.Errorf("%+v", row)
	}
	// x has the errors 2, 2 and y 1, 3, in units of 2, the mean error of STL.
	if len(r.Pairs) != 1 || r.Pairs[0].A != "x" || r.Pairs[0].B != "y" || r.Pairs[0].Difference != 0 || r.Pairs[0].StandardError != 0.5 || r.Pairs[0].Losses != 1 {
		t.Errorf("%+v", r.Pairs)
	}
}
