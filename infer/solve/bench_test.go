package solve

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/infer/solve/solvetest"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
)

func bench(t *testing.T, f *Finder, p *data.ProblemData, o Options) *Bench {
	t.Helper()
	b := must(NewBench(f, p, o))(t)
	return b
}

func judge(t *testing.T, b *Bench, c Candidate) *Judged {
	t.Helper()
	j := must(b.Judge(t.Context(), c))(t)
	return j
}

func fit(t *testing.T, b *Bench, j *Judged) *evidence.Tuned {
	t.Helper()
	f := must(b.Fit(t.Context(), j))(t)
	return f.Tuned
}

// firstHeld are the first rows of every task, to be held out.
func firstHeld(p *data.ProblemData, count int) (held [][]int) {
	for range p.Tasks {
		var rows []int
		for j := range count {
			rows = append(rows, j)
		}
		held = append(held, rows)
	}
	return held
}

// changed is a problem with other labels of rows in held: opposite classes, or targets moved.
func changed(p *data.ProblemData, held [][]int) *data.ProblemData {
	q := &data.ProblemData{Problem: p.Problem, Tasks: slices.Clone(p.Tasks)}
	for i, rows := range held {
		s := &q.Tasks[i].TrainSet
		s.Y = slices.Clone(s.Y)
		for _, j := range rows {
			if s.Y[j] *= -1; p.Kind() == data.Regression {
				s.Y[j] += 3
			}
		}
	}
	return q
}

// What a network finds without a fold does not depend on the labels in the fold, and what
// it finds for all rows does.
func TestFoldsAskTheNetworkWithoutTheirRows(t *testing.T) {
	// The folds of a regression do not depend on its targets.
	f, p := random(t, 1, nil), labelled(t, made(1, "p", data.Regression, 3))
	b := bench(t, f, p, Options{Seed: 7})
	before := must(b.found())(t)
	if other := bench(t, f, p, Options{Seed: 8}); cmp.Equal(other.folds[0].Rows, b.folds[0].Rows) {
		t.Error("another seed draws the same folds")
	}
	for k, fold := range b.folds {
		after := must(bench(t, f, changed(p, fold.Rows), Options{Seed: 7}).found())(t)
		for l := range after {
			if same := mat.Equal(after[l].Omega, before[l].Omega); same != (l == k) {
				t.Errorf("other labels in fold %d: what is found without fold %d is the same: %t", k, l, same)
			}
		}
	}
}

// Nothing that predicts a row has seen its label: not the network, the metric, nor the
// weights that a covariance is made of.
func TestPredictionsHaveNotSeenTheRow(t *testing.T) {
	for _, kind := range []data.Kind{data.Classification, data.Regression} {
		p := labelled(t, made(2, "p", kind, 3))
		held := firstHeld(p, 5)
		o := Options{Held: held, Lambda1: []float64{0.1}}
		a, b := bench(t, random(t, 1, nil), p, o), bench(t, random(t, 1, nil), changed(p, held), o)
		for _, c := range []Candidate{
			{}, {Mixture: Mixture{Network: 1}}, {View{Ridge: 1}, Mixture{Network: 0.5}, 3, false, nil}, Candidate{View{Ridge: 3}, Mixture{Network: 1}, 0, false, nil}.weighed(),
		} {
			x, y := judge(t, a, c), judge(t, b, c)
			for i := range x.Scores {
				for _, j := range []*Judged{x, y} { // offsets have
					if kind == data.Classification {
						floats.AddConst(-j.Offsets[i][0], j.Scores[i])
					}
				}
				if !floats.EqualApprox(x.Scores[i], y.Scores[i], 1e-9) || slices.Equal(x.Y[i], y.Y[i]) {
					t.Errorf("%s of %s, task %d: %v, with other labels %v", c.Name(), kind, i, x.Scores[i], y.Scores[i])
				}
			}
			if mat.Equal(fit(t, a, x).Result.W, fit(t, b, y).Result.W) {
				t.Errorf("%s of %s: the fit has not seen the rows held out", c.Name(), kind)
			}
		}
	}
}

// Rows that are held are the only ones that candidates are judged by.
func TestHeldTakesThePlaceOfFolds(t *testing.T) {
	p := labelled(t, made(3, "p", data.Regression, 3))
	b := bench(t, random(t, 1, nil), p, Options{Held: firstHeld(p, 4)})
	j := judge(t, b, Candidate{Mixture: Mixture{Network: 1}})
	if j.Rows != 3*4 || len(j.Fits) != 1 {
		t.Errorf("%d rows are held out in %d folds, want 12 in 1", j.Rows, len(j.Fits))
	}
	for i, y := range j.Y {
		if !slices.Equal(y, p.Tasks[i].TrainSet.Y[:4]) {
			t.Errorf("task %d is judged by the rows %v", i, y)
		}
	}
	for what, o := range map[string]Options{
		"fewer tasks": {Held: [][]int{{0}}}, "no such row": {Held: [][]int{{0}, {0}, {1000}}}, "below zero": {Held: [][]int{{0}, {0}, {-1}}}, "no rows": {Held: make([][]int, 3)},
		"numbers of fewer rows": {Held: firstHeld(p, 4), Together: [][]int{{1}, {1}, {1}}},
	} {
		if _, err := NewBench(nil, p, o); !errors.Is(err, data.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", what, err)
		}
	}
}

// Rows that belong together are trained on together or held out together.
func TestTogetherIsNotParted(t *testing.T) {
	p := labelled(t, made(4, "p", data.Classification, 4))
	var together [][]int
	for _, task := range p.Tasks {
		var of []int
		for j := range task.TrainSet.Y {
			of = append(of, j/3) // in every task
		}
		together = append(together, of)
	}
	b := bench(t, random(t, 1, nil), p, Options{Together: together})
	all := 0
	for k, fold := range b.folds {
		held := map[int]bool{}
		for i, rows := range fold.Rows {
			all += len(rows)
			for _, j := range rows {
				held[together[i][j]] = true
			}
		}
		for i, of := range together {
			for j, n := range of {
				if held[n] != slices.Contains(fold.Rows[i], j) {
					t.Errorf("fold %d parts what has the number %d in task %d", k, n, i)
				}
			}
		}
	}
	if j := judge(t, b, Candidate{}); j.Rows != all || all < 90 {
		t.Errorf("judged by %d of %d rows", j.Rows, all)
	}
	apart := bench(t, random(t, 1, nil), p, Options{})
	a, c := judge(t, b, Candidate{}), judge(t, apart, Candidate{})
	if a.Fits == nil || len(a.Fits) != len(b.folds) || a.Loss == c.Loss {
		t.Errorf("rows that belong together change nothing: loss %v", a.Loss)
	}
	one := make([][]int, len(p.Tasks)) // all rows of a task belong together
	for i, task := range p.Tasks {
		one[i] = slices.Repeat([]int{i}, len(task.TrainSet.Y))
	}
	for what, together := range map[string][][]int{"all": one, "rows of fewer tasks": together[:2], "fewer rows": {{1}, {1}, {1}, {1}}} {
		if _, err := NewBench(nil, p, Options{Together: together}); !errors.Is(err, data.ErrInvalid) {
			t.Errorf("%s belong together: %v, want ErrInvalid", what, err)
		}
	}
}

// W'W of the weights that are fitted without it has 0.6 of a covariance with it.
func TestWeightsByHand(t *testing.T) {
	p := labelled(t, made(5, "p", data.Regression, 3))
	for _, o := range []Options{{Lambda1: []float64{0.1}}, {Lambda1: []float64{0.1}, Held: firstHeld(p, 5)}} {
		b := bench(t, random(t, 1, nil), p, o)
		c := Candidate{View: View{Ridge: 1}, Mixture: Mixture{Network: 0.5}}
		got := fit(t, b, judge(t, b, c.weighed()))
		found := must(b.found())(t)
		metric := data.NewMetric(p, 1)
		training := must(multitask.Training(metric.Problem(p)))(t)
		var omega, products mat.SymDense // 1/2 Omega_n + 1/2 I/3, and W'W / tr(W'W)
		omega.ScaleSym(0.5, found[len(b.folds)].Omega)
		for i := range 3 {
			omega.SetSym(i, i, omega.At(i, i)+0.5/3)
		}
		base := must(multitask.FitFixed(t.Context(), &omega, training, 0.1, multitask.Options{}))(t)
		products.SymOuterK(1, base.W.T())
		products.ScaleSym(0.6/mat.Trace(&products), &products)
		omega.ScaleSym(0.4, &omega)
		omega.AddSym(&omega, &products)
		want := must(multitask.FitFixed(t.Context(), &omega, training, 0.1, multitask.Options{}))(t)
		if !mat.EqualApprox(got.Omega, &omega, 1e-5) || !mat.EqualApprox(got.Result.W, metric.Restore(want.W), 1e-4) {
			t.Errorf("Omega is\n%v\nby hand\n%v", mat.Formatted(got.Omega), mat.Formatted(&omega))
		}
	}
}

// A fit in any view predicts from the features as they are what it predicts in its view.
func TestFitIsForTheFeaturesAsTheyAre(t *testing.T) {
	for _, kind := range []data.Kind{data.Classification, data.Regression} {
		p := labelled(t, made(6, "p", kind, 3))
		b := bench(t, random(t, 1, nil), p, Options{})
		for _, v := range []View{{}, {Ridge: 1}, {Ridge: 10}, {Bent: data.StepCurves}, {Bent: data.StepCurves, Ridge: 1}, {Bent: data.StepGauss, Width: 0.3}, {Bent: data.StepLaplace, Width: 1}} {
			j := judge(t, b, Candidate{View: v, Mixture: Mixture{Pooled: 0.5}})
			got := must(b.Fit(t.Context(), j))(t)
			if d, _ := got.Result.W.Dims(); d != features && v.Bent == "" {
				t.Fatalf("%+v: W has %d rows, want %d", v, d, features)
			}
			seen := must(v.of(newPart(p)))(t)
			for i, task := range seen.Tasks {
				x := p.Tasks[i].TrainSet.X
				if got.step != nil {
					x = must(got.step.Apply(x))(t)
				}
				have, want := got.Result.Scores(i, x), j.full.Scores(i, task.TrainSet.X)
				if kind == data.Classification {
					floats.AddConst(j.Offsets[i][0], want)
				}
				if d := mat.Norm(diff(want, have), math.Inf(1)); d > 1e-5*mat.Norm(mat.NewVecDense(len(want), want), 2) {
					t.Errorf("%+v of %s, task %d: predictions are %v apart", v, kind, i, d)
				}
			}
		}
	}
}

func diff(a, b []float64) *mat.VecDense {
	var d mat.VecDense
	d.SubVec(mat.NewVecDense(len(a), a), mat.NewVecDense(len(b), b))
	return &d
}

// labelled is a problem with all labelled rows to train on.
func labelled(t *testing.T, p *data.ProblemData) *data.ProblemData {
	t.Helper()
	all := p.Labelled()
	return all
}

// A task may lack validation rows, which are labelled rows like others.
func TestValidationRowsOfSomeTasks(t *testing.T) {
	p := made(7, "p", data.Regression, 3)
	p.Tasks[1].ValidationSet = data.Samples{}
	b := bench(t, random(t, 1, nil), p, Options{})
	f := fit(t, b, judge(t, b, Candidate{}))
	if f.Validation.Mean != f.HeldOut.Error || len(f.Test.Task) != 3 {
		t.Errorf("the errors are %v and %v", f.Validation, f.Test)
	}
}

// Test rows change the test errors and nothing else.
func TestTestRowsDoNotLeak(t *testing.T) {
	for _, kind := range []data.Kind{data.Classification, data.Regression} {
		acts := false
		for seed := range uint64(2) {
			f, p := random(t, seed, nil), made(seed, "p", kind, 3)
			a, x := solved(t, f, p, Options{}, Parts{})
			b, y := solved(t, f, solvetest.Poisoned(p), Options{}, Parts{})
			acts = acts || x.Test.Mean != y.Test.Mean
			if a.Name() != b.Name() || !mat.Equal(x.Result.W, y.Result.W) || a.Loss != b.Loss {
				t.Errorf("seed %d, %s: the fit depends on the test rows", seed, kind)
			}
		}
		if !acts {
			t.Errorf("%s: the poison never acts", kind)
		}
	}
}

func TestSingleTask(t *testing.T) {
	choice, f := solved(t, random(t, 1, nil), made(1, "p", data.Classification, 1), Options{}, Parts{})
	if m := f.Omega.SymmetricDim(); m != 1 || f.Omega.At(0, 0) != 1 || choice.Ridge != 0 {
		t.Errorf("%s, Omega is\n%v", choice.Title(), mat.Formatted(f.Omega))
	}
}

// Tasks of one row and of one class are fitted and held out, by folds and by leaving out every
// row; the others hardly hear of them.
func TestTasksThatBorrow(t *testing.T) {
	for _, kind := range []data.Kind{data.Regression, data.Classification} {
		for _, folds := range []int{0, 5} {
			p := made(1, "p", kind, 5)
			for i, n := range []int{1, 4} {
				task := &p.Tasks[3*i]
				task.ValidationSet, task.TestSet = data.Samples{}, data.Samples{}
				task.TrainSet.X, task.TrainSet.Y = task.TrainSet.X.Take([]int{0, 1, 2, 3}[:n]), task.TrainSet.Y[:n]
				for j := range task.TrainSet.Y {
					task.TrainSet.Y[j] = 1
				}
			}
			for i := range p.Tasks {
				p.Tasks[i].TestSet = data.Samples{}
			}
			b := bench(t, random(t, 1, nil), p, Options{Folds: folds})
			for _, c := range []Candidate{{Mixture: Mixture{Network: 1}}, {Mixture: Mixture{Pooled: 0.8, Weights: true}, Drawn: 10}} {
				j := must(b.Judge(t.Context(), c))(t)
				f := must(b.Fit(t.Context(), j))(t)
				if f.Result.Status != multitask.Converged || len(j.Scores[0]) != 1 || len(j.Scores[3]) != 4 || !(j.Loss < 100) {
					t.Errorf("%s, %s: %s, scores %v, loss %v", kind, c.Title(), f.Result.Status, j.Scores, j.Loss)
				}
			}
			if _, err := b.Choose(t.Context(), Parts{}); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestFitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := bench(t, random(t, 1, nil), made(1, "p", data.Classification, 3), Options{})
	if _, err := b.Choose(ctx, Parts{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}
