package evidence

import (
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Paired is how much more one fit loses than another on the same rows held out.
type Paired struct {
	// Loss is the mean over the tasks, with their weights, of the difference of the losses, and
	// StandardError that of it, as far as it comes from the choice of the rows; NaN
	// where there are not two of them. Rows that belong together are one.
	Loss, StandardError float64
	// units is how many there are that do not belong together.
	units int
}

// Interval is where the difference lies with a confidence of 95 %.
func (p Paired) Interval() (low, high float64) {
	if p.units < 2 {
		return math.Inf(-1), math.Inf(1)
	}
	t := distuv.StudentsT{Sigma: 1, Nu: float64(p.units - 1)}.Quantile(0.975) * p.StandardError
	return p.Loss - t, p.Loss + t
}

// PairedLoss compares a with b, by the same evidence.
func PairedLoss(a, b *HeldOut) Paired {
	var means, weights []float64
	less := make([][]float64, len(a.losses))
	for i, l := range a.losses {
		if less[i] = floats.SubTo(make([]float64, len(l)), l, b.losses[i]); len(l) > 0 {
			means, weights = append(means, stat.Mean(less[i], nil)), append(weights, a.weights[i])
		}
	}
	p := Paired{Loss: stat.Mean(means, weights), StandardError: math.NaN()}
	// A row moves the mean by its distance from that of its task, or of all tasks where
	// it is the only one, over the rows of the task and the tasks.
	moves, next := map[int]float64{}, -1
	for i, l := range less {
		n, mean := float64(len(l)), p.Loss
		if n > 1 {
			mean = stat.Mean(l, nil)
		}
		for j, v := range l {
			unit := next
			if a.units != nil {
				unit = a.units[i][j]
			}
			next--
			moves[unit] += (v - mean) * math.Sqrt(n/max(1, n-1)) / n * a.weights[i] / floats.Sum(weights)
		}
	}
	if p.units = len(moves); p.units > 1 {
		sum := 0.0
		for _, unit := range slices.Sorted(maps.Keys(moves)) {
			sum += moves[unit] * moves[unit]
		}
		p.StandardError = math.Sqrt(sum)
	}
	return p
}
