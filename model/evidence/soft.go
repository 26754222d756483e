package evidence

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/model/multitask"
)

// softness is the width of the logistic curve that stands for the step of a misclassified
// row in the soft error, relative to the mean distance of the task's rows from the boundary.
const softness = 0.1

// Slope returns the gradient with respect to Omega of the soft error of the rows at a fit
// that was measured, W and b following Omega with Lambda1 held.
func (e *Split) Slope(h *HeldOut) (*mat.SymDense, error) {
	derivatives := make([][]float64, len(e.y))
	for i, y := range e.y {
		derivatives[i] = softSlopes(h.Scores[i], y, e.kind)
		floats.Scale(1/float64(len(e.y)), derivatives[i])
	}
	return e.train.Slope(h.Fits[0], e.rows, derivatives)
}

// softSlopes returns the derivatives of the soft error of the rows of one task with respect
// to the predictions f. It is nMSE, or the mean of 1/(1 + exp(y f/width)).
func softSlopes(f, y []float64, kind data.Kind) []float64 {
	if perRow(f, y) > 1 {
		return marginSlopes(f, y)
	}
	n, slopes := float64(len(y)), make([]float64, len(y))
	if kind == data.Regression {
		floats.SubTo(slopes, f, y)
		floats.Scale(2/(n*stat.PopVariance(y, nil)), slopes)
		return slopes
	}
	width := softness * floats.Norm(f, 1) / n
	if width == 0 { // every row is on the boundary
		return slopes
	}
	narrow := 0.0 // the derivative with respect to the width
	for j := range y {
		t := y[j] * f[j] / width
		c := math.Exp(-math.Abs(t))
		steep := c / ((1 + c) * (1 + c)) / (width * n)
		slopes[j] = -y[j] * steep
		narrow += t * steep
	}
	for j := range y {
		slopes[j] += narrow * math.Copysign(softness/n, f[j])
	}
	return slopes
}

// marginSlopes is softSlopes for more than two classes. Half of the distance between
// the score of the right class and the largest of the others stands for y f. A row whose
// class the task lacks is wrong whatever the scores are.
func marginSlopes(scores, y []float64) []float64 {
	k, slopes := perRow(scores, y), make([]float64, len(scores))
	var margin, ones []float64
	var right, rival []int // where the scores of each margin are
	for j, v := range y {
		row := slices.Clone(scores[j*k:][:k])
		own := row[int(v)]
		if math.IsInf(own, -1) {
			continue
		}
		row[int(v)] = math.Inf(-1)
		other := multitask.ClassOf(row)
		margin, ones = append(margin, (own-row[other])/2), append(ones, 1)
		right, rival = append(right, j*k+int(v)), append(rival, j*k+other)
	}
	known := float64(len(margin)) / float64(len(y))
	for i, s := range softSlopes(margin, ones, data.Classification) {
		slopes[right[i]] += known * s / 2
		slopes[rival[i]] -= known * s / 2
	}
	return slopes
}
