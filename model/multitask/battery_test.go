package multitask

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A battery that a model passes by being registered. Exceptions are declared
// here with their reasons.
var (
	// notSignBlind models tie the signs of the tasks' weights by design, so
	// that flipping a task's labels changes more than signs.
	notSignBlind = map[string]bool{"rmtl": true}
	// lambda1InG models have Lambda1 in g, so that scaling X is not undone by
	// scaling Lambda1.
	lambda1InG = map[string]bool{"glmtl": true}
)

// shape is the size of a made problem.
type shape struct {
	m, d, n int
	loss    Loss
	sparse  bool
}

func (s shape) String() string {
	return fmt.Sprintf("m=%d d=%d n=%d %s sparse=%v", s.m, s.d, s.n, s.loss, s.sparse)
}

var shapes = []shape{
	{1, 3, 12, Logistic, false},
	{2, 4, 15, Square, false},
	{3, 2, 10, Logistic, true},
	{4, 20, 9, Logistic, true},
	{5, 3, 20, Square, false},
	{8, 5, 16, Logistic, false},
}

// samples draws related tasks: weights are mixtures of two directions.
func samples(s shape, seed uint64) []data.Samples {
	random := data.Stream(seed, "battery", uint64(s.m), uint64(s.d), uint64(s.n))
	base := make([][]float64, 2)
	for k := range base {
		base[k] = datatest.Normals[float64](random, s.d)
	}
	tasks := make([]data.Samples, s.m)
	for i := range tasks {
		a, b := random.NormFloat64(), random.NormFloat64()
		values := make([]float32, s.n*s.d)
		y := make([]float64, s.n)
		for j := range y {
			f := random.NormFloat64() + 0.3
			for k := range s.d {
				if s.sparse && random.Float64() < 0.4 {
					continue
				}
				v := float32(random.NormFloat64())
				values[j*s.d+k] = v
				f += float64(v) * (a*base[0][k] + b*base[1][k])
			}
			y[j] = f
			if s.loss == Logistic {
				y[j] = math.Copysign(1, f)
			}
		}
		if s.loss == Logistic {
			y[0], y[1] = 1, -1
		}
		tasks[i] = data.Samples{X: matrixOf(values, s.n, s.d, s.sparse), Y: y}
	}
	return tasks
}

func matrixOf(values []float32, n, d int, sparse bool) data.Matrix {
	if !sparse {
		x, err := data.NewDense(n, d, values)
		if err != nil {
			panic(err)
		}
		return x
	}
	ptr := []int{0}
	var index []int32
	var stored []float32
	for i := range n {
		for j := range d {
			if v := values[i*d+j]; v != 0 {
				index, stored = append(index, int32(j)), append(stored, v)
			}
		}
		ptr = append(ptr, len(index))
	}
	x, err := data.NewCSR(d, ptr, index, stored)
	if err != nil {
		panic(err)
	}
	return x
}

// scaledBy returns the rows multiplied by c, dense.
func scaledBy(s data.Samples, c float32) data.Samples {
	n, d := s.X.Rows(), s.X.Cols()
	values := make([]float32, n*d)
	for i := range n {
		r := s.X.Row(i)
		for p, v := range r.Value {
			j := p
			if r.Index != nil {
				j = int(r.Index[p])
			}
			values[i*d+j] = c * v
		}
	}
	return data.Samples{X: matrixOf(values, n, d, false), Y: s.Y}
}

// problemOf has a task of every name.
func problemOf(loss Loss, tasks []data.Samples, names []string) *data.ProblemData {
	p, kind := &data.ProblemData{}, data.Regression
	if loss == Logistic {
		kind = data.Classification
	}
	for i, s := range tasks {
		p.Tasks = append(p.Tasks, data.TaskData{Task: &data.Task{Name: names[i], Kind: kind}, TrainSet: s})
	}
	return p
}

func mustProblem(t testing.TB, loss Loss, tasks []data.Samples) *TrainingSet {
	t.Helper()
	return datatest.Must(Training(problemOf(loss, tasks, make([]string, len(tasks)))))(t)
}

func mustFit(t testing.TB, model Model, problem *TrainingSet, p Params, opt Options) *Result {
	t.Helper()
	return datatest.Must(Fit(context.Background(), model, problem, p, opt))(t)
}

// batteryParams are strong enough to make the minimum well conditioned.
func batteryParams(model Model) Params {
	p := Params{Lambda1: 0.05}
	for _, r := range model.Info().Ranges {
		if r.Name == Lambda2 {
			p.Lambda2 = 0.1
		}
	}
	return p
}

// battery runs a property on every model and shape; with -short, which the race
// detector is run with, on two shapes.
func battery(t *testing.T, property func(t *testing.T, model Model, s shape, tasks []data.Samples)) {
	shapes := shapes
	if testing.Short() {
		shapes = shapes[:2]
	}
	for _, name := range Names() {
		for i, s := range shapes {
			model := datatest.Must(Lookup(name))(t)
			t.Run(fmt.Sprintf("%s/%s", name, s), func(t *testing.T) {
				t.Parallel()
				property(t, model, s, samples(s, uint64(i)))
			})
		}
	}
}

// convex says that two fits of equal problems agree closely.
func convex(model Model, p Params) bool {
	p, err := Complete(model, p)
	_, ok := isConvex(model, p)
	return ok && err == nil
}

// TestSymmetries: fits of a problem that is another in disguise are the same in disguise.
func TestSymmetries(t *testing.T) {
	battery(t, func(t *testing.T, model Model, s shape, tasks []data.Samples) {
		p := batteryParams(model)
		if !convex(model, p) {
			t.Skip("the minimum is not unique")
		}
		fit := func(tasks []data.Samples, p Params) *Result {
			return mustFit(t, model, mustProblem(t, s.loss, tasks), p, Options{Tolerance: 1e-10})
		}
		want := fit(tasks, p)
		same := func(what string, got *Result, w *mat.Dense) {
			near(t, what+": objective", got.Objective, want.Objective, 1e-8)
			nearMatrix(t, what+": W", w, want.W, 1e-3)
		}

		permuted := slices.Clone(tasks)
		slices.Reverse(permuted)
		got, back := fit(permuted, p), mat.NewDense(s.d, s.m, nil)
		for i := range s.m {
			back.SetCol(s.m-1-i, mat.Col(nil, i, got.W))
		}
		same("tasks in another order", got, back)

		if !notSignBlind[model.Info().Name] {
			flipped := slices.Clone(tasks)
			flipped[0].Y = slices.Clone(tasks[0].Y)
			floats.Scale(-1, flipped[0].Y)
			got := fit(flipped, p)
			for i := range s.d {
				got.W.Set(i, 0, -got.W.At(i, 0))
			}
			same("labels of the other sign", got, got.W)
			for i := 1; i < s.m; i++ {
				got.Omega.SetSym(0, i, -got.Omega.At(0, i))
			}
			nearMatrix(t, "Omega", got.Omega, want.Omega, 5e-3)
		}

		if !lambda1InG[model.Info().Name] {
			const c = 4
			var larger []data.Samples
			for _, task := range tasks {
				larger = append(larger, scaledBy(task, c))
			}
			stronger := p
			stronger.Lambda1 *= c * c
			got := fit(larger, stronger)
			got.W.Scale(c, got.W)
			same("larger features", got, got.W)
		}

		fixed := datatest.Must(FitFixed(t.Context(), want.Omega, mustProblem(t, s.loss, tasks), p.Lambda1/mat.Trace(want.Omega), Options{Tolerance: 1e-12}))(t)
		nearMatrix(t, "W for the Omega that was found", want.W, fixed.W, 1e-3)

		if s.m > 1 {
			tasks[1] = tasks[0]
			twice := fit(tasks, p)
			nearMatrix(t, "w_2 of a task that is there twice", twice.W.ColView(1), twice.W.ColView(0), 1e-3)
			near(t, "Omega_22", twice.Omega.At(1, 1), twice.Omega.At(0, 0), 5e-3)
		}
	})
}

// TestSameBytes for any number of workers and processors, with inputs left alone.
func TestSameBytes(t *testing.T) {
	s := shapes[5]
	for _, name := range Names() {
		model := datatest.Must(Lookup(name))(t)
		tasks, untouched := samples(s, 9), samples(s, 9)
		problem := mustProblem(t, s.loss, tasks)
		r := mustFit(t, model, problem, batteryParams(model), Options{Tolerance: 1e-6})
		before := runtime.GOMAXPROCS(1)
		q := mustFit(t, model, problem, batteryParams(model), Options{Tolerance: 1e-6, Workers: 3})
		runtime.GOMAXPROCS(before)
		datatest.Holds(t, mat.Equal(r.W, q.W) && mat.Equal(r.Omega, q.Omega) && slices.Equal(r.B, q.B),
			"%s: two runs of the same fit differ", name)
		for i := range tasks {
			datatest.Holds(t, slices.Equal(tasks[i].Y, untouched[i].Y),
				"%s: the labels of task %d were modified", name, i)
			for j := range s.n {
				datatest.Holds(t, slices.Equal(tasks[i].X.Row(j).Value, untouched[i].X.Row(j).Value),
					"%s: row %d of task %d was modified", name, j, i)
			}
		}
	}
}
