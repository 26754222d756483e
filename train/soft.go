package train

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
)

// softness is the width of the logistic curve that stands for the step of a misclassified
// row in the soft error, relative to the mean distance of the task's rows from the boundary.
const softness = 0.1

// softError is the soft error of the rows of one task, and its derivatives with respect to
// the predictions f. It is nMSE, or the mean of 1/(1 + exp(y f/width)).
func softError(f, y []float64, kind data.Kind) (soft float64, slopes []float64) {
	if len(f) > len(y) {
		return marginError(f, y)
	}
	n := float64(len(y))
	slopes = make([]float64, len(y))
	if kind == data.Regression {
		floats.SubTo(slopes, f, y)
		variance := stat.PopVariance(y, nil)
		soft = floats.Dot(slopes, slopes) / (n * variance)
		floats.Scale(2/(n*variance), slopes)
		return soft, slopes
	}
	width := softness * floats.Norm(f, 1) / n
	if width == 0 { // every row is on the boundary
		return 0.5, slopes
	}
	narrow := 0.0 // the derivative with respect to the width
	for j := range y {
		t := y[j] * f[j] / width
		soft += 1 / (1 + math.Exp(t)) / n
		c := math.Exp(-math.Abs(t))
		steep := c / ((1 + c) * (1 + c)) / (width * n)
		slopes[j] = -y[j] * steep
		narrow += t * steep
	}
	for j := range y {
		slopes[j] += narrow * math.Copysign(softness/n, f[j])
	}
	return soft, slopes
}

// marginError is softError for more than two classes. Half of the distance between the score of the
// right class and the largest other score stands for y f. A row whose class the task lacks is wrong
// whatever the scores are.
func marginError(scores, y []float64) (soft float64, slopes []float64) {
	k := len(scores) / len(y)
	slopes = make([]float64, len(scores))
	var margin, ones []float64
	var right, rival []int // where the scores of each margin are
	for j, v := range y {
		row := slices.Clone(scores[j*k:][:k])
		score := row[int(v)]
		if math.IsInf(score, -1) {
			continue
		}
		row[int(v)] = math.Inf(-1)
		nearest := data.ClassOf(row)
		margin = append(margin, (score-row[nearest])/2)
		ones = append(ones, 1)
		right = append(right, j*k+int(v))
		rival = append(rival, j*k+nearest)
	}
	known := float64(len(margin)) / float64(len(y))
	soft, derivatives := softError(margin, ones, data.Classification)
	for i, s := range derivatives {
		slopes[right[i]] += known * s / 2
		slopes[rival[i]] -= known * s / 2
	}
	return 1 - known*(1-soft), slopes
}
