package evidence

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"l2mt/data"
	"l2mt/model/multitask"
)

// Intercepts are fitted where the rows fitted on have large scores, and others have smaller
// ones; so of classes with unlike numbers of rows the larger is predicted too often. What
// helps is what class weights do, and more: the score of a row becomes
//
//	f + o L_t,  L_t = ln of the odds of the class among the labelled rows of the task
//
// with one number o for all tasks, fitted with the temperature to the rows held out.

// odds are those of the classes of a task, each against the rest, or of the second of two, as
// logarithms. Half a row more on either side keeps them finite.
func odds(y []float64, classes int) []float64 {
	count := make([]float64, max(2, classes))
	for _, v := range y {
		count[multitask.LabelOf(v, classes)]++
	}
	if classes <= 1 {
		count = count[1:]
	}
	for c, n := range count {
		count[c] = math.Log((n + 0.5) / (float64(len(y)) - n + 0.5))
	}
	return count
}

// hottest bounds the temperature, and its inverse: rows that are all on their sides would
// have none.
const hottest = 100

// Temperature returns the T for which the data.Probabilities of held-out rows have the
// least logistic loss over all tasks. Scores are theirs, labels the classes of the rows.
func Temperature(scores, labels [][]float64) float64 {
	temperature, _ := calibrate(scores, labels, nil)
	return temperature
}

// calibrate returns the temperature T and the o for which rows have the least logistic loss,
// without odds T alone. The offset costs (o/T)^2/2, so that rows which do not tell leave it at
// 0. Steps are those of Newton's method; of more than two classes a part of the curvature is
// left out, which is negative.
func calibrate(scores, labels, odds [][]float64) (temperature, o float64) {
	k := perRow(slices.Concat(scores...), slices.Concat(labels...))
	p, moved, of := make([]float64, max(2, k)), make([]float64, k), make([]float64, k)
	a, c := 1.0, 0.0 // 1/T and o/T
	for range 100 {
		slope, slopeC := 0.0, c
		curvature, cross, curvatureC := math.SmallestNonzeroFloat64, 0.0, 1.0
		for i, y := range labels {
			if odds != nil {
				of = odds[i]
			}
			for j, v := range y {
				f, right := scores[i][j*k:][:k], multitask.LabelOf(v, k)
				for class := range f {
					moved[class] = a*f[class] + c*of[class]
				}
				if math.IsInf(moved[max(0, right+k-len(p))], -1) {
					continue // the task cannot have the class, whatever the offset is
				}
				data.Probabilities(p, moved, 1)
				meanA, meanC := 0.0, 0.0
				for n, s := range moved {
					if math.IsInf(s, -1) {
						continue
					}
					class, against, x, l := n+len(p)-k, 1.0, f[n], of[n]
					if k > 1 {
						against /= 1 + math.Exp(s)
					}
					bent := p[class] * against * against
					meanA, meanC = meanA+p[class]*against*x, meanC+p[class]*against*l
					if class == right {
						slope, slopeC = slope-against*x, slopeC-against*l
						bent += against * (1 - against)
					}
					curvature, cross, curvatureC = curvature+bent*x*x, cross+bent*x*l, curvatureC+bent*l*l
				}
				slope, slopeC = slope+meanA, slopeC+meanC
				curvature, cross, curvatureC = curvature-meanA*meanA, cross-meanA*meanC, curvatureC-meanC*meanC
			}
		}
		det := curvature*curvatureC - cross*cross
		moveA := 0.0
		if det > 0 {
			moveA = (cross*slopeC - curvatureC*slope) / det
		}
		next := min(max(a+moveA, a/2, 1.0/hottest), 2*a, hottest)
		moveA = next - a
		moveC := min(max(-(slopeC+cross*moveA)/curvatureC, -1), 1) // the best for that move of a
		if a, c = next, c+moveC; math.Abs(moveA) < 1e-10*a && math.Abs(moveC) < 1e-10 {
			break
		}
	}
	return 1 / a, c / a
}

// move adds to scores what the rows held out of all tasks ask for, and returns it by tasks.
func move(scores, labels, odds [][]float64) (offsets [][]float64) {
	_, o := calibrate(scores, labels, odds)
	for i, f := range scores {
		offsets = append(offsets, slices.Clone(odds[i]))
		floats.Scale(o, offsets[i])
		for j := range f {
			f[j] += offsets[i][j%len(odds[i])]
		}
	}
	return offsets
}
