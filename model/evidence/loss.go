package evidence

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/model/multitask"
)

// The loss of a row that was held out. Of a regression it is the squared error over the
// variance of the task's targets. Of classes it is the log loss: -ln of the probability of
// the right one, at the temperature that suits all rows held out best. So a fit is not worse
// for weights that are all too short or too long.

// squares are the squared errors of rows over a variance.
func squares(f, y []float64, variance float64) []float64 {
	losses := make([]float64, len(y))
	for j := range y {
		losses[j] = (f[j] - y[j]) * (f[j] - y[j]) / variance
	}
	return losses
}

// variances are those of the tasks' targets as they are; equal ones have that of scales.
func variances(y [][]float64) ([]float64, error) {
	scale, err := scales(y)
	for i, v := range y {
		if own := stat.PopVariance(v, nil); err == nil && own > 0 {
			scale[i] = own
		}
	}
	return scale, err
}

// differ reports whether there are two different targets.
func differ(y []float64) bool { return len(y) > 1 && slices.Min(y) < slices.Max(y) }

// scales are the variances of the tasks' targets; that of a task without targets is 0. Those
// of few rows may be many times too small, and would decide everything. So each is drawn to
// the mean of all, in logarithms, by how much of what tells variances apart is chance. Equal
// targets, or a single one, have the mean.
func scales(y [][]float64) ([]float64, error) {
	scale, squares, freedom := make([]float64, len(y)), make([]float64, len(y)), make([]float64, len(y))
	for i, v := range y {
		freedom[i] = float64(len(v) - 1)
		if differ(v) {
			scale[i] = stat.PopVariance(v, nil)
			squares[i] = scale[i] * float64(len(v))
		}
	}
	mean, beyond, count := apart(squares, freedom)
	if count == 0 && slices.ContainsFunc(y, differ) {
		return nil, multitask.ErrInvalidData.Errorf("targets differ by so little that their squares are zero; give them in a smaller unit")
	}
	if count == 0 {
		return nil, multitask.ErrInvalidData.Errorf("no task has two rows of different targets, by which errors are measured")
	}
	for i, v := range y {
		switch {
		case len(v) > 0 && scale[i] == 0:
			scale[i] = math.Exp(mean)
		case len(v) > 0 && count > 1:
			own := beyond / (beyond + mathext.Zeta(2, freedom[i]/2))
			scale[i] = math.Exp(own*math.Log(scale[i]) + (1-own)*mean)
		}
	}
	return scale, nil
}

// logLosses are those of rows at their scores.
func logLosses(scores, y []float64, temperature float64) []float64 {
	k, losses := perRow(scores, y), make([]float64, len(y))
	p := make([]float64, max(2, k))
	for j, v := range y {
		data.Probabilities(p, scores[j*k:][:k], temperature)
		losses[j] = -math.Log(max(p[multitask.LabelOf(v, k)], leastProbability))
	}
	return losses
}

// leastProbability is what a class has that a task knows nothing of.
const leastProbability = 1e-6

// misclassified is the rate of rows whose predicted class is not y.
func misclassified(scores, y []float64) float64 {
	wrong, k := 0, perRow(scores, y)
	for j, v := range y {
		if data.ClassOf(scores[j*k:][:k]) != multitask.LabelOf(v, k) {
			wrong++
		}
	}
	return float64(wrong) / float64(len(y))
}

// perRow is how many scores each of the rows has.
func perRow(scores, y []float64) int { return len(scores) / max(1, len(y)) }
