package train

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"l2mt/data"
	"l2mt/data/datatest"
)

// softly is the soft error by its definition: nMSE, or the mean of logistic curves instead of
// steps. These are a tenth as wide as rows are from the boundary in the mean, and what they
// see of several classes is half of the lead of the right one over the best other. A row whose
// class the task lacks is an error.
func softly(scores, y []float64, kind data.Kind) float64 {
	var lead []float64
	n, lost, mean, square := float64(len(y)), 0.0, floats.Sum(y)/float64(len(y)), 0.0
	k := len(scores) / len(y)
	for j, v := range y {
		row := slices.Clone(scores[j*k:][:k])
		switch {
		case kind == data.Regression:
			lost, square = lost+(row[0]-v)*(row[0]-v), square+(v-mean)*(v-mean)
		case k == 1:
			lead = append(lead, v*row[0])
		case math.IsInf(row[int(v)], -1):
			lost++
		default:
			own := row[int(v)]
			row[int(v)] = math.Inf(-1)
			lead = append(lead, (own-floats.Max(row))/2)
		}
	}
	if kind == data.Regression {
		return lost / square
	}
	width := 0.1 * floats.Norm(lead, 1) / float64(len(lead))
	for _, v := range lead {
		lost += 1 / (1 + math.Exp(v/width))
	}
	return lost / n
}

// The soft error of predictions is that by its definition, and differences between
// neighbouring predictions agree with its slopes, of rows that have a class which their task
// lacks too.
func TestSlopesAreThoseOfTheSoftError(t *testing.T) {
	for what, c := range map[string]struct {
		kind    data.Kind
		classes int
	}{"regression": {data.Regression, 0}, "two classes": {data.Classification, 0}, "several": {data.Classification, 4}} {
		r, scores, y := data.Stream(1, what), []float64(nil), make([]float64, 12)
		for j := range y {
			for range max(1, c.classes) {
				scores = append(scores, r.NormFloat64())
			}
			switch y[j] = scores[len(scores)-1] + r.NormFloat64(); {
			case c.classes > 0:
				y[j] = float64(r.IntN(c.classes))
				scores[len(scores)-1] = math.Inf(-1) // the task lacks the last class
			case c.kind == data.Classification:
				y[j] = math.Copysign(1, y[j])
			}
		}
		soft, slopes := softError(scores, y, c.kind)
		datatest.Near(t, soft, softly(scores, y, c.kind), 1e-12, "%s: the soft error", what)
		for j := range scores {
			at := func(h float64) float64 {
				moved := slices.Clone(scores)
				moved[j] += h
				return softly(moved, y, c.kind)
			}
			const step = 1e-6
			datatest.Near(t, slopes[j], (at(step)-at(-step))/(2*step), 1e-6, "%s: slope %d", what, j)
		}
	}
}

// Where every row is on the boundary no direction is better.
func TestSlopeOnTheBoundary(t *testing.T) {
	soft, slopes := softError(make([]float64, 3), []float64{1, -1, 1}, data.Classification)
	if soft != 0.5 || floats.Norm(slopes, 1) != 0 {
		t.Errorf("the soft error is %v, the slopes are %v", soft, slopes)
	}
}
