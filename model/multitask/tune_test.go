package multitask

import (
	"context"
	"math"
	"testing"

	"l2mt/data"

	"gonum.org/v1/gonum/mat"
)

// problemData makes a problem with three splits of every task.
func problemData(s shape, seed uint64) *data.ProblemData {
	p := &data.ProblemData{Problem: &data.Problem{Name: "made"}}
	kind := data.Classification
	if s.loss == Square {
		kind = data.Regression
	}
	three := s
	three.n *= 3
	for i, all := range samples(three, seed) {
		part := func(k int) data.Samples {
			rows := make([]int, s.n)
			y := make([]float64, s.n)
			for j := range rows {
				rows[j] = k*s.n + j
				y[j] = all.Y[rows[j]]
			}
			return data.Samples{X: all.X.Take(rows), Y: y}
		}
		task := &data.Task{Name: string(rune('a' + i)), Kind: kind}
		p.Problem.Tasks = append(p.Problem.Tasks, task)
		p.Tasks = append(p.Tasks, data.TaskData{Task: task, TrainSet: part(0), ValidationSet: part(1), TestSet: part(2)})
	}
	return p
}

func mustTune(t *testing.T, model Model, p *data.ProblemData, opt TuneOptions) *Tuned {
	t.Helper()
	r, err := Tune(context.Background(), model, p, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var tuneShapes = []shape{{3, 6, 20, Logistic, false}, {2, 4, 15, Square, false}}

// TestTestRowsStayOut: other test labels change the test error and nothing else.
func TestTestRowsStayOut(t *testing.T) {
	for _, s := range tuneShapes {
		p, poisoned := problemData(s, 1), problemData(s, 1)
		for _, task := range poisoned.Tasks {
			scale(-1, task.TestSet.Y)
		}
		a, b := mustTune(t, registry["mtrl"], p, TuneOptions{}), mustTune(t, registry["mtrl"], poisoned, TuneOptions{})
		if !mat.Equal(a.Result.W, b.Result.W) || a.Params.Lambda1 != b.Params.Lambda1 || a.Validation.Mean != b.Validation.Mean {
			t.Errorf("%s: test labels changed the fit", s)
		}
		if a.Test.Mean == b.Test.Mean {
			t.Errorf("%s: test labels did not change the test error", s)
		}
	}
}

// TestTestRowsAreOptional: without any, all is as it was but the test errors.
func TestTestRowsAreOptional(t *testing.T) {
	p, bare := problemData(tuneShapes[0], 1), problemData(tuneShapes[0], 1)
	for i := range bare.Tasks {
		bare.Tasks[i].TestSet = data.Samples{}
	}
	omega := identity(3, 1)
	for _, fit := range []func(p *data.ProblemData) (*Tuned, error){
		func(p *data.ProblemData) (*Tuned, error) {
			return Tune(t.Context(), registry["mtrl"], p, TuneOptions{})
		},
		func(p *data.ProblemData) (*Tuned, error) { return Refit(t.Context(), omega, p, TuneOptions{}) },
		func(p *data.ProblemData) (*Tuned, error) {
			r, err := Refit(t.Context(), omega, p, TuneOptions{})
			if err != nil {
				return nil, err
			}
			return Report(r.Result, p, r)
		},
	} {
		a, err := fit(p)
		if err != nil {
			t.Fatal(err)
		}
		b, err := fit(bare)
		if err != nil {
			t.Fatal(err)
		}
		if !mat.Equal(a.Result.W, b.Result.W) || a.Validation.Mean != b.Validation.Mean {
			t.Error("another fit without test rows")
		}
		if b.Test.Task != nil || b.Test.Mean != 0 || !math.IsNaN(b.Relative) {
			t.Errorf("test errors %+v, relative %v without test rows", b.Test, b.Relative)
		}
	}
	bare.Tasks[1].TestSet = p.Tasks[1].TestSet
	if _, err := Refit(t.Context(), omega, bare, TuneOptions{}); err == nil {
		t.Error("test rows of one task alone were no error")
	}
}

// TestTuneWorkers: the same result for any number of workers.
func TestTuneWorkers(t *testing.T) {
	p := problemData(tuneShapes[0], 2)
	a := mustTune(t, registry["cmtl"], p, TuneOptions{})
	b := mustTune(t, registry["cmtl"], p, TuneOptions{Workers: 4})
	if !mat.Equal(a.Result.W, b.Result.W) || !mat.Equal(a.Omega, b.Omega) || len(a.Trials) != len(b.Trials) {
		t.Error("four workers find something else than one")
	}
}

// TestTuneChoosesTheBest of its own trials, and reports errors that follow from
// the predictions.
func TestTuneChoosesTheBest(t *testing.T) {
	for _, s := range tuneShapes {
		p := problemData(s, 3)
		stl := mustTune(t, registry["stl"], p, TuneOptions{})
		r := mustTune(t, registry["ssnr2"], p, TuneOptions{STL: stl})
		for _, trial := range r.Trials {
			if trial.Params.Lambda1 == r.Params.Lambda1 {
				continue
			}
			best := trial.Validation
			for _, other := range r.Trials {
				if other.Params.Lambda1 == r.Params.Lambda1 && best < other.Validation {
					t.Errorf("%s: Lambda1 = %g has the error %g, less than the %g of the chosen %g", s, trial.Params.Lambda1, best, other.Validation, r.Params.Lambda1)
				}
			}
		}
		near(t, "relative error", r.Relative, r.Test.Mean/stl.Test.Mean, 1e-15)
		near(t, "trace of Omega", mat.Trace(r.Omega), 1, 1e-12)
		for i, task := range p.Tasks {
			sum, variance, mean := 0.0, 0.0, 0.0
			for _, y := range task.TestSet.Y {
				mean += y / float64(s.n)
			}
			for j, y := range task.TestSet.Y {
				f := r.Result.B[i]
				for k, v := range task.TestSet.X.Row(j).Value {
					f += float64(v) * r.Result.W.At(k, i)
				}
				if s.loss == Square {
					sum += (f - y) * (f - y)
				} else if f*y < 0 {
					sum++
				}
				variance += (y - mean) * (y - mean)
			}
			want := sum / float64(s.n)
			if s.loss == Square {
				near(t, "RMSE", r.Test.RMSE[i], math.Sqrt(want), 1e-12)
				want = sum / variance
			}
			near(t, "test error", r.Test.Task[i], want, 1e-9)
		}
	}
}

// TestRefitIgnoresTheTrace of the covariance it is given.
func TestRefitIgnoresTheTrace(t *testing.T) {
	p := problemData(tuneShapes[0], 4)
	omega := gramOf(normals(data.Stream(1, "refit"), 9), 3, 3)
	larger := mat.NewSymDense(3, nil)
	larger.ScaleSym(16, omega)
	a, err := Refit(context.Background(), omega, p, TuneOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Refit(context.Background(), larger, p, TuneOptions{})
	if err != nil {
		t.Fatal(err)
	}
	nearMatrix(t, "W", a.Result.W, b.Result.W, 1e-5)
	near(t, "test error", a.Test.Mean, b.Test.Mean, 1e-12)
}

// TestPool keeps the rows of the problems and the order of their tasks.
func TestPool(t *testing.T) {
	s := tuneShapes[0]
	p, q := problemData(s, 5), problemData(s, 6)
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
	train, err := Training(pool, "")
	if err != nil {
		t.Fatal(err)
	}
	part, err := Training(q, "")
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{Tolerance: 1e-12}
	all := mustFit(t, registry["stl"], train, Params{Lambda1: 0.05}, opt)
	own := mustFit(t, registry["stl"], part, Params{Lambda1: 0.1}, opt)
	nearMatrix(t, "W", all.Share(3, 3).W, own.W, 1e-5)
	other := problemData(shape{2, 7, 9, Logistic, false}, 1)
	if _, _, err := Join(p, other); err == nil {
		t.Error("problems with different features were joined")
	}
}

// TestPathGoesOnBelowTheGrid checks the rule for a path whose error still falls at its
// end, against the trials.
func TestPathGoesOnBelowTheGrid(t *testing.T) {
	beyond := 0
	for seed := range uint64(12) {
		p := problemData(shape{3, 30, 14, Square, false}, seed)
		for i, t := range p.Tasks {
			if seed%2 == 0 { // without noise, the weaker the penalty, the better
				for j := range t.TrainSet.Y {
					t.TrainSet.Y[j] = 0
					for c, v := range t.TrainSet.X.Row(j).Value {
						t.TrainSet.Y[j] += float64(v) * float64(c%(i+2))
					}
				}
				p.Tasks[i].ValidationSet = t.TrainSet
			}
		}
		tuned, err := Tune(context.Background(), registry["stl"], p, TuneOptions{})
		if err != nil {
			t.Fatal(err)
		}
		trials := tuned.Trials
		if len(trials) < 12 || len(trials) > 18 {
			t.Fatalf("seed %d: %d trials", seed, len(trials))
		}
		for k := 12; k < len(trials); k++ {
			beyond++
			for _, before := range trials[:k-1] {
				if trials[k-1].Validation > 0.999*before.Validation {
					t.Errorf("seed %d: a value follows %+v, no better than %+v", seed, trials[k-1], before)
				}
			}
			near(t, "the next value", trials[k].Params.Lambda1*math.Sqrt(10), trials[k-1].Params.Lambda1, 1e-12)
		}
	}
	if beyond == 0 {
		t.Error("no path went on")
	}
}
