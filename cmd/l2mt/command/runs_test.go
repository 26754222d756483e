package command

import (
	"testing"

	"l2mt/data/files"
)

// The quantile of Student's t for two degrees of freedom is 4.3027, so that the interval
// around 2 is 4.3027 / sqrt(3).
func TestTheIntervalOverSeeds(t *testing.T) {
	if got := over([]files.Float{1, 2, 3}); got != "2.0000 +- 2.4841" {
		t.Error(got)
	}
}
