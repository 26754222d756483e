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
	"l2mt/data/datatest"
	"l2mt/infer"
	"l2mt/infer/solve/solvetest"
	"l2mt/model/multitask"
	"l2mt/model/pretrained"
	"l2mt/testdata/families/generated"
)

func fit(t *testing.T, n *Finder, p *data.ProblemData, o FitOptions) *Fitted {
	t.Helper()
	f, err := n.Fit(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Steps lower the objective of most problems, never raise it, and lead to
// covariances.
func TestStepsLowerTheObjective(t *testing.T) {
	datatest.Long(t)
	lower, problems := 0, 0
	for seed := range uint64(8) {
		for _, kind := range []data.Kind{data.Classification, data.Regression} {
			f := fit(t, random(t, seed, nil), made(seed, "p", kind, 4), FitOptions{Rows: 10})
			if err := data.CheckCovariance(f.Omega, 4); err != nil {
				t.Errorf("seed %d, %s: %v", seed, kind, err)
			}
			if trace := mat.Trace(f.Omega); math.Abs(trace-1) > 1e-9 {
				t.Errorf("seed %d, %s: trace %v", seed, kind, trace)
			}
			if f.Step > 0 {
				lower++
			} else if !mat.Equal(f.Omega, f.Start.Omega) {
				t.Errorf("seed %d, %s: no step was taken, yet Omega is another", seed, kind)
			}
			problems++
		}
	}
	if lower <= problems/2 {
		t.Errorf("the objective of only %d of %d problems came down", lower, problems)
	}
}

// A step is the minimum of what it says it minimises: no covariance near or far
// has less.
func TestStepIsTheMinimum(t *testing.T) {
	for seed := range uint64(6) {
		r := data.Stream(seed, "steps")
		const m, length = 4, 0.3
		from, prior := solvetest.Covariance(r, m), solvetest.Covariance(r, m)
		slope := mat.NewSymDense(m, nil)
		for i := range m {
			for j := i; j < m; j++ {
				slope.SetSym(i, j, r.NormFloat64())
			}
		}
		s := &search{prior: prior, pull: 3}
		square := func(a, b mat.Matrix) float64 {
			var d mat.Dense
			d.Sub(a, b)
			n := mat.Norm(&d, 2)
			return n * n
		}
		value := func(omega *mat.SymDense) float64 {
			sum := 0.0
			for i := range m {
				for j := range m {
					sum += slope.At(i, j) * omega.At(i, j)
				}
			}
			return sum + s.pull/2*square(omega, prior) + square(omega, from)/(2*length)
		}
		best, err := infer.Omega(s.pose(slope, from, length))
		if err != nil {
			t.Fatal(err)
		}
		for range 300 {
			other, near := solvetest.Covariance(r, m), mat.NewSymDense(m, nil)
			share := r.Float64()
			other.ScaleSym(1-share, other)
			near.ScaleSym(share, best.Omega)
			near.AddSym(near, other)
			if value(near) < value(best.Omega)-1e-12 {
				t.Fatalf("seed %d: %v is less than %v of the step", seed, value(near), value(best.Omega))
			}
		}
	}
}

// Many rows for the network's word leave what it says; without it and without
// steps there is single-task learning.
func TestPriorAtBothEnds(t *testing.T) {
	p, n := made(1, "p", data.Classification, 4), random(t, 1, nil)
	if f := fit(t, n, p, FitOptions{Rows: 1e20}); !mat.EqualApprox(f.Omega, f.Prior.Omega, 1e-6) {
		t.Errorf("Omega is\n%v\nthe network says\n%v", mat.Formatted(f.Omega), mat.Formatted(f.Prior.Omega))
	}
	f := fit(t, n, p, FitOptions{Without: true, Euclidean: true, Steps: -1})
	evidence, err := multitask.Labelled(p, multitask.EvidenceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := multitask.Lookup("stl")
	if err != nil {
		t.Fatal(err)
	}
	stl, err := multitask.Tune(t.Context(), m, p, multitask.TuneOptions{Evidence: evidence})
	if err != nil {
		t.Fatal(err)
	}
	e, err := n.Embed(p)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := e.STL(t.Context(), multitask.TuneOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !mat.EqualApprox(f.Omega, stl.Omega, 1e-12) || !slices.Equal(f.Tuned.Test.Task, stl.Test.Task) || !slices.Equal(alone.Test.Task, stl.Test.Task) {
		t.Errorf("errors %v, those of STL are %v", f.Tuned.Test, stl.Test)
	}
}

// What a fit is made on are all labelled rows, however they are split.
func TestFitUsesAllLabelledRows(t *testing.T) {
	n, p := random(t, 1, nil), made(1, "p", data.Classification, 3)
	all, err := p.Labelled()
	if err != nil {
		t.Fatal(err)
	}
	if a, b := fit(t, n, p, FitOptions{}), fit(t, n, all, FitOptions{}); !mat.Equal(a.Tuned.Result.W, b.Tuned.Result.W) {
		t.Error("the split changes the fit")
	}
}

func TestFitDoesNotDependOnWorkers(t *testing.T) {
	p := made(1, "p", data.Classification, 3)
	a := fit(t, random(t, 1, nil), p, FitOptions{})
	b := fit(t, random(t, 1, nil), p, FitOptions{Tune: multitask.TuneOptions{Workers: 4}})
	if a.Step != b.Step || !mat.Equal(a.Tuned.Result.W, b.Tuned.Result.W) {
		t.Errorf("one worker takes step %v, four take %v", a.Step, b.Step)
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
		acts := false
		for seed := range uint64(3) {
			n, p := random(t, seed, nil), made(seed, "p", kind, 3)
			a, b := fit(t, n, p, FitOptions{}), fit(t, n, solvetest.Poisoned(p), FitOptions{})
			acts = acts || a.Tuned.Test.Mean != b.Tuned.Test.Mean
			if !mat.Equal(a.Tuned.Result.W, b.Tuned.Result.W) || a.Step != b.Step || a.Objective != b.Objective {
				t.Errorf("seed %d, %s: the fit depends on the test rows", seed, kind)
			}
		}
		if !acts {
			t.Errorf("%s: the poison never acts", kind)
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

func TestFitNeedsTwoRowsATask(t *testing.T) {
	n, p := random(t, 1, nil), made(1, "p", data.Regression, 3)
	one := &p.Tasks[1]
	one.ValidationSet = data.Samples{}
	one.TrainSet.X, one.TrainSet.Y = one.TrainSet.X.Take([]int{0}), one.TrainSet.Y[:1]
	if _, err := n.Fit(t.Context(), p, FitOptions{}); !errors.Is(err, multitask.ErrInvalidData) && !errors.Is(err, data.ErrInvalid) || !strings.Contains(err.Error(), `"p task 1"`) {
		t.Errorf("one row: %v", err)
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
			for j, score := range f.Tuned.Result.Scores(i, task.TestSet.X) {
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

func shipped(t *testing.T) *Finder {
	t.Helper()
	n, err := pretrained.Load()
	if err != nil {
		t.Fatal(err)
	}
	finder, err := NewFinder(n)
	if err != nil {
		t.Fatal(err)
	}
	return finder
}

// trusted is what is believed on average of two families of regressions.
func trusted(t *testing.T, rows int, check func(*Finder, *data.ProblemData, *Fitted)) map[string]Trust {
	t.Helper()
	finder := shipped(t)
	families := generated.Families()
	problems, _, err := generated.Problems(generated.Config{Kind: data.Regression, Problems: 4 * len(families), MinTasks: 4, MaxTasks: 4, Rows: rows, TestRows: 2, Features: 30, Seed: 9})
	if err != nil {
		t.Fatal(err)
	}
	mean := map[string]Trust{}
	for i, p := range problems {
		name := families[i%len(families)].Name
		if name != "alike" && name != "unrelated" {
			continue
		}
		f := fit(t, finder, p, FitOptions{})
		sum := mean[name]
		mean[name] = Trust{sum.Network + f.Trust.Network/4, sum.Weights + f.Trust.Weights/4}
		check(finder, p, f)
	}
	return mean
}

// Tasks that are related are taken for it, and where they are not the network, which
// cannot tell from so few rows, is not believed on most problems.
func TestTrust(t *testing.T) {
	mean := trusted(t, 20, func(finder *Finder, p *data.ProblemData, f *Fitted) {
		if f.Trust == (Trust{}) && mat.EqualApprox(f.Omega, f.Prior.Omega, 0.05) {
			t.Errorf("%s: the network is not believed, and Omega is still what it says", p.Name)
		}
		if f := fit(t, finder, p, FitOptions{Steps: -1}); f.Trust != (Trust{Network: 1}) || f.Searched != f.Start {
			t.Errorf("%s: without steps the trust is %v", p.Name, f.Trust)
		}
	})
	if a := mean["alike"]; a.Network+a.Weights < 0.8 || mean["unrelated"].Network > 0.4 {
		t.Errorf("what is believed: %v", mean)
	}
}

// From many rows the weights say more of tasks that are related than the network, and
// of tasks that are not nothing that helps.
func TestWeightsAreBelievedFromManyRows(t *testing.T) {
	datatest.Long(t)
	mean := trusted(t, 60, func(*Finder, *data.ProblemData, *Fitted) {})
	if mean["alike"].Weights < 0.4 || mean["unrelated"].Weights > 0.2 {
		t.Errorf("what is believed: %v", mean)
	}
}

// Omega_0 by hand, and tasks with no weights, which say nothing.
func TestMixedByHand(t *testing.T) {
	said := mat.NewSymDense(2, []float64{0.5, 0.3, 0.3, 0.5})
	r := &multitask.Result{W: mat.NewDense(2, 2, []float64{1, 2, 0, -2})} // W'W = [1 2; 2 8]
	for _, c := range []struct {
		trust Trust
		want  []float64
	}{
		{Trust{1, 0}, []float64{0.5, 0.3, 0.3, 0.5}},
		{Trust{0.5, 0}, []float64{0.5, 0.15, 0.15, 0.5}},
		{Trust{0.4, 0.5}, []float64{0.4*0.5 + 0.5/9 + 0.05, 0.4*0.3 + 0.5*2/9, 0.4*0.3 + 0.5*2/9, 0.4*0.5 + 0.5*8/9 + 0.05}},
	} {
		if got, want := c.trust.Mixed(said, r), mat.NewSymDense(2, c.want); !mat.EqualApprox(got, want, 1e-15) {
			t.Errorf("%v:\n%v\nwant\n%v", c.trust, mat.Formatted(got), mat.Formatted(want))
		}
	}
	for _, tiny := range []float64{1e-155, 0} { // whose squares are no normal numbers
		r.W.Scale(tiny, r.W)
		if got, want := (Trust{0.5, 0.5}).Mixed(said, r), mat.NewSymDense(2, []float64{0.5, 0.15, 0.15, 0.5}); !mat.EqualApprox(got, want, 1e-15) {
			t.Errorf("weights of %v:\n%v", tiny, mat.Formatted(got))
		}
	}
}

// Rows that are all on the right side do not tell one covariance from another.
func TestRowsWithoutErrorsDoNotTell(t *testing.T) {
	for seed := range uint64(4) {
		p := made(seed, "p", data.Classification, 4)
		for i := range p.Tasks {
			p.Tasks[i].TrainSet = apart(t, p.Tasks[i].TrainSet)
			p.Tasks[i].ValidationSet = apart(t, p.Tasks[i].ValidationSet)
		}
		if f := fit(t, shipped(t), p, FitOptions{}); f.Trust != (Trust{Network: 1}) {
			t.Errorf("seed %d: %v is believed", seed, f.Trust)
		}
	}
}

// apart moves the rows of the classes apart.
func apart(t *testing.T, s data.Samples) data.Samples {
	t.Helper()
	var values []float32
	for j, y := range s.Y {
		row := make([]float32, s.X.Cols())
		for k, v := range s.X.Row(j).Value {
			row[k] = v + float32(2*y)
		}
		values = append(values, row...)
	}
	x, err := data.NewDense(len(s.Y), s.X.Cols(), values)
	if err != nil {
		t.Fatal(err)
	}
	return data.Samples{X: x, Y: s.Y}
}

// Where many directions scatter little and say nothing the metric makes them as long as
// those that tell the classes apart, and its ridge becomes larger. Where directions that
// scatter much say nothing, it does not.
func TestHeldOutRowsChooseTheMetric(t *testing.T) {
	const rows = 40
	n := shipped(t)
	for _, kind := range []struct {
		what                         string
		signal, noise                int // features
		apart, scatterIn, scatterOut float64
		larger                       bool
	}{
		{"short noise", 2, 40, 0.8, 1, 0.3, true},
		{"long noise", 4, 6, 0.25, 0.3, 3, false},
	} {
		r := data.Stream(3, kind.what)
		d := kind.signal + kind.noise
		p := &data.ProblemData{Problem: &data.Problem{Name: kind.what}}
		for i := range 4 {
			values, y := make([]float32, 0, rows*d), make([]float64, rows)
			for a := range rows {
				y[a] = float64(a%2*2 - 1)
				for j := range d {
					v := kind.scatterOut * r.NormFloat64()
					if j < kind.signal {
						v = kind.apart*y[a] + kind.scatterIn*r.NormFloat64()
					}
					values = append(values, float32(v))
				}
			}
			x, err := data.NewDense(rows, d, values)
			if err != nil {
				t.Fatal(err)
			}
			p.Tasks = append(p.Tasks, data.TaskData{Task: &data.Task{Name: string(rune('a' + i)), Kind: data.Classification}, TrainSet: data.Samples{X: x, Y: y}})
		}
		f := fit(t, n, p, FitOptions{Without: true})
		plain := fit(t, n, p, FitOptions{Without: true, Euclidean: true})
		if !f.HasMetric || (f.Ridge > 1) != kind.larger || plain.HasMetric || !math.IsInf(plain.Ridge, 1) {
			t.Errorf("%s: the ridge is %v, without a metric %v", kind.what, f.Ridge, plain.Ridge)
		}
		if same := mat.EqualApprox(f.Tuned.Result.W, plain.Tuned.Result.W, 1e-9); same != math.IsInf(f.Ridge, 1) {
			t.Errorf("%s: the ridge is %v, and the weights are those of the features as they are: %t", kind.what, f.Ridge, same)
		}
	}
}
