package evidence

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"l2mt/data"
	"l2mt/model/multitask"
)

const (
	// hottest bounds the temperature, and its inverse.
	hottest = 100
	// certainty is the precision of the prior of 1/T about 1: where no row is wrong, rows
	// alone would have no temperature.
	certainty = 4
)

// temperature returns the T for which the data.Probabilities of the rows have the least logistic
// loss over all tasks, drawn to 1. For every row two more count, with the same scores: one of its
// class and one of the next class (the rule of succession). For n rows that are all right do not
// tell that a wrong row is rarer than one in n. Newton's method takes the steps; of more than two
// classes a negative part of the curvature is left out.
func (h *HeldOut) temperature() float64 {
	k := perRow(slices.Concat(h.Scores...), slices.Concat(h.Y...))
	p := make([]float64, max(2, k))
	moved := make([]float64, k)
	rows := floats.Sum(slices.Concat(h.Weight...))
	a := 1.0 // 1/T
	for range 100 {
		slope := certainty * (a - 1)
		curvature := float64(certainty)
		for i, y := range h.Y {
			for j, v := range y {
				f := h.Scores[i][j*k:][:k]
				for class := range f {
					moved[class] = a * f[class]
				}
				data.Probabilities(p, moved, 1)
				right := multitask.LabelOf(v, k)
				s, c := rowSlope(p, moved, f, right)
				against, bend := rowSlope(p, moved, f, rival(f, right))
				s += (s + against) / rows
				c += (c + bend) / rows
				slope += s * h.Weight[i][j]
				curvature += c * h.Weight[i][j]
			}
		}
		next := min(max(a-slope/curvature, a/2, 1.0/hottest), 2*a, hottest)
		distance := math.Abs(next - a)
		a = next
		if distance < 1e-10*a {
			break
		}
	}
	return 1 / a
}

// rival is the class of the largest score beside another class.
func rival(f []float64, right int) int {
	if len(f) == 1 {
		return 1 - right
	}
	rivals := slices.Clone(f)
	rivals[right] = math.Inf(-1)
	return floats.MaxIdx(rivals)
}

// rowSlope is the slope of the loss of a row along 1/T, and its curvature.
func rowSlope(p, moved, f []float64, right int) (slope, curvature float64) {
	k := len(f)
	mean := 0.0
	for n, s := range moved {
		if math.IsInf(s, -1) {
			continue
		}
		class := n + len(p) - k
		against := 1.0
		if k > 1 {
			against /= 1 + math.Exp(s)
		}
		mean += p[class] * against * f[n]
		bend := p[class] * against * against
		if class == right {
			slope -= against * f[n]
			bend += against * (1 - against)
		}
		curvature += bend * f[n] * f[n]
	}
	return slope + mean, curvature - mean*mean
}
