package multitask

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/integrate"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
)

// Score judges predictions for rows that were held out. What cannot
// be known, as of a task without such rows, is NaN.
type Score struct {
	// Rows is how many labelled rows there are, Held how many were held out.
	Rows, Held int
	// Error is the rate of misclassified rows, or for a regression the root mean
	// squared error (RMSE).
	Error float64
	// StandardError is that of Error, as far as it comes from the choice of the
	// rows that were held out.
	StandardError float64
	// AUC is the share of pairs of a positive and a negative row in which the
	// positive one has the larger score, ties counting half; classes only.
	AUC float64
	// R2 is one minus the mean squared error over the variance of the targets;
	// regression only.
	R2 float64
}

// scoreOf compares predictions, NaN for rows that were not held out, with the
// targets.
func scoreOf(held, y []float64, kind data.Kind) Score {
	f, of := known(held, y)
	nan := math.NaN()
	s := Score{Rows: len(y), Held: len(f), Error: nan, StandardError: nan, AUC: nan, R2: nan}
	n := float64(len(f))
	switch {
	case n == 0:
	case kind == data.Classification:
		s.Error = misclassified(f, of)
		s.StandardError = math.Sqrt(s.Error * (1 - s.Error) / n)
		s.AUC = auc(f, of)
	default:
		square := make([]float64, len(f))
		floats.SubTo(square, f, of)
		floats.Mul(square, square)
		mean := stat.Mean(square, nil)
		s.Error = math.Sqrt(mean)
		if mean > 0 {
			// d sqrt(u) = du / (2 sqrt(u))
			s.StandardError = stat.StdDev(square, nil) / math.Sqrt(n) / (2 * s.Error)
		}
		if variance := stat.PopVariance(of, nil); variance > 0 {
			s.R2 = 1 - mean/variance
		}
	}
	return s
}

// auc is the area under the curve of true over false positives.
func auc(f, y []float64) float64 {
	order := make([]int, len(f))
	score := slices.Clone(f)
	floats.Argsort(score, order)
	positive := make([]bool, len(f))
	for j, from := range order {
		positive[j] = y[from] > 0
	}
	if !slices.Contains(positive, true) || !slices.Contains(positive, false) {
		return math.NaN()
	}
	tpr, fpr, _ := stat.ROC(nil, score, positive, nil)
	return integrate.Trapezoidal(fpr, tpr)
}

// Temperature returns the T for which the probabilities 1/(1 + exp(-score/T)) of
// held-out rows have the least logistic loss over all tasks, and the mean squared
// distance of these probabilities from what came true (the Brier score).
func Temperature(held [][]float64, problem *data.ProblemData) (temperature, brier float64) {
	var f, y []float64
	for i, t := range problem.Tasks {
		score, of := known(held[i], t.TrainSet.Y)
		f, y = append(f, score...), append(y, of...)
	}
	// The loss is convex in 1/T; its slope is the sum of -y f / (1 + exp(y f / T)).
	low, high := -math.Log(hottest), math.Log(hottest) // of ln 1/T
	for range 60 {
		middle := (low + high) / 2
		slope := 0.0
		for j, v := range f {
			slope -= y[j] * v / (1 + math.Exp(y[j]*v*math.Exp(middle)))
		}
		if slope > 0 {
			high = middle
		} else {
			low = middle
		}
	}
	temperature = math.Exp(-(low + high) / 2)
	for j, v := range f {
		q := 1/(1+math.Exp(-v/temperature)) - (1+y[j])/2
		brier += q * q / float64(len(f))
	}
	return temperature, brier
}

// hottest bounds the temperature, and its inverse: rows that are all on their
// sides would have none.
const hottest = 100
