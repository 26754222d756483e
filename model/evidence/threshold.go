package evidence

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"l2mt/data/files"
)

// Decide finds the best score from which a row of two classes counts as positive, and counts errors
// by it from now on. The best score has the least cost on the rows held out, where a missed
// positive row costs as much as so many false alarms; with a cost of 0 it has the largest F1.
// Decide returns the probability at this score.
func (h *HeldOut) Decide(cost float64) (threshold float64) {
	f := slices.Concat(h.Scores...)
	y := slices.Concat(h.Y...)
	w := slices.Concat(h.Weight...)
	best := math.Inf(1)
	cuts(f, y, w, func(hits, alarms, positives, cut float64) {
		loss := -2 * hits / (hits + alarms + positives)
		if cost > 0 {
			loss = alarms + cost*(positives-hits)
		}
		if loss < best {
			best = loss
			h.Cut = cut
		}
	})
	return 1 / (1 + math.Exp(-h.Cut/h.Temperature))
}

// cuts goes through the ways to part rows by their scores, from none positive to all: how many of
// the positive rows are above a cut, and how many others, as much as they count.
func cuts(f, y, w []float64, do func(hits, alarms, positives, cut float64)) {
	scores := slices.Clone(f)
	order := make([]int, len(f))
	floats.Argsort(scores, order)
	positives := 0.0
	for j, v := range y {
		positives += w[j] * max(0, v)
	}
	hits := 0.0
	alarms := 0.0
	for k, row := range slices.Backward(order) {
		if k == len(order)-1 {
			do(0, 0, positives, scores[k]+1)
		}
		if y[row] > 0 {
			hits += w[row]
		} else {
			alarms += w[row]
		}
		switch {
		case k == 0:
			do(hits, alarms, positives, scores[k]-1)
		case scores[k-1] < scores[k]:
			do(hits, alarms, positives, (scores[k]+scores[k-1])/2)
		}
	}
}

// decide returns the rate of errors of two classes at a cut, and sets the shares of the positive
// class that are found and right.
func (s *Score) decide(f, y, w []float64, cut float64) (rate float64) {
	hits := 0.0
	found := 0.0
	positives := 0.0
	for j, v := range y {
		if f[j] >= cut {
			found += w[j]
			hits += w[j] * max(0, v)
		}
	}
	area := 0.0
	last := 0.0
	cuts(f, y, w, func(hits, alarms, sum, _ float64) {
		positives = sum
		if hits > last {
			area += (hits - last) * hits / (hits + alarms)
		}
		last = hits
	})
	s.Precision = files.Float(hits / found)
	s.Recall = files.Float(hits / positives)
	s.AveragePrecision = files.Float(area / positives)
	return (positives + found - 2*hits) / floats.Sum(w)
}
