package multitask

import (
	"testing"

	"l2mt/data"
)

// TestJoin keeps the rows of the problems and the order of their tasks.
func TestJoin(t *testing.T) {
	problem := func(s shape, seed uint64) *data.ProblemData {
		p := &data.ProblemData{Problem: &data.Problem{Name: "made"}}
		for _, rows := range samples(s, seed) {
			p.Tasks = append(p.Tasks, data.TaskData{Task: &data.Task{Kind: data.Classification}, TrainSet: rows})
		}
		return p
	}
	s := shape{3, 6, 20, Logistic, false}
	p, q := problem(s, 5), problem(s, 6)
	pool, first, err := Join(p, q)
	if err != nil {
		t.Fatal(err)
	}
	if len(pool.Tasks) != 6 || first[0] != 0 || first[1] != 3 {
		t.Fatalf("%d tasks, problems at %v", len(pool.Tasks), first)
	}
	if pool.Tasks[3].TrainSet.X != q.Tasks[0].TrainSet.X {
		t.Error("the rows were copied")
	}
	// STL has nothing to share: the pool is as good as its parts, if Lambda1
	// makes up for Omega = I/m.
	train := must(Training(pool, ""))(t)
	part := must(Training(q, ""))(t)
	opt := Options{Tolerance: 1e-12}
	all := mustFit(t, registry["stl"], train, Params{Lambda1: 0.05}, opt)
	own := mustFit(t, registry["stl"], part, Params{Lambda1: 0.1}, opt)
	nearMatrix(t, "W", all.Share(3, 3).W, own.W, 1e-5)
	if _, _, err := Join(p, problem(shape{2, 7, 9, Logistic, false}, 1)); err == nil {
		t.Error("problems with different features were joined")
	}
}

// must is a value that is there unless its maker failed.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
