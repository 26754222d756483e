package evidence

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"

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

// offset is the o for which rows have the least logistic loss, at the temperature that suits
// it best. It costs half of its square over that of the temperature, so that rows which do
// not tell leave it at 0.
func offset(scores, labels, odds [][]float64) float64 {
	k := len(odds[0])
	p, moved := make([]float64, max(2, k)), make([]float64, k)
	bounded := func(cold float64) float64 { return min(max(cold, -math.Log(hottest)), math.Log(hottest)) }
	// at is the loss where 1/T is exp(x[0]) and o is x[1] T, and sets its gradient.
	at := func(gradient, x []float64) float64 {
		cold, loss := math.Exp(bounded(x[0])), x[1]*x[1]/2
		gradient[0], gradient[1] = 0, x[1]
		for i, y := range labels {
			for j, v := range y {
				f, right := scores[i][j*k:][:k], multitask.LabelOf(v, k)
				for c := range f {
					moved[c] = cold*f[c] + x[1]*odds[i][c]
				}
				multitask.Probabilities(p, moved, 1)
				if p[right] < leastProbability { // whatever the offset is
					loss -= math.Log(leastProbability)
					continue
				}
				loss -= math.Log(p[right])
				for c, s := range moved {
					class, against := c+len(p)-k, 1.0
					if k > 1 {
						against /= 1 + math.Exp(s)
					}
					slope := against * p[class]
					if class == right {
						slope -= against
					}
					if !math.IsInf(s, 0) { // of a class that the task lacks
						gradient[0] += slope * cold * f[c]
						gradient[1] += slope * odds[i][c]
					}
				}
			}
		}
		if cold != math.Exp(x[0]) {
			gradient[0] = 0
		}
		return loss
	}
	problem := optimize.Problem{
		Func: func(x []float64) float64 { return at(make([]float64, 2), x) },
		Grad: func(gradient, x []float64) { at(gradient, x) },
	}
	best, _ := optimize.Minimize(problem, make([]float64, 2), nil, &optimize.BFGS{})
	if best == nil { // of scores that are not finite
		return 0
	}
	return best.X[1] / math.Exp(bounded(best.X[0]))
}

// move adds to scores what the rows held out of all tasks ask for, and returns it by tasks.
func move(scores, labels, odds [][]float64) (offsets [][]float64) {
	o := offset(scores, labels, odds)
	for i, f := range scores {
		offsets = append(offsets, slices.Clone(odds[i]))
		floats.Scale(o, offsets[i])
		for j := range f {
			f[j] += offsets[i][j%len(odds[i])]
		}
	}
	return offsets
}
