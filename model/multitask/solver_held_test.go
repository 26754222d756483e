package multitask

import (
	"fmt"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

// What fits of many tasks do where Omega is held ends where all others end: for every
// model that holds it, for full, singular and shifted covariances, from zero and from
// another fit, and of several classes.
func TestHeldFitsAreFits(t *testing.T) {
	problems := map[string]*TrainingSet{}
	for i, s := range shapes {
		problems[fmt.Sprint(s)] = mustProblem(t, s.loss, samples(s, uint64(i)))
	}
	var err error
	if problems["classes"], err = Training(classesProblem(3, 20), ""); err != nil {
		t.Fatal(err)
	}
	for what, problem := range problems {
		m := problem.Tasks()
		random := data.Stream(5, "held")
		shifted := gramOf(normals(random, m), m, 1)
		for i := range m {
			shifted.SetSym(i, i, shifted.At(i, i)+0.3)
		}
		models := []Model{fixed{gramOf(normals(random, m*m), m, m)}, fixed{gramOf(normals(random, m), m, 1)}, fixed{shifted}}
		for _, name := range Names() {
			if model, ok := registry[name].(holding); ok {
				models = append(models, model)
			}
		}
		for i, model := range models {
			p, err := Complete(model, batteryParams(model))
			if err != nil {
				t.Fatal(err)
			}
			opt := Options{Tolerance: 1e-12, MaxIterations: 100}
			want := mustFit(t, model, problem, p, opt)
			var first *Result
			for _, workers := range []int{1, 3} {
				for _, start := range []*Result{nil, mustFit(t, registry["mtrl"], problem, batteryParams(registry["mtrl"]), Options{}), want} {
					opt.Start = start
					got, err := newSolver(problem, model, p, workers).hold(t.Context(), model.(holding), opt)
					if err != nil {
						t.Fatal(err)
					}
					at := fmt.Sprintf("%s, model %d, %d workers, from %t", what, i, workers, start != nil)
					if got.Status != Converged || got.Gap > 1e-12*got.Objective {
						t.Errorf("%s: %s with gap %g of %g", at, got.Status, got.Gap, got.Objective)
					}
					near(t, at+": objective", got.Objective, want.Objective, 1e-10)
					nearMatrix(t, at+": W", got.W, want.W, 1e-5)
					if start != nil {
						continue
					}
					if first == nil {
						first = got
					}
					if !mat.Equal(got.W, first.W) {
						t.Errorf("%s: W depends on the workers", at)
					}
				}
			}
		}
	}
}

// Of many tasks a path of fits shares one decomposition of Omega.
func TestHeldFitsShareTheRoot(t *testing.T) {
	s := shape{manyTasks, 3, 6, Square, false}
	problem := mustProblem(t, s.loss, samples(s, 1))
	model := fixed{gramOf(normals(data.Stream(6, "held"), 2*s.m), s.m, 2)}
	first := mustFit(t, model, problem, Params{Lambda1: 0.1}, Options{})
	next := mustFit(t, model, problem, Params{Lambda1: 0.01}, Options{Start: first})
	if first.root == nil || next.root != first.root || len(first.root.q) != 2 {
		t.Errorf("the covariance of rank 2 has %d vectors, and the next fit others", len(first.root.q))
	}
}
