package experiencetest_test

import (
	"testing"

	"l2mt/data/experience"
	"l2mt/data/experience/experiencetest"
)

// A test of code that reads experience makes some, which is checked once more
// when the test ends.
func Example() {
	_ = func(t *testing.T) {
		dir := experiencetest.Dir(t)
		experiencetest.Write(t, dir, "a", experiencetest.Problem(1, "p", 3, "mtrl", "snr2")...)
		store, err := experience.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		records, err := store.Load()
		if err != nil || len(records) != 3 {
			t.Errorf("%d records, %v", len(records), err)
		}
	}
}
