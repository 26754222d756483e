package multitask

import (
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
)

// TestFitsInTheSpan compares fits in the span of the rows with fits in all features. The
// objective at the end is computed in all features. Where rows depend on others there is
// no such span.
func TestFitsInTheSpan(t *testing.T) {
	s := shape{3, 160, 6, Logistic, false}
	tasks := samples(s, 3)
	problem := mustProblem(t, s.loss, tasks)
	if n := problem.narrowed(); n == nil || n.cols != 3*s.n {
		t.Fatalf("the span of %d rows is %+v", 3*s.n, n)
	}
	if mustProblem(t, s.loss, []data.Samples{tasks[0], tasks[1], tasks[0]}).narrowed() != nil {
		t.Error("rows that are those of another task have a span")
	}
	for _, name := range Names() {
		model := registry[name]
		p := datatest.Must(Complete(model, batteryParams(model)))(t)
		opt := Options{Tolerance: 1e-10, MaxIterations: 500}
		inside := mustFit(t, model, problem, p, opt)
		outside := datatest.Must(problem.solve(t.Context(), model, p, opt))(t)
		accuracy := 1e-8
		if !convex(model, p) {
			accuracy = 3e-2 // these have several minima
		}
		near(t, name+": objective", inside.Objective, outside.Objective, accuracy)
		at := objective(t, model, problem, inside.W, inside.B, &Covariance{Omega: inside.Omega, A: inside.A}, p).Objective
		near(t, name+": objective of W in all features", at, inside.Objective, 1e-8)
		again := mustFit(t, model, problem, p, Options{Tolerance: 1e-6, MaxIterations: 500, Start: outside})
		near(t, name+": objective from the other fit", again.Objective, outside.Objective, max(1e-6, accuracy))
	}
}

// What is outside of the span is lost on the way there and back, and nothing else.
func TestThereAndBack(t *testing.T) {
	s := shape{3, 160, 6, Square, false}
	problem := mustProblem(t, s.loss, samples(s, 3))
	n := problem.narrowed()
	w := mat.NewDense(n.cols, 3, normals(data.Stream(3, "span"), n.cols*3))
	nearMatrix(t, "there and back", n.span.enter(n.span.leave(w)), w, 1e-8)
}

// Rows that nearly depend on those before them, as those of pictures do, are fitted as
// they are. Here pairs of rows differ by 3e-6 of their length, and in their labels.
func TestRowsThatNearlyDepend(t *testing.T) {
	const m, pairs, d = 3, 4, 200
	random := data.Stream(7, "nearly")
	var tasks []data.Samples
	for range m {
		var values []float32
		var y []float64
		for range pairs {
			row, away := normals(random, d), normals(random, d)
			for side, label := range []float64{-1, 1} {
				for j, v := range row {
					values = append(values, float32(v+3e-6*float64(side)*away[j]))
				}
				y = append(y, label)
			}
		}
		tasks = append(tasks, data.Samples{X: matrixOf(values, 2*pairs, d, false), Y: y})
	}
	problem := mustProblem(t, Logistic, tasks)
	p := datatest.Must(Complete(registry["stl"], Params{Lambda1: 1e-13}))(t)
	got := mustFit(t, registry["stl"], problem, p, Options{Tolerance: 1e-8})
	at := objective(t, registry["stl"], problem, got.W, got.B, &Covariance{Omega: got.Omega}, p).Objective
	near(t, "objective of W in all features", at, got.Objective, 1e-7)
}

// TestFewerRowsHaveTheSameLoss compares the loss and bias of regressions of many rows
// with those of the few rows that stand for them.
func TestFewerRowsHaveTheSameLoss(t *testing.T) {
	for _, sparse := range []bool{false, true} {
		s := shape{3, 4, 40, Square, sparse}
		problem := mustProblem(t, s.loss, samples(s, 5))
		few := problem.fewerRows()
		if few == nil || len(few.tasks[2].y) != s.d+2 {
			t.Fatalf("%v: not condensed to %d rows a task: %+v", s, s.d+2, few)
		}
		var at [2]*ridge
		for i, p := range []*TrainingSet{problem, few} {
			at[i] = newRidge(p, nil, 1, Params{}, 1)
			copy(at[i].w, normals(data.Stream(5, "rows"), s.m*s.d))
			p.score(&at[i].point, at[i].pull, 1)
			at[i].differentiate()
		}
		near(t, "loss", at[1].loss, at[0].loss, 1e-12)
		nearMatrix(t, "biases", mat.NewVecDense(s.m, at[1].b[:s.m]), mat.NewVecDense(s.m, at[0].b[:s.m]), 1e-12)
		nearMatrix(t, "gradient", mat.NewVecDense(s.m*s.d, at[1].slopes), mat.NewVecDense(s.m*s.d, at[0].slopes), 1e-12)
	}
}
