package multitask

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
)

// Classes that count the same are rows of the smaller class that stand there several times.
// The intercepts are best with the weights: the slopes of each task add up to nothing.
func TestBalancedRowsAreRowsRepeated(t *testing.T) {
	s := shape{3, 4, 12, Logistic, false}
	tasks, repeated := samples(s, 7), make([]data.Samples, s.m)
	for i := range tasks {
		var rows []int
		for j := range s.n { // the first 3 are of one class, 9 of the other
			if tasks[i].Y[j] = -1; j < 3 {
				tasks[i].Y[j] = 1
				rows = append(rows, j, j)
			}
			rows = append(rows, j)
		}
		repeated[i] = data.Samples{X: tasks[i].X.Take(rows)}
		for _, j := range rows {
			repeated[i].Y = append(repeated[i].Y, tasks[i].Y[j])
		}
	}
	omega := mat.NewSymDense(3, []float64{1, 0.5, 0.2, 0.5, 1, 0.1, 0.2, 0.1, 1})
	given, balanced := datatest.Must(Given(omega))(t), datatest.Must(GivenWith(omega, 0, true))(t)
	problem, p, o := mustProblem(t, Logistic, tasks), Params{Lambda1: 0.05}, Options{Tolerance: 1e-13}
	got, want := mustFit(t, balanced, problem, p, o), mustFit(t, given, mustProblem(t, Logistic, repeated), p, o)
	nearMatrix(t, "W", got.W, want.W, 1e-5)
	for i, task := range tasks {
		near(t, "b", got.B[i], want.B[i], 1e-5)
		first, second := problem.Derivatives(i, got.Scores(i, task.X), got.Params)
		if sum := floats.Sum(first); math.Abs(sum) > 1e-8 || floats.Min(second) <= 0 {
			t.Errorf("task %d: the slopes are %v, curvatures %v", i, first, second)
		}
	}
}
