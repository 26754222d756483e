package datatest_test

import (
	"testing"

	"l2mt/data/datatest"
	"l2mt/data/table"
)

// A test that wants real data is skipped where there is none.
func Example() {
	_ = func(t *testing.T) {
		d, err := table.Dataset(datatest.Path(t, "classics", "school.npz"), table.Options{})
		if err != nil {
			t.Fatal(err)
		}
		datatest.Holds(t, len(d.Groups) == 139, "%d schools", len(d.Groups))
	}
}
