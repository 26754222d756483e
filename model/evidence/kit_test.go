package evidence

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/model/multitask"
)

// size is that of a made problem: m tasks of d features and n rows to train on, as many to
// validate and to test, of two classes, of a regression, or of several classes.
type size struct {
	kind    data.Kind
	m, d, n int
	classes int
}

func (s size) String() string {
	return fmt.Sprintf("%s, m=%d d=%d n=%d C=%d", s.kind, s.m, s.d, s.n, s.classes)
}

var sizes = []size{
	{data.Classification, 3, 6, 20, 0},
	{data.Regression, 2, 4, 15, 0},
	{data.Classification, 3, 5, 24, 4},
}

// made draws related tasks: their weights mix two directions. Of several classes the second
// task lacks the last one, and the third the first. The first rows have every class twice.
func made(s size, seed uint64) *data.ProblemData {
	random := data.Stream(seed, "made", uint64(s.m), uint64(s.d), uint64(s.n))
	p := &data.ProblemData{Problem: &data.Problem{Name: "made"}}
	for c := range s.classes {
		p.Problem.Classes = append(p.Problem.Classes, string(rune('a'+c)))
	}
	base := datatest.Normals[float64](random, 2*max(1, s.classes)*s.d)
	for i := range s.m {
		mix := datatest.Normals[float64](random, 2)
		score := func(c int, x []float32) float64 {
			f := random.NormFloat64() + 0.3
			for k, v := range x {
				f += float64(v) * (mix[0]*base[2*c*s.d+k] + mix[1]*base[(2*c+1)*s.d+k])
			}
			return f
		}
		part := func() data.Samples {
			var values []float32
			var all []float64
			for len(all) < s.n {
				x := datatest.Normals[float32](random, s.d)
				if y := s.target(i, func(c int) float64 { return score(c, x) }); s.wanted(i, len(all), y) {
					values, all = append(values, x...), append(all, y)
				}
			}
			x, err := data.NewDense(s.n, s.d, values)
			if err != nil {
				panic(err)
			}
			return data.Samples{X: x, Y: all}
		}
		task := &data.Task{Name: string(rune('a' + i)), Kind: s.kind}
		p.Problem.Tasks = append(p.Problem.Tasks, task)
		p.Tasks = append(p.Tasks, data.TaskData{Task: task, TrainSet: part(), ValidationSet: part(), TestSet: part()})
	}
	return p
}

// have are the classes of a task: from one on and before another.
func (s size) have(task int) (from, to int) {
	switch task {
	case 1:
		return 0, s.classes - 1
	case 2:
		return 1, s.classes
	}
	return 0, s.classes
}

// target is what a row is whose classes have these scores.
func (s size) target(task int, score func(c int) float64) float64 {
	from, to := s.have(task)
	switch {
	case s.kind == data.Regression:
		return score(0)
	case s.classes == 0:
		return math.Copysign(1, score(0))
	}
	best, most := from, math.Inf(-1)
	for c := from; c < to; c++ {
		if f := score(c); f > most {
			best, most = c, f
		}
	}
	return float64(best)
}

// wanted says that a row may be the next one of a task.
func (s size) wanted(task, row int, y float64) bool {
	from, to := s.have(task)
	switch {
	case s.kind == data.Regression:
		return true
	case s.classes == 0:
		return row >= 4 || y == float64(1-row%2*2)
	}
	return row >= 2*(to-from) || y == float64(from+row%(to-from))
}

// covariance draws one of the given rank, of trace 1.
func covariance(m, rank int, seed uint64) *mat.SymDense {
	b := mat.NewDense(m, rank, datatest.Normals[float64](data.Stream(seed, "covariance"), m*rank))
	omega := mat.NewSymDense(m, nil)
	omega.SymOuterK(1, b)
	return multitask.Normalised(omega)
}

// given is the subject of a covariance.
func given(t testing.TB, omega *mat.SymDense) Subject {
	t.Helper()
	return Of(datatest.Must(multitask.Given(omega))(t))
}

func named(t testing.TB, name string) Subject {
	t.Helper()
	return Of(datatest.Must(multitask.Lookup(name))(t))
}

// kinds are the three kinds of evidence of a problem.
func kinds(t testing.TB, p *data.ProblemData) map[string]Evidence {
	t.Helper()
	return map[string]Evidence{
		"split":         datatest.Must(NewSplit(p))(t),
		"leave-one-out": datatest.Must(NewLeaveOneOut(p))(t),
		"folds":         datatest.Must(NewFolds(p, datatest.Must(p.Folds(3, 1, nil))(t), nil))(t),
	}
}

// close asks for fits that are as good as minima.
var close = multitask.Options{Tolerance: 1e-14}

func hold(t testing.TB, e Evidence, of Subject, lambda1 float64) *HeldOut {
	t.Helper()
	return datatest.Must(e.Hold(t.Context(), of, multitask.Params{Lambda1: lambda1}, nil, close))(t)
}

// fitted is a close fit of the training rows of a problem.
func fitted(t testing.TB, of multitask.Model, p *data.ProblemData, params multitask.Params) *multitask.Result {
	t.Helper()
	return datatest.Must(multitask.Fit(t.Context(), of, datatest.Must(multitask.Training(p))(t), params, close))(t)
}

// near fails unless got is within tol of want, relative to it.
func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	datatest.Holds(t, math.Abs(got-want) <= tol*math.Abs(want),
		"%s = %.17g, want %.17g, within %.2g of it", what, got, want, tol)
}

// least is the place between two others where f, which has one minimum there, has it.
func least(low, high float64, f func(float64) float64) float64 {
	for range 80 {
		third := (high - low) / 3
		if f(low+third) < f(high-third) {
			high -= third
		} else {
			low += third
		}
	}
	return (low + high) / 2
}

// samplesOf are rows of every task that count the same.
func samplesOf(y [][]float64) (tasks []data.Samples) {
	for _, y := range y {
		tasks = append(tasks, data.Samples{Y: y})
	}
	return tasks
}

// heldRowsOf are predictions of rows that count the same.
func heldRowsOf(scores, y [][]float64) *HeldOut {
	h := &HeldOut{Scores: scores, Y: y}
	for _, rows := range samplesOf(y) {
		h.Weight = append(h.Weight, rows.Weights())
	}
	h.Temperature = h.temperature()
	return h
}
