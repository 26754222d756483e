package solve

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/infer"
	"l2mt/infer/solve/solvetest"
	"l2mt/model/multitask"
)

func fit(t *testing.T, n *Network, p *data.ProblemData, o FitOptions) *Fitted {
	t.Helper()
	f, err := n.Fit(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The candidate chosen has the least validation error of all, and of several
// such the largest multiple of rho.
func TestFitChoosesByValidation(t *testing.T) {
	later := false
	for seed := range uint64(12) {
		for _, kind := range []data.Kind{data.Classification, data.Regression} {
			f := fit(t, random(t, seed, nil), made(seed, "p", kind, 3), FitOptions{Scales: []float64{math.Inf(1), 1, 4}, Steps: -1})
			if !slices.IsSortedFunc(f.Tried, func(a, b Candidate) int { return int(math.Copysign(1, a.Scale-b.Scale)) }) || len(f.Tried) != 3 {
				t.Fatalf("seed %d: %d candidates, not in the order of their scales", seed, len(f.Tried))
			}
			for _, c := range f.Tried {
				switch {
				case c.Tuned.Validation.Mean < f.Tuned.Validation.Mean:
					t.Errorf("seed %d: scale %v has the validation error %v, but scale %v with %v was taken", seed, c.Scale, c.Tuned.Validation.Mean, f.Scale, f.Tuned.Validation.Mean)
				case c.Tuned.Validation.Mean == f.Tuned.Validation.Mean && c.Scale > f.Scale:
					t.Errorf("seed %d: scale %v has the same validation error as scale %v, which was taken", seed, c.Scale, f.Scale)
				}
			}
			later = later || f.Scale > 1
		}
	}
	if !later {
		t.Error("the first scale was always taken: the test cannot fail")
	}
}

// Infinity is single-task learning: the same covariance and the same errors.
func TestInfiniteScaleIsSTL(t *testing.T) {
	p := made(1, "p", data.Classification, 4)
	f := fit(t, random(t, 1, nil), p, FitOptions{Scales: []float64{math.Inf(1)}, Steps: -1})
	m, err := multitask.Lookup("stl")
	if err != nil {
		t.Fatal(err)
	}
	stl, err := multitask.Tune(t.Context(), m, p, multitask.TuneOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !mat.EqualApprox(f.Omega, stl.Omega, 1e-12) {
		t.Errorf("Omega is\n%v", mat.Formatted(f.Omega))
	}
	if !slices.Equal(f.Tuned.Test.Task, stl.Test.Task) || !slices.Equal(f.Tuned.Validation.Task, stl.Validation.Task) {
		t.Errorf("errors %v and %v, those of STL are %v and %v", f.Tuned.Validation, f.Tuned.Test, stl.Validation, stl.Test)
	}
}

func TestFitDoesNotDependOnWorkers(t *testing.T) {
	p := made(1, "p", data.Classification, 3)
	a := fit(t, random(t, 1, nil), p, FitOptions{})
	b := fit(t, random(t, 1, nil), p, FitOptions{Tune: multitask.TuneOptions{Workers: 4}})
	if len(a.Tried) != len(b.Tried) || a.Scale != b.Scale || a.Step != b.Step || !mat.Equal(a.Tuned.Result.W, b.Tuned.Result.W) {
		t.Errorf("one worker takes scale %v, four take %v", a.Scale, b.Scale)
	}
}

func TestSingleTask(t *testing.T) {
	f := fit(t, random(t, 1, nil), made(1, "p", data.Classification, 1), FitOptions{})
	if m := f.Omega.SymmetricDim(); m != 1 || f.Omega.At(0, 0) != 1 {
		t.Errorf("Omega is\n%v", mat.Formatted(f.Omega))
	}
}

// Test rows change the test errors and nothing else.
func TestTestRowsDoNotLeak(t *testing.T) {
	for _, kind := range []data.Kind{data.Classification, data.Regression} {
		for seed := range uint64(4) {
			n, p := random(t, seed, nil), made(seed, "p", kind, 3)
			clean, poisoned := fit(t, n, p, FitOptions{}), fit(t, n, solvetest.Poisoned(p), FitOptions{})
			if clean.Tuned.Test.Mean == poisoned.Tuned.Test.Mean {
				t.Errorf("seed %d, %s: the poison does not act", seed, kind)
			}
			for i, c := range clean.Tried {
				d := poisoned.Tried[i]
				if !mat.Equal(c.Omega, d.Omega) || !mat.Equal(c.Tuned.Result.W, d.Tuned.Result.W) || !slices.Equal(c.Tuned.Result.B, d.Tuned.Result.B) ||
					c.Tuned.Params.Lambda1 != d.Tuned.Params.Lambda1 || !slices.Equal(c.Tuned.Validation.Task, d.Tuned.Validation.Task) {
					t.Errorf("seed %d, %s, scale %v, step %d: the fit depends on the test rows", seed, kind, c.Scale, c.Step)
				}
			}
			if clean.Scale != poisoned.Scale || clean.Step != poisoned.Step {
				t.Errorf("seed %d, %s: scale %v, step %d, but %v, %d with other test rows", seed, kind, clean.Scale, clean.Step, poisoned.Scale, poisoned.Step)
			}
		}
	}
}

// Up to the covariance, validation rows do not count either, and none are
// needed.
func TestOmegaNeedsTrainingRowsOnly(t *testing.T) {
	n, p := random(t, 1, nil), made(1, "p", data.Classification, 3)
	want := omegaOf(t, n, p)
	for i := range p.Tasks {
		p.Tasks[i].ValidationSet, p.Tasks[i].TestSet = data.Samples{}, data.Samples{}
	}
	if !mat.Equal(omegaOf(t, n, p), want) {
		t.Error("Omega depends on validation or test rows")
	}
}

func TestFitNeedsValidationRows(t *testing.T) {
	n, p := random(t, 1, nil), made(1, "p", data.Classification, 3)
	p.Tasks[1].ValidationSet = data.Samples{}
	if _, err := n.Fit(t.Context(), p, FitOptions{}); !errors.Is(err, infer.ErrInvalid) || !strings.Contains(err.Error(), `task "p task 1"`) || !strings.Contains(err.Error(), "validation") {
		t.Errorf("no validation rows: %v", err)
	}
	if _, err := n.Fit(t.Context(), made(1, "p", data.Classification, 3), FitOptions{Scales: []float64{1, -2}}); !errors.Is(err, infer.ErrInvalid) {
		t.Errorf("a negative scale: %v", err)
	}
}

func TestFitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := random(t, 1, nil).Fit(ctx, made(1, "p", data.Classification, 3), FitOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}

// The errors reported are those of the scores.
func TestScoresHaveTheErrorsReported(t *testing.T) {
	for _, kind := range []data.Kind{data.Classification, data.Regression} {
		p := made(2, "p", kind, 3)
		f := fit(t, random(t, 2, nil), p, FitOptions{})
		for i, task := range p.Tasks {
			y, wrong, squares := task.TestSet.Y, 0.0, 0.0
			for j, score := range Score(f.Tuned.Result, i, task.TestSet.X) {
				if (score >= 0) != (y[j] > 0) {
					wrong++
				}
				squares += (score - y[j]) * (score - y[j])
			}
			got, want := f.Tuned.Test.Task[i], wrong/float64(len(y))
			if kind == data.Regression {
				got, want = f.Tuned.Test.RMSE[i], math.Sqrt(squares/float64(len(y)))
			}
			if math.Abs(got-want) > 1e-12 {
				t.Errorf("%s, task %d: error %v, but the scores have %v", kind, i, got, want)
			}
		}
	}
}
