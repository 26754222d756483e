package report

import (
	"fmt"
	"math"
	"testing"

	"l2mt/data/datatest"
	"l2mt/data/files"
	"l2mt/model/evidence"
)

// A verdict is about the whole interval: of a rival's loss of 2 less than 0.1 is as good.
func TestVerdictsAreOfIntervals(t *testing.T) {
	infinity := math.Inf(1)
	for _, c := range []struct {
		low, high float64
		want      Verdict
	}{
		{-0.5, -0.01, Wins}, {0.01, 0.5, Loses}, {-0.09, 0.09, Ties},
		{-0.09, 0.11, Doubt}, {-0.11, 0.09, Doubt}, {-infinity, infinity, Doubt},
	} {
		middle := (max(c.low, -1) + min(c.high, 1)) / 2
		v := Rival{Loss: 2, Less: evidence.Paired{Loss: middle + 1e-3, Low: files.Float(c.low), High: files.Float(c.high)}}
		datatest.Equal(t, v.Verdict(), c.want, "from %v to %v", c.low, c.high)
	}
	exact := Rival{Loss: 1e-14, Less: evidence.Paired{Loss: -2e-15, Low: -3e-15, High: -1e-15}}
	datatest.Equal(t, exact.Verdict(), Ties, "both pass through every row")
	v := Rival{Loss: 2, Less: evidence.Paired{Loss: -0.5, Low: -3, High: 0.5}}
	datatest.Equal(t, fmt.Sprint(v.Saves()), "[25 -25 100]", "percents of the rival's loss")
}
