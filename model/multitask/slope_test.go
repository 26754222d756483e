package multitask

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
)

// Differences of a function of the scores between fits for neighbouring covariances agree
// with the slope, at regular covariances and at the edge, and of several classes.
func TestSlope(t *testing.T) {
	type trial struct {
		train *TrainingSet
		rows  []data.Samples
	}
	trials := map[string]trial{}
	for i, s := range shapes {
		other := s
		other.n = 7
		trials[fmt.Sprint(s)] = trial{mustProblem(t, s.loss, samples(s, uint64(i))), samples(other, uint64(i))}
	}
	classes := classesProblem(3, 24)
	train := datatest.Must(Training(classes))(t)
	rows := []data.Samples{classes.Tasks[0].TestSet, {X: classes.Tasks[1].TestSet.X.Take(nil)}, classes.Tasks[2].TestSet}
	trials["classes"] = trial{train, rows}
	for what, c := range trials {
		m := c.train.Tasks()
		random := data.Stream(1, "slope")
		weights := make([][]float64, m)
		for i, s := range c.rows {
			weights[i] = normals(random, len(s.Y)*c.train.classes)
		}
		for k, rank := range []int{m, (m + 1) / 2, m} {
			drawn := 3 * float64(k/2)
			omega, lambda1, h, accuracy := gramOf(normals(random, m*rank), m, rank), 0.1, 2e-4, 1e-4
			if rank < m { // it bends fast where a direction opens
				lambda1, h, accuracy = 0.3, 2e-5, 0.02
			} else {
				for i := range m {
					omega.SetSym(i, i, omega.At(i, i)+1)
				}
			}
			direction := gramOf(normals(random, m), m, 1)
			direction.ScaleSym(mat.Trace(omega)/mat.Trace(direction), direction)
			fit := func(h float64) *Result {
				o := mat.NewSymDense(m, nil)
				o.ScaleSym(h, direction)
				o.AddSym(o, omega)
				return mustFit(t, fixed(o, drawn), c.train, Params{Lambda1: lambda1}, Options{Tolerance: 1e-14})
			}
			sum := func(r *Result) (sum float64) {
				for i, s := range c.rows {
					for j, f := range r.Scores(i, s.X) {
						sum += weights[i][j] * math.Sin(f)
					}
				}
				return sum
			}
			at := fit(0)
			derivatives := make([][]float64, m)
			for i, s := range c.rows {
				for j, f := range at.Scores(i, s.X) {
					derivatives[i] = append(derivatives[i], weights[i][j]*math.Cos(f))
				}
			}
			slope := datatest.Must(c.train.Slope(at, c.rows, derivatives))(t)
			// Third order, one-sided: the other side may not be feasible.
			got, want := dot(slope, direction), (-11*sum(at)+18*sum(fit(h))-9*sum(fit(2*h))+2*sum(fit(3*h)))/(6*h)
			datatest.Near(t, got, want, accuracy*math.Max(math.Abs(want), 1), "%s, rank %d: slope", what, rank)
		}
	}
}
