package run

import (
	"testing"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/infer/solve"
)

func TestTitlesOfCovariancesFitAPicture(t *testing.T) {
	for _, trust := range []solve.Trust{{Network: 1}, {Network: 0.5}, {}, solve.InWeights()} {
		v := View{Trust: trust, Step: 20}
		if title := v.Title(); len(title) > plot.LongestTitle {
			t.Errorf("%d characters: %s", len(title), title)
		}
	}
}
