package run

import (
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/infer/solve"
)

func TestTitlesOfCovariancesFitAPicture(t *testing.T) {
	for _, x := range []solve.Mixture{{Network: 1}, {Network: 0.5}, {}, {Pooled: 0.95}, {Network: 0.2, Weights: 0.6}, {Pooled: 0.38, Weights: 0.6}} {
		v := newView(mat.NewSymDense(1, []float64{1}), solve.Candidate{Mixture: x}, 1)
		if len(v.Title) > plot.LongestTitle {
			t.Errorf("%d characters: %s", len(v.Title), v.Title)
		}
	}
}
