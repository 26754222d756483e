package multitask

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/testdata/families/generated"
)

// A fit does not depend on where it starts, even if that is the fit of another
// covariance that has weights where this one, which is singular, allows none.
func TestFitOfASingularCovarianceFromAnother(t *testing.T) {
	const tasks = 4
	for _, kind := range []data.Kind{data.Classification, data.Regression} {
		for seed := range uint64(7) {
			p, truth, err := generated.Problem(generated.Config{Kind: kind, Family: generated.Alike, MinTasks: tasks, MaxTasks: tasks, Rows: 12, TestRows: 2, Features: 8, Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			train := must(Training(p, ""))(t)
			b := mat.NewDense(tasks, 2, []float64{1, 0, 1, 0.5, -1, 0.5, 0, 1})
			omega := mat.NewSymDense(tasks, nil)
			omega.SymOuterK(1/math.Pow(mat.Norm(b, 2), 2), b) // of rank 2
			fit := func(of *mat.SymDense, start *Result) *Result {
				return must(FitFixed(t.Context(), Normalised(of), train, 0.02, Options{Tolerance: 1e-12, Start: start}))(t)
			}
			want, got := fit(omega, nil), fit(omega, fit(truth, nil))
			if got.Status != Converged || !(math.Abs(got.Objective-want.Objective) <= 1e-9*want.Objective) || !mat.EqualApprox(got.W, want.W, 1e-5) {
				t.Errorf("seed %d: from another fit the objective is %v (%s), from zero %v", seed, got.Objective, got.Status, want.Objective)
			}
		}
	}
}
