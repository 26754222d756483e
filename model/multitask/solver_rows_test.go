package multitask

import (
	"testing"

	"l2mt/data"

	"gonum.org/v1/gonum/mat"
)

// TestFewerRowsHaveTheSameLoss compares the loss and bias of regressions of many rows
// with those of the few rows that stand for them.
func TestFewerRowsHaveTheSameLoss(t *testing.T) {
	for _, sparse := range []bool{false, true} {
		s := shape{3, 4, 40, Square, sparse}
		problem := mustProblem(t, s.loss, samples(s, 5))
		problem.fewerRows()
		few := problem.condensed
		if few == nil || len(few.tasks[2].y) != s.d+2 {
			t.Fatalf("%v: not condensed to %d rows a task: %+v", s, s.d+2, few)
		}
		all, some := newSolver(problem, stl{}, Params{Lambda1: 1}, 1), newSolver(few, stl{}, Params{Lambda1: 1}, 1)
		w := normals(data.Stream(5, "rows"), s.m*s.d)
		for _, solver := range []*solver{all, some} {
			copy(solver.w, w)
			solver.moveTo(&solver.point)
			solver.gradient()
		}
		near(t, "loss", some.loss, all.loss, 1e-12)
		nearMatrix(t, "biases", mat.NewVecDense(s.m, some.b), mat.NewVecDense(s.m, all.b), 1e-12)
		nearMatrix(t, "gradient", mat.NewVecDense(s.m*s.d, some.data), mat.NewVecDense(s.m*s.d, all.data), 1e-12)
	}
}
