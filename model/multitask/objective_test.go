package multitask

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
)

// objective is problem (1) at a point.
func objective(t *testing.T, model Model, problem *TrainingSet, w *mat.Dense, b []float64, c *Covariance, p Params) Value {
	t.Helper()
	return datatest.Must(problem.Evaluate(model, p, w, b, c))(t)
}

// powered returns v^r, 0 for rounding errors.
func powered(values []float64, r float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		if v > rankTolerance*values[len(values)-1] {
			out[i] = math.Pow(v, r)
		}
	}
	return out
}

// The best bias of the squared loss is the mean of what scores leave, however far
// from zero that is: rounding errors of the sum of the slopes are no direction.
func TestBiasFarFromZero(t *testing.T) {
	random := data.Stream(1, "bias")
	for range 200 {
		score, y := normals(random, 30), normals(random, 30)
		mean := 0.0
		for j := range y {
			y[j] += 1e4
			mean += (y[j] - score[j]) / 30
		}
		r, h := make([]float64, 30), make([]float64, 30)
		b := Square.bias(r, h, score, y, 0, 0, 0, slices.Repeat([]float64{1. / 30}, 30))
		for range 3 {
			b = Square.bias(r, h, score, y, b, 0, 0, slices.Repeat([]float64{1. / 30}, 30))
		}
		near(t, "bias", b, mean, 1e-12)
	}
}

// TestShiftedFeatures: biases are not penalised, so a constant added to a feature
// moves them and nothing else.
func TestShiftedFeatures(t *testing.T) {
	for _, loss := range []Loss{Square, Logistic} {
		s := shape{3, 5, 30, loss, false}
		for _, name := range []string{"stl", "snr2"} {
			fit := func(shift float32) *Result {
				tasks := samples(s, 1)
				for _, x := range tasks {
					for j := range x.Y {
						x.X.Row(j).Value[0] = float32(int(16*x.X.Row(j).Value[0]))/16 + shift // exactly
					}
				}
				return mustFit(t, registry[name], mustProblem(t, loss, tasks), Params{Lambda1: 1e-2}, Options{Tolerance: 1e-7})
			}
			want := fit(0)
			for _, shift := range []float32{30, 1000} {
				r := fit(shift)
				datatest.Equal(t, r.Status, Converged, "%s, %s, shift %v", name, loss, shift)
				near(t, name+": objective", r.Objective, want.Objective, 1e-6)
				nearMatrix(t, name+": W", r.W, want.W, 1e-3)
			}
		}
	}
}
