package evidence

import (
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"l2mt/data/files"
)

// Paired is how much more one fit loses than another on the same rows held out.
type Paired struct {
	// Loss is the mean over the tasks, with their weights, of the difference of the losses, and
	// StandardError its standard error, as far as it comes from the choice of the rows; NaN
	// for fewer than two rows. Rows that belong together are one.
	Loss          float64 `json:"loss"`
	StandardError float64 `json:"-"`
	// Low and High enclose the difference with a confidence of 95 %.
	Low  files.Float `json:"low"`
	High files.Float `json:"high"`
}

// Negligible is the difference of losses below which it does not matter who is ahead.
const Negligible = 5e-5

// Sign is -1 where a loses less by more than noise explains, 1 where it loses more, and 0 where
// held-out rows do not separate the two, or the difference is too small to see.
func (p Paired) Sign() int {
	switch {
	case math.Abs(p.Loss) < Negligible:
		return 0
	case p.High < 0:
		return -1
	case p.Low > 0:
		return 1
	}
	return 0
}

// PairedLoss compares a with b, by the same evidence.
func PairedLoss(a, b *HeldOut) Paired {
	var means []float64
	var gains [][]float64
	for i, l := range a.losses {
		gain := floats.SubTo(make([]float64, len(l)), l, b.losses[i])
		mean := 0.0
		if len(l) > 0 {
			mean = stat.Mean(gain, a.Weight[i])
		}
		gains = append(gains, gain)
		means = append(means, mean)
	}
	p := Paired{Loss: stat.Mean(means, a.weights), StandardError: math.NaN(),
		Low: files.Float(math.Inf(-1)), High: files.Float(math.Inf(1))}
	// A row moves the mean by its distance from the mean of its task, or of all tasks where
	// all rows of the task belong together, over the rows of the task and the tasks.
	moves := map[int]float64{}
	tasks := floats.Sum(a.weights)
	for i, l := range gains {
		n := float64(len(l))
		total := floats.Sum(a.Weight[i])
		mean := p.Loss
		correction := 1.0
		if n > 1 && (a.units == nil ||
			slices.Min(a.units[i]) < slices.Max(a.units[i])) {
			mean = means[i]
			correction = math.Sqrt(n / (n - 1))
		}
		for j, v := range l {
			unit := len(moves)
			if a.units != nil {
				unit = a.units[i][j]
			}
			share := a.Weight[i][j] / total
			moves[unit] += (v - mean) * correction * share *
				a.weights[i] / tasks
		}
	}
	if len(moves) > 1 {
		sum := 0.0
		for _, unit := range slices.Sorted(maps.Keys(moves)) {
			sum += moves[unit] * moves[unit]
		}
		p.StandardError = math.Sqrt(sum)
		half := distuv.StudentsT{
			Sigma: 1,
			Nu:    float64(len(moves) - 1),
		}.Quantile(0.975) * p.StandardError
		p.Low = files.Float(p.Loss - half)
		p.High = files.Float(p.Loss + half)
	}
	return p
}
