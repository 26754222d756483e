package evidence

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
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
		h.Weight = make([][]float64, len(h.Y))
		h.Judge(s)
		if n := len(s.Residuals); n != mostResiduals-1 || !slices.IsSorted(s.Residuals) {
			t.Errorf("%d residuals", n)
		}
		for level, within := range map[float64]float64{0.5: 0.1, 0.9: 0.03} {
			inside := make([]float64, 2) // of the smallest tasks and of all
			const fresh = 200
			for i := range m {
				for _, y := range noise(i, fresh) {
					if math.Abs(y) > s.Interval(level)*s.Tasks[i].Spread {
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

// Where a model expects a variance of each row, intervals hold as many of the rows that it is sure
// of as of the others.
func TestIntervalsFollowTheVariance(t *testing.T) {
	random := data.Stream(5, "variance")
	h, s := &HeldOut{}, &saved.Fit{Kind: data.Regression}
	row := func() (variance, y float64) {
		variance = math.Exp(2 * random.NormFloat64())
		return variance, 3 * math.Sqrt(variance) * random.NormFloat64()
	}
	const m = 40
	for i := range m {
		n := 2 + i
		variance, y := make([]float64, n), make([]float64, n)
		for j := range y {
			variance[j], y[j] = row()
		}
		h.Variance = append(h.Variance, variance)
		h.Y = append(h.Y, y)
		h.Scores = append(h.Scores, make([]float64, n))
		s.Tasks = append(s.Tasks, saved.Task{Name: fmt.Sprint(i)})
	}
	h.Weight = make([][]float64, len(h.Y))
	h.Judge(s)
	near(t, "spread of all tasks, in units of the deviation that is expected", s.Spread, 3, 0.1)
	for _, sure := range []bool{true, false} {
		inside, all := 0.0, 0.0
		for all < 20_000 {
			variance, y := row()
			if sure != (variance < 1) {
				continue
			}
			all++
			if math.Abs(y) <= s.Interval(0.9)*s.Tasks[int(all)%m].Spread*math.Sqrt(variance) {
				inside++
			}
		}
		datatest.Near(t, inside/all, 0.9, 0.03, "small variances %t", sure)
	}
}

// Few residuals do not tell what is rare, and none tell nothing.
func TestIntervalsThatAreNotKnown(t *testing.T) {
	s := &saved.Fit{Kind: data.Regression, Tasks: make([]saved.Task, 1)}
	if v := s.Interval(0.9); !math.IsNaN(v) {
		t.Errorf("without residuals: %v", v)
	}
	heldRowsOf([][]float64{{1, 1, 1, 1}}, [][]float64{{2, 0, 3, 1}}).Judge(s)
	for level, finite := range map[float64]bool{0.5: true, 0.8: true, 0.81: false, 0.9: false} {
		if v := s.Interval(level); math.IsInf(v, 1) == finite || math.IsNaN(v) {
			t.Errorf("of level %v: %v", level, v)
		}
	}
}
