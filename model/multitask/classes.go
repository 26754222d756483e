package multitask

import (
	"math"
	"slices"

	"l2mt/data"
)

// Where tasks have C > 2 classes the scores of their rows stand row by row, C for
// each, -Inf for a class that the task lacks, and y has the number of the class.
// Where they have two, there is one score a row, and y is -1 or +1.

// perRow is how many scores each of the rows has.
func perRow(scores, y []float64) int { return len(scores) / max(1, len(y)) }

// column is that of one class among the scores of all.
func column(scores []float64, class, classes int) []float64 {
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

// misclassified is the rate of rows whose predicted class is not y.
func misclassified(scores, y []float64) float64 {
	wrong, k := 0, perRow(scores, y)
	for j, v := range y {
		if ClassOf(scores[j*k:][:k]) != LabelOf(v, k) {
			wrong++
		}
	}
	return float64(wrong) / float64(len(y))
}

// softMargins is softError for more than two classes. Half of the distance between
// the score of the right class and the largest of the others stands for y f.
func softMargins(scores, y []float64, softness float64) (rows, slopes []float64) {
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
		other := ClassOf(row)
		margin, ones = append(margin, (own-row[other])/2), append(ones, 1)
		of, right, rival = append(of, j), append(right, j*k+int(v)), append(rival, j*k+other)
	}
	known := float64(len(margin)) / float64(len(y))
	soft, slope := softError(margin, ones, data.Classification, softness)
	for i, s := range slope {
		rows[of[i]] = soft[i]
		slopes[right[i]] += known * s / 2
		slopes[rival[i]] -= known * s / 2
	}
	return rows, slopes
}

// Probabilities sets p to the probabilities of the classes at the scores of one
// row. Each class has 1/(1 + exp(-score/T)) against the rest, and these are
// divided by their sum. Two classes have one score: that of the second, and its
// negative is that of the first.
func Probabilities(p, scores []float64, temperature float64) {
	if len(scores) == 1 {
		scores = []float64{-scores[0], scores[0]}
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
	scale(1/sum, p)
}

// surprise is the mean of -ln of the probability of the right class, which for
// two classes is the logistic loss.
func surprise(scores, y []float64) float64 {
	k := perRow(scores, y)
	if k == 1 {
		return Logistic.mean(scores, y, 0)
	}
	sum, p := 0.0, make([]float64, k)
	for j, v := range y {
		Probabilities(p, scores[j*k:][:k], 1)
		sum -= math.Log(max(p[int(v)], leastProbability))
	}
	return sum / float64(len(y))
}

// leastProbability is what a class has that a task knows nothing of.
const leastProbability = 1e-6
