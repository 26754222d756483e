package sweep

import (
	"math"
	"testing"

	"l2mt/infer/compare"
)

// The summary over seeds against its definition.
func TestRowsAreMeansOverSeeds(t *testing.T) {
	r := &Result{Rows: []Row{{Model: "a", runs: []compare.Row{{Relative: 0.8, Error: 1, Seconds: 1}, {Relative: 1, Error: 2, Seconds: 3}, {Relative: 1.2, Error: 6, Seconds: 5}}}}}
	r.Finish()
	row := r.Rows[0]
	if math.Abs(float64(row.Relative)-1) > 1e-12 || math.Abs(float64(row.Deviation)-0.2/math.Sqrt(3)) > 1e-12 || row.Error != 3 || row.Seconds != 3 || row.Seeds != 3 {
		t.Errorf("%+v", row)
	}
}
