package multitask

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Where tasks have C > 2 classes the scores of their rows stand row by row, C for
// each, -Inf for a class that the task cannot have, and y has the number of the class.
// Where they have two, there is one score a row, and y is -1 or +1.

// ClassScores are those of one class among the scores of all.
func ClassScores(scores []float64, class, classes int) []float64 {
	if classes == 1 {
		return scores
	}
	var c []float64
	for j := class; j < len(scores); j += classes {
		c = append(c, scores[j])
	}
	return c
}

// ClassOf is the number of the class that the scores of one row speak for: that of
// the largest, of equals the first. Two classes have one score, and the second is
// the one from 0 on.
func ClassOf(scores []float64) int {
	if len(scores) > 1 {
		return slices.Index(scores, slices.Max(scores))
	}
	if scores[0] >= 0 {
		return 1
	}
	return 0
}

// LabelOf is the number of the class that y is, for so many scores a row.
func LabelOf(y float64, classes int) int {
	if classes > 1 {
		return int(y)
	}
	return int(1+y) / 2
}

// Probabilities sets p to the probabilities of the classes at the scores of one
// row. Each class has 1/(1 + exp(-score/T)) against the rest, and these are
// divided by their sum. Two classes have one score: that of the second, and its
// negative is that of the first.
func Probabilities(p, scores []float64, temperature float64) {
	if len(scores) == 1 {
		odds := math.Exp(scores[0] / temperature)
		p[0], p[1] = 1/(1+odds), 1/(1+1/odds)
		return
	}
	most := math.Inf(-1)
	for c, f := range scores {
		p[c] = -logistic(f / temperature)
		most = max(most, p[c])
	}
	sum := 0.0
	for c := range p {
		p[c] = math.Exp(p[c] - most)
		sum += p[c]
	}
	floats.Scale(1/sum, p)
}
