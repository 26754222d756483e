package evidence

import (
	"math"
	"testing"

	"l2mt/data"
)

// By hand: scores 4 + 3 - 2 + 1 - have the precisions 1/1, 2/3 at their positive rows, so that the
// average precision is 5/6. Above 1.5 there are both positive rows and one false alarm.
func TestThresholds(t *testing.T) {
	h := heldRowsOf([][]float64{{4, 3}, {2, 1}}, [][]float64{{1, -1}, {1, -1}})
	f, y := []float64{4, 3, 2, 1}, []float64{1, -1, 1, -1}
	for _, c := range []struct{ cost, cut, wrong, precision, recall float64 }{
		{0, 1.5, 1. / 4, 2. / 3, 1},
		{10, 1.5, 1. / 4, 2. / 3, 1},
		{0.5, 3.5, 1. / 4, 1, 1. / 2},
		{1e-3, 3.5, 1. / 4, 1, 1. / 2},
	} {
		threshold := h.Decide(c.cost)
		want := 1 / (1 + math.Exp(-c.cut/h.Temperature()))
		s := ScoreOf(data.Classification, f, y, nil, 1, h.Cut)
		if h.Cut != c.cut || math.Abs(threshold-want) > 1e-12 {
			t.Errorf("cost %v: the cut is %v, the threshold %v, want %v, %v", c.cost, h.Cut, threshold, c.cut, want)
		}
		got := []float64{float64(s.Error), float64(s.Precision), float64(s.Recall), float64(s.AveragePrecision)}
		for k, want := range []float64{c.wrong, c.precision, c.recall, 5. / 6} {
			if math.Abs(got[k]-want) > 1e-12 {
				t.Errorf("cost %v: %v, want %v as number %d", c.cost, got[k], want, k)
			}
		}
	}
	h = heldRowsOf([][]float64{{1, 2, 3}}, [][]float64{{1, -1, -1}})
	if h.Decide(1.5); h.Cut != 4 {
		t.Errorf("a positive row below all others is found for two alarms that cost more: cut %v", h.Cut)
	}
	if s := ScoreOf(data.Classification, []float64{1, 1}, []float64{1, -1}, nil, 1, 0); s.AveragePrecision != 0.5 {
		t.Errorf("equal scores have the average precision %v", s.AveragePrecision)
	}
}
