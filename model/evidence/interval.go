package evidence

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"

	"l2mt/model/saved"
)

// spread tells a saved regression how far its predictions are from the rows held out. The spread of
// a task is the root of its mean squared residual, drawn to the spread of all tasks; the rows
// choose how far. Every residual is divided by the spread that its task has without it: so the
// residuals of all tasks are alike, and bound the residual of a fresh row. Where the model expects
// a variance of rows, residuals count in units of its root.
func (h *HeldOut) spread(s *saved.Fit) {
	var square [][]float64
	rows := 0
	sums := make([]float64, len(h.Y))
	total := 0.0
	for i, y := range h.Y {
		part := squares(h.Scores[i], y, 1)
		if len(y) > 1 { // one says little
			s.Tasks[i].StandardError = math.Sqrt(stat.Mean(part, h.Weight[i]))
		}
		if h.Variance != nil {
			floats.Div(part, h.Variance[i])
		}
		for _, v := range part {
			sums[i] += v
		}
		rows += len(y)
		total += sums[i]
		square = append(square, part)
	}
	if total == 0 {
		return
	}
	mean := total / float64(rows)
	drawn := drawnBy(square, sums)
	s.Spread = math.Sqrt(mean)
	spread := func(sum, n float64) float64 {
		return math.Sqrt((drawn*mean + sum) / (drawn + n))
	}
	s.Residuals = nil
	for i := range square {
		n := float64(len(square[i]))
		s.Tasks[i].Spread = spread(sums[i], n)
		for _, v := range square[i] {
			without := spread(max(0, sums[i]-v), n-1)
			if without > 0 {
				s.Residuals = append(s.Residuals, math.Sqrt(v)/without)
			}
		}
	}
	slices.Sort(s.Residuals)
	n := len(s.Residuals)
	if n >= mostResiduals {
		var thin []float64
		for k := range mostResiduals - 1 {
			above := (k+1)*(n+1) + mostResiduals - 1
			thin = append(thin, s.Residuals[above/mostResiduals-1])
		}
		s.Residuals = thin
	}
}

// mostResiduals is how many parts of equal probability residuals tell apart.
const mostResiduals = 1000

// drawnBy is the number of rows that the spread of all tasks counts for beside the rows of
// one: the more, the less the logarithms of the tasks' spreads differ beyond chance (Smyth 2004,
// "Linear models and empirical Bayes methods"). Tasks of no squares do not count.
func drawnBy(square [][]float64, sums []float64) float64 {
	var logs, chance []float64
	for i, sum := range sums {
		half := float64(len(square[i])) / 2
		if sum > 0 {
			logs = append(logs, math.Log(sum/2)-mathext.Digamma(half))
			chance = append(chance, mathext.Zeta(2, half))
		}
	}
	excess := 1e-4 // below which spreads do not differ
	if len(logs) > 1 {
		excess = max(excess, stat.Variance(logs, nil)-stat.Mean(chance, nil))
	}
	return 1 + 2/excess // where the trigamma function is that
}
