package evidence

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/model/multitask"
)

// The loss of a row that was held out. Of a regression it is the squared error over the
// variance of the task's targets. Of classes it is the log loss: -ln of the probability of
// the right one, at the temperature that suits all rows held out best. So a fit is not worse
// for weights that are all too short or too long.

// squares are the squared errors of rows over a variance.
func squares(f, y []float64, variance float64) (losses []float64) {
	for j, v := range y {
		losses = append(losses, (f[j]-v)*(f[j]-v)/variance)
	}
	return losses
}

// scales are the variance of all targets or, if separate, the variance of each task's targets,
// unless these are equal. A task of three rows tells its variance so badly that it would decide
// for all.
func scales(y [][]float64, separate bool) ([]float64, error) {
	targets := slices.Concat(y...)
	total := stat.PopVariance(targets, nil)
	if !(total > 0) {
		if len(targets) > 0 && slices.Min(targets) < slices.Max(targets) {
			return nil, multitask.ErrInvalidData.Errorf("targets differ by so little that their squares are zero; give them in a smaller unit")
		}
		return nil, multitask.ErrInvalidData.Errorf("all targets are equal, so that there is nothing to predict")
	}
	scale := make([]float64, len(y))
	for i, v := range y {
		scale[i] = total
		variance := stat.PopVariance(v, nil)
		if separate && variance > 0 {
			scale[i] = variance
		}
	}
	return scale, nil
}

// logLosses has the logarithmic loss of every row at its scores.
func logLosses(scores, y []float64, temperature float64) (losses []float64) {
	k := perRow(scores, y)
	p := make([]float64, max(2, k))
	for j, v := range y {
		data.Probabilities(p, scores[j*k:][:k], temperature)
		right := max(p[multitask.LabelOf(v, k)], leastProbability)
		losses = append(losses, -math.Log(right))
	}
	return losses
}

// leastProbability is the probability of a class that is new to a task.
const leastProbability = 1e-6

// rowErrors are the errors of rows: squares over a variance, or 1 where the class is wrong.
func rowErrors(kind data.Kind, f, y []float64, variance float64) []float64 {
	if kind == data.Regression {
		return squares(f, y, variance)
	}
	return misclassified(f, y)
}

// misclassified is 1 for rows whose predicted class is not y, and else 0.
func misclassified(scores, y []float64) []float64 {
	k := perRow(scores, y)
	misses := make([]float64, len(y))
	for j, v := range y {
		if data.ClassOf(scores[j*k:][:k]) != multitask.LabelOf(v, k) {
			misses[j] = 1
		}
	}
	return misses
}

// perRow is how many scores each of the rows has.
func perRow(scores, y []float64) int {
	return len(scores) / max(1, len(y))
}
