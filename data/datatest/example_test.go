package datatest_test

import (
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
)

// A test that wants real data is skipped where there is none.
func Example() {
	_ = func(t *testing.T) {
		d, err := data.Read(datatest.Path(t, "classics", "school.npz"), data.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Groups) != 139 {
			t.Errorf("%d schools", len(d.Groups))
		}
	}
}
