package evidence

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"l2mt/data"
	"l2mt/model/saved"
)

// Intervals hold as many fresh rows as they say, of all tasks and of the smallest, however
// much the tasks differ in their noise.
func TestIntervalsHoldWhatTheySay(t *testing.T) {
	for _, differ := range []float64{0, 1} {
		random := data.Stream(3, fmt.Sprint("intervals ", differ))
		h, s := &HeldOut{}, &saved.Fit{Kind: data.Regression}
		var deviation []float64
		noise := func(i, n int) []float64 {
			y := make([]float64, n)
			for j := range y {
				y[j] = deviation[i] * random.NormFloat64()
			}
			return y
		}
		const m, smallest = 90, 30
		for i := range m {
			n := 3
			if i >= smallest {
				n = 5 + i%40
			}
			deviation = append(deviation, 100*math.Exp(differ*random.NormFloat64()))
			h.Y, h.Scores = append(h.Y, noise(i, n)), append(h.Scores, make([]float64, n))
			s.Tasks = append(s.Tasks, saved.Task{Name: fmt.Sprint(i)})
		}
		h.Judge(s)
		if n := len(s.Residuals); n != mostResiduals-1 || !slices.IsSorted(s.Residuals) {
			t.Errorf("%d residuals", n)
		}
		for level, within := range map[float64]float64{0.5: 0.1, 0.9: 0.03} {
			inside := make([]float64, 2) // of the smallest tasks and of all
			const fresh = 200
			for i := range m {
				for _, y := range noise(i, fresh) {
					if math.Abs(y) > s.Interval(i, level) {
						continue
					}
					inside[1] += 1. / (m * fresh)
					if i < smallest {
						inside[0] += 1. / (smallest * fresh)
					}
				}
			}
			for k, share := range inside {
				if math.Abs(share-level) > within {
					t.Errorf("noise that differs by %v: %.3f of the rows lie in intervals of %v (%d)", differ, share, level, k)
				}
			}
		}
	}
}

// Few residuals do not tell what is rare, and a task that is not known has no interval.
func TestIntervalsThatAreNotKnown(t *testing.T) {
	s := &saved.Fit{Kind: data.Regression, Tasks: make([]saved.Task, 1)}
	if v := s.Interval(0, 0.9); !math.IsNaN(v) {
		t.Errorf("without residuals: %v", v)
	}
	(&HeldOut{Scores: [][]float64{{1, 1, 1, 1}}, Y: [][]float64{{2, 0, 3, 1}}}).Judge(s)
	for level, finite := range map[float64]bool{0.5: true, 0.8: true, 0.81: false, 0.9: false} {
		if v := s.Interval(0, level); math.IsInf(v, 1) == finite || math.IsNaN(v) {
			t.Errorf("of level %v: %v", level, v)
		}
	}
	if v := s.Interval(saved.Average, 0.5); !math.IsNaN(v) {
		t.Errorf("of the average: %v", v)
	}
}
