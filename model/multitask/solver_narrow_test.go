package multitask

import (
	"context"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

// TestNarrowFitsAreWideFits compares fits in the span of the rows, of which some are
// repeated in other tasks, one is the sum of others and one is zero, with fits in
// all features. The objective at the end is computed in all features.
func TestNarrowFitsAreWideFits(t *testing.T) {
	s := shape{3, 90, 6, Logistic, false}
	tasks := samples(s, 3)
	rows := [][]float32{}
	for j := range s.n {
		rows = append(rows, tasks[1].X.Row(j).Value)
	}
	copy(rows[1], tasks[0].X.Row(2).Value)
	for c := range rows[2] {
		rows[2][c] = tasks[0].X.Row(0).Value[c] + rows[0][c]
	}
	clear(rows[3])
	problem := mustProblem(t, s.loss, tasks)
	n := problem.narrowed()
	if n == nil || n.cols != 3*s.n-3 {
		t.Fatalf("the span of %d rows, 3 of them dependent, is %+v", 3*s.n, n)
	}
	w := mat.NewDense(n.cols, 3, normals(data.Stream(3, "narrow"), n.cols*3))
	nearMatrix(t, "there and back", n.enter(n.leave(w)), w, 1e-12)
	for _, name := range Names() {
		model := registry[name]
		p, err := Complete(model, batteryParams(model))
		if err != nil {
			t.Fatal(err)
		}
		opt := Options{Tolerance: 1e-10, MaxIterations: 500}
		narrow := mustFit(t, model, problem, p, opt)
		wide, err := newSolver(problem, model, p, 1).run(context.Background(), opt)
		if err != nil {
			t.Fatal(err)
		}
		near(t, name+": objective", narrow.Objective, wide.Objective, 1e-8)
		at := objective(t, model, problem, narrow.W, narrow.B, narrow.cov, p).total
		near(t, name+": objective of W in all features", at, narrow.Objective, 1e-8)
		again := mustFit(t, model, problem, p, Options{Tolerance: 1e-6, MaxIterations: 500, Start: wide})
		near(t, name+": objective from the wide fit", again.Objective, wide.Objective, 1e-6)
	}
}
