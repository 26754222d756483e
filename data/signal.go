package data

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Signal is how much of what tells the classes of the tasks apart lies along the
// directions of a metric, for one part of it among the features in general:
//
//	sum (s^2 |M'g|^2 - noise) / sum (|A'g|^2 - noise),  g = mean of a class - mean of another,
//
// over the pairs of classes of each task. Rows scatter as much along M as in A, and noise
// is what this alone brings to the squares. Of a regression the rows above the median are
// one class and the others another. It is NaN without directions, and without a signal.
func (m *Metric) Signal(p *ProblemData) float64 {
	if m == nil || m.along == nil {
		return math.NaN()
	}
	d, r := m.dims()
	var own, along float64
	for _, t := range m.Problem(p.TrainingOnly()).Tasks {
		clouds := clouds(t.TrainSet.X, sides(t), d, r)
		clouds = slices.DeleteFunc(clouds, func(c cloud) bool { return c.rows < 2 }) // which scatter nobody knows how
		for a, x := range clouds {
			for _, y := range clouds[:a] {
				gap := floats.SubTo(make([]float64, d+r), x.mean, y.mean)
				own += floats.Dot(gap[:d], gap[:d]) - x.own/x.noisy() - y.own/y.noisy()
				along += floats.Dot(gap[d:], gap[d:]) - x.along/x.noisy() - y.along/y.noisy()
			}
		}
	}
	along *= (1 - taught) / taught
	switch {
	case own > 0:
		return max(along, 0) / own
	case along > 0:
		return math.Inf(1)
	}
	return math.NaN()
}

// sides are the labels of the training rows, of a regression 1 above the median.
func sides(t TaskData) []float64 {
	y := t.TrainSet.Y
	if t.Kind != Regression {
		return y
	}
	median, above := stat.Quantile(0.5, stat.Empirical, slices.Sorted(slices.Values(y)), nil), make([]float64, len(y))
	for i, v := range y {
		if v > median {
			above[i] = 1
		}
	}
	return above
}

// cloud is the rows of a class: their number, their mean, and the sums of their squares about
// it in A and along M.
type cloud struct {
	rows       float64
	mean       []float64
	own, along float64
}

// clouds are those of each label.
func clouds(x Matrix, labels []float64, d, r int) (all []cloud) {
	for _, rows := range byLabel(x, labels) {
		c := cloud{rows: float64(len(rows)), mean: make([]float64, d+r)}
		for _, row := range rows {
			addRow(c.mean, 1/c.rows, row)
		}
		at := make([]float64, d+r)
		for _, row := range rows {
			copy(at, c.mean)
			addRow(at, -1, row)
			c.own += floats.Dot(at[:d], at[:d])
			c.along += floats.Dot(at[d:], at[d:])
		}
		all = append(all, c)
	}
	return all
}

// noisy divides the squares of the rows to what they bring to that of the mean.
func (c cloud) noisy() float64 { return c.rows * (c.rows - 1) }
