package multitask

import (
	"fmt"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

// Fits with a given Omega end at the minimum: for every model that gives it, for full,
// singular and shifted covariances, from zero and from another fit, and of several classes.
func TestHeldFits(t *testing.T) {
	problems := map[string]*TrainingSet{}
	for i, s := range shapes {
		problems[fmt.Sprint(s)] = mustProblem(t, s.loss, samples(s, uint64(i)))
	}
	problems["classes"] = must(Training(classesProblem(3, 20)))(t)
	for what, problem := range problems {
		m := problem.Tasks()
		random := data.Stream(5, "held")
		shifted := gramOf(normals(random, m), m, 1)
		addSym(shifted, 0.3, identity(m, 1))
		for i, model := range []Model{fixed(gramOf(normals(random, m*m), m, m), 0), fixed(gramOf(normals(random, m), m, 1), 0), fixed(shifted, 0), registry["stl"], registry["rmtl"]} {
			p := must(Complete(model, batteryParams(model)))(t)
			opt := Options{Tolerance: 1e-12, MaxIterations: 100}
			want := mustFit(t, model, problem, p, opt)
			for _, workers := range []int{1, 3} {
				for _, start := range []*Result{nil, mustFit(t, registry["mtrl"], problem, batteryParams(registry["mtrl"]), Options{}), want} {
					opt.Start, opt.Workers = start, workers
					got := mustFit(t, model, problem, p, opt)
					at := fmt.Sprintf("%s, model %d, %d workers, from %t", what, i, workers, start != nil)
					if got.Status != Converged || got.Gap > 1e-12*got.Objective {
						t.Errorf("%s: %s with gap %g of %g", at, got.Status, got.Gap, got.Objective)
					}
					near(t, at+": objective", got.Objective, want.Objective, 1e-10)
					nearMatrix(t, at+": W", got.W, want.W, 1e-5)
					if start == nil && !mat.Equal(got.W, want.W) {
						t.Errorf("%s: W depends on the workers", at)
					}
				}
			}
		}
	}
}
