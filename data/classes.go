package data

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// ClassOf is the number of the class that the scores of one row speak for: the class of the
// largest score, of equals the first. Two classes have one score, and the second class is the
// one from 0 on.
func ClassOf(scores []float64) int {
	if len(scores) > 1 {
		return slices.Index(scores, slices.Max(scores))
	}
	if scores[0] >= 0 {
		return 1
	}
	return 0
}

// Probabilities sets p to the probabilities of the classes at the scores of one
// row. Each class has 1/(1 + exp(-score/T)) against the rest, and these are
// divided by their sum. Two classes have one score: the second has the score, and the first its
// negative.
func Probabilities(p, scores []float64, temperature float64) {
	if len(scores) == 1 {
		odds := math.Exp(scores[0] / temperature)
		p[0] = 1 / (1 + odds)
		p[1] = 1 / (1 + 1/odds)
		return
	}
	top := math.Inf(-1)
	for c, f := range scores {
		t := f / temperature
		p[c] = -(max(-t, 0) +
			math.Log1p(math.Exp(-math.Abs(t))))
		top = max(top, p[c])
	}
	sum := 0.0
	for c := range p {
		p[c] = math.Exp(p[c] - top)
		sum += p[c]
	}
	floats.Scale(1/sum, p)
}
