package modeltest_test

import (
	"testing"

	"l2mt/model/modeltest"
)

// One line in a test proves a registered body, readout, estimator or link right, here
// the paper's estimator with the logarithmic link.
func Example() {
	_ = func(t *testing.T) { modeltest.Check(t, "kernel", "log") }
}
