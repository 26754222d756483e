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
		problems, truth, err := generated.Problems(generated.Config{Kind: kind, Problems: 7, MinTasks: tasks, MaxTasks: tasks, Rows: 12, TestRows: 2, Features: 8, Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range problems {
			train, err := Training(p, "")
			if err != nil {
				t.Fatal(err)
			}
			b := mat.NewDense(tasks, 2, []float64{1, 0, 1, 0.5, -1, 0.5, 0, 1})
			omega := mat.NewSymDense(tasks, nil)
			omega.SymOuterK(1/math.Pow(mat.Norm(b, 2), 2), b) // of rank 2
			fit := func(of *mat.SymDense, start *Result) *Result {
				r, err := FitFixed(t.Context(), normalised(of), train, 0.02, Options{Tolerance: 1e-12, Start: start})
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			want, got := fit(omega, nil), fit(omega, fit(truth[i], nil))
			if got.Status != Converged || !(math.Abs(got.Objective-want.Objective) <= 1e-9*want.Objective) || !mat.EqualApprox(got.W, want.W, 1e-5) {
				t.Errorf("%s: from another fit the objective is %v (%s), from zero %v", p.Name, got.Objective, got.Status, want.Objective)
			}
		}
	}
}

// Folds whose covariances are the same are folds of one covariance.
func TestMeasureEach(t *testing.T) {
	p := problemData(shapes[1], 3)
	parts, err := p.Folds(3, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Folds(p, parts, EvidenceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := FitFixed(t.Context(), identity(shapes[1].m, 1), e.Training(), 0.3, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := e.Measure(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	other := *r
	other.Omega = mat.NewSymDense(2, []float64{1, 0.9, 0.9, 1})
	for _, c := range []struct {
		fits []*Result
		same bool
	}{{[]*Result{r, r, r}, true}, {[]*Result{r, &other, r}, false}} {
		got, err := e.MeasureEach(t.Context(), c.fits)
		if err != nil {
			t.Fatal(err)
		}
		if (got.Soft == want.Soft) != c.same {
			t.Errorf("%v is said of them, %v of one covariance", got.Soft, want.Soft)
		}
	}
}
