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

// softness is the width of the step that stands for a misclassified row in the soft
// error, relative to the mean distance of the rows of the task from the boundary.
const softness = 0.1

// Slope returns the gradient with respect to Omega of the soft error of validation rows,
// W and b following it with Lambda1 held. Only a Split has one.
func (h *HeldOut) Slope() (*mat.SymDense, error) { return h.slope() }

// along is the slope of the soft error at a fit with these scores of the rows.
func (e *Split) along(r *multitask.Result, scores [][]float64) (*mat.SymDense, error) {
	derivatives := make([][]float64, len(scores))
	for i, y := range e.y {
		_, derivatives[i] = softError(scores[i], y, e.kind)
		floats.Scale(1/float64(len(e.y)), derivatives[i])
	}
	return e.train.Slope(r, e.rows, derivatives)
}

// softError returns the soft errors of the rows of one task and the derivatives of
// their mean with respect to the predictions f.
func softError(f, y []float64, kind data.Kind) (rows, slopes []float64) {
	if perRow(f, y) > 1 {
		return softMargins(f, y)
	}
	n := float64(len(y))
	rows, slopes = make([]float64, len(y)), make([]float64, len(y))
	if kind == data.Regression {
		variance := stat.PopVariance(y, nil)
		for j := range y {
			rows[j] = (f[j] - y[j]) * (f[j] - y[j]) / variance
			slopes[j] = 2 / (n * variance) * (f[j] - y[j])
		}
		return rows, slopes
	}
	width := softness * floats.Norm(f, 1) / n
	if width == 0 { // every row is on the boundary
		for j := range rows {
			rows[j] = 0.5
		}
		return rows, slopes
	}
	narrow := 0.0 // the derivative with respect to the width
	for j := range y {
		t := y[j] * f[j] / width
		c := math.Exp(-math.Abs(t))
		if t > 0 {
			rows[j] = c / (1 + c)
		} else {
			rows[j] = 1 / (1 + c)
		}
		steep := c / ((1 + c) * (1 + c)) / (width * n)
		slopes[j] = -y[j] * steep
		narrow += t * steep
	}
	for j := range y {
		slopes[j] += narrow * math.Copysign(softness/n, f[j])
	}
	return rows, slopes
}

// softMargins is softError for more than two classes. Half of the distance between
// the score of the right class and the largest of the others stands for y f.
func softMargins(scores, y []float64) (rows, slopes []float64) {
	k := perRow(scores, y)
	rows, slopes = make([]float64, len(y)), make([]float64, len(scores))
	var margin, ones []float64
	var of, right, rival []int // the row of each margin, and where its scores are
	for j, v := range y {
		row := slices.Clone(scores[j*k:][:k])
		own := row[int(v)]
		row[int(v)] = math.Inf(-1)
		if math.IsInf(own, -1) {
			rows[j] = 1 // the task cannot know
			continue
		}
		other := multitask.ClassOf(row)
		margin, ones = append(margin, (own-row[other])/2), append(ones, 1)
		of, right, rival = append(of, j), append(right, j*k+int(v)), append(rival, j*k+other)
	}
	known := float64(len(margin)) / float64(len(y))
	soft, slope := softError(margin, ones, data.Classification)
	for i, s := range slope {
		rows[of[i]] = soft[i]
		slopes[right[i]] += known * s / 2
		slopes[rival[i]] -= known * s / 2
	}
	return rows, slopes
}
