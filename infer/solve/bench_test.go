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
	"l2mt/data/datatest"
	"l2mt/data/view"
	"l2mt/infer/solve/solvetest"
	"l2mt/model/multitask"
)

func bench(t *testing.T, f *Finder, p *data.ProblemData, o Options) *Bench {
	t.Helper()
	return datatest.Must(NewBench(f, p, o))(t)
}

func judge(t *testing.T, b *Bench, c Candidate) *Judged {
	t.Helper()
	return datatest.Must(b.Judge(t.Context(), c))(t)
}

// fit fits one candidate.
func fit(t *testing.T, b *Bench, c Candidate) *Fitted {
	t.Helper()
	choice := datatest.Must(b.Take(t.Context(), c))(t)
	return datatest.Must(b.Fit(t.Context(), choice))(t)
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
			s.Y[j] = -s.Y[j]
			if p.Kind() == data.Regression {
				s.Y[j] += 3
			}
		}
	}
	return q
}

// What the network finds without the rows held out does not depend on their labels, and what it
// finds for all rows does.
func TestFoldsAskTheNetworkWithoutTheirRows(t *testing.T) {
	f := random(t, 1, nil)
	p := made(1, "p", data.Regression, 3).Labelled()
	o := Options{Held: firstHeld(p, 5)}
	before := datatest.Must(bench(t, f, p, o).ask(false))(t)
	after := datatest.Must(bench(t, f, changed(p, o.Held), o).ask(false))(t)
	for k, same := range []bool{true, false} {
		datatest.Equal(t, mat.Equal(after[k], before[k]), same, "part %d: what is found with other labels held out is the same", k)
	}
	a := bench(t, nil, p, Options{Seed: 7})
	b := bench(t, nil, p, Options{Seed: 8})
	datatest.Holds(t, !cmp.Equal(a.folds[0].Rows, b.folds[0].Rows),
		"another seed draws the same folds")
}

// Nothing that predicts a row has seen its label: not the network, the metric, nor the
// variances of a structure.
func TestPredictionsHaveNotSeenTheRow(t *testing.T) {
	datatest.Long(t)
	for _, kind := range []data.Kind{data.Classification, data.Regression} {
		p := made(2, "p", kind, 3).Labelled()
		o := Options{Held: firstHeld(p, 5), Lambda1: []float64{0.1}}
		a := bench(t, random(t, 1, nil), p, o)
		b := bench(t, random(t, 1, nil), changed(p, o.Held), o)
		candidates := []Candidate{{}, {Mixture: Mixture{Network: 1}}, {Mixture: Mixture{Network: 0.5}, Ridge: 3, Drawn: 3}}
		for _, s := range Structures() {
			candidates = append(candidates, Candidate{Structure: s})
		}
		for _, c := range candidates {
			x, y := judge(t, a, c), judge(t, b, c)
			for i := range x.Scores {
				if !floats.EqualApprox(x.Scores[i], y.Scores[i], 1e-9) || slices.Equal(x.Y[i], y.Y[i]) {
					t.Errorf("%s of %s, task %d: %v, with other labels %v", c.Name(), kind, i, x.Scores[i], y.Scores[i])
				}
				datatest.Holds(t, x.Variance == nil || floats.EqualApprox(x.Variance[i], y.Variance[i], 1e-9),
					"%s of %s, task %d: variances %v, with other labels %v", c.Name(), kind, i, x.Variance, y.Variance)
			}
			if slices.Equal(slices.Concat(fit(t, a, c).Result.B, fit(t, a, c).W.RawMatrix().Data), slices.Concat(fit(t, b, c).Result.B, fit(t, b, c).W.RawMatrix().Data)) {
				t.Errorf("%s of %s: the fit has not seen the rows held out", c.Name(), kind)
			}
		}
	}
}

// Rows that are held are the only ones that candidates are judged by. They are one fold, which no
// other fold has weights for: they have their own, and the choice is fitted.
func TestHeldTakesThePlaceOfFolds(t *testing.T) {
	var p *data.ProblemData
	for _, kind := range []data.Kind{data.Classification, data.Regression} {
		p = made(3, "p", kind, 3).Labelled()
		b := bench(t, nil, p, Options{Held: firstHeld(p, 4)})
		c := choose(t, b, Parts{View: Curves})
		for i, task := range p.Tasks {
			want := make([]float64, 4)
			for _, w := range c.Weighed {
				floats.AddScaled(want, w.Weight, w.judged.Scores[i])
				datatest.Equal(t, w.judged.Y[i], task.TrainSet.Y[:4], "%s: task %d is judged by the rows", w.Called, i)
			}
			// Of regressions the mean of all targets has what the weights leave.
			datatest.Holds(t, kind != data.Classification || floats.EqualApprox(c.Scores[i], want, 1e-9),
				"task %d has the scores %v, want %v", i, c.Scores[i], want)
		}
		_, err := b.Fit(t.Context(), c)
		datatest.Holds(t, err == nil && c.Loss < math.Inf(1), "%s: a loss of %v, %v", kind, c.Loss, err)
	}
	b := bench(t, random(t, 1, nil), p, Options{Held: firstHeld(p, 4)})
	j := judge(t, b, Candidate{Mixture: Mixture{Network: 1}})
	datatest.Equal(t, j.Y[1], p.Tasks[1].TrainSet.Y[:4], "the network is judged by the rows")
	for what, o := range map[string]Options{
		"fewer tasks":           {Held: [][]int{{0}}},
		"no such row":           {Held: [][]int{{0}, {0}, {1000}}},
		"below zero":            {Held: [][]int{{0}, {0}, {-1}}},
		"no rows":               {Held: make([][]int, 3)},
		"numbers of fewer rows": {Held: firstHeld(p, 4), Together: [][]int{{1}, {1}, {1}}},
		"rows that belong together, of fewer tasks": {Together: [][]int{{1}, {1}}},
		"rows that belong together, fewer":          {Together: [][]int{{1}, {1}, {1}}},
	} {
		_, err := NewBench(nil, p, o)
		datatest.Holds(t, errors.Is(err, data.ErrInvalid), "%s: %v, want ErrInvalid", what, err)
	}
}

// A fit of problem (1) by hand: the network's covariance mixed with I, in the metric, and taken
// back to the features as they are.
func TestCovarianceByHand(t *testing.T) {
	p := made(5, "p", data.Regression, 3).Labelled()
	for _, o := range []Options{{Lambda1: []float64{0.1}}, {Lambda1: []float64{0.1}, Held: firstHeld(p, 5)}} {
		b := bench(t, random(t, 1, nil), p, o)
		got := fit(t, b, Candidate{Ridge: 1, Mixture: Mixture{Network: 0.5}})
		found := datatest.Must(b.ask(false))(t)
		metric := view.NewScatter(p).Metric(1)
		training := datatest.Must(multitask.Training(metric.Problem(p)))(t)
		var omega mat.SymDense // 1/2 Omega_n + 1/2 I/3
		omega.ScaleSym(0.5, found[len(b.folds)])
		for i := range 3 {
			omega.SetSym(i, i, omega.At(i, i)+0.5/3)
		}
		want := datatest.Must(multitask.FitFixed(t.Context(), &omega, training, 0.1, multitask.Options{}))(t)
		if !mat.EqualApprox(got.Omega, &omega, 1e-9) || !mat.EqualApprox(got.Result.W, metric.Pull(want.W), 1e-4) {
			t.Errorf("Omega is\n%v\nby hand\n%v", mat.Formatted(got.Omega), mat.Formatted(&omega))
		}
	}
}

// A task may lack validation rows, which are labelled rows like others.
func TestValidationRowsOfSomeTasks(t *testing.T) {
	p := made(7, "p", data.Regression, 3)
	p.Tasks[1].ValidationSet = data.Samples{}
	for _, c := range []Candidate{{}, {Structure: Structure{View: Straight}}} {
		f := fit(t, bench(t, random(t, 1, nil), p, Options{}), c)
		datatest.Holds(t, f.Validation.Mean == f.HeldOut.Error && len(f.Test.Task) == 3,
			"%s: the errors are %v and %v", c.Name(), f.Validation, f.Test)
	}
}

// Test rows change the test errors and nothing else.
func TestTestRowsDoNotLeak(t *testing.T) {
	datatest.Long(t)
	for _, kind := range []data.Kind{data.Classification, data.Regression} {
		for seed := range uint64(2) {
			f := random(t, seed, nil)
			p := made(seed, "p", kind, 3)
			x := solved(t, f, p, Options{}, Parts{})
			y := solved(t, f, solvetest.Poisoned(p), Options{}, Parts{})
			datatest.Holds(t, x.Test.Mean != y.Test.Mean, "seed %d, %s: the poison does not act", seed, kind)
			datatest.Holds(t, x.Choice.Name() == y.Choice.Name() && mat.Equal(x.Result.W, y.Result.W) && slices.Equal(x.Result.B, y.Result.B) && x.Choice.Loss == y.Choice.Loss,
				"seed %d, %s: the fit depends on the test rows", seed, kind)
		}
	}
}

func TestSingleTask(t *testing.T) {
	for _, kind := range []data.Kind{data.Classification, data.Regression} {
		f := solved(t, random(t, 1, nil), made(1, "p", kind, 1), Options{}, Parts{})
		if m := f.Omega.SymmetricDim(); m != 1 || math.Abs(f.Omega.At(0, 0)-1) > 1e-12 || !(f.Test.Mean < 0.5) {
			t.Errorf("%s, test error %v, Omega is\n%v", f.Choice.Title(), f.Test.Mean, mat.Formatted(f.Omega))
		}
	}
}

func TestFitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := bench(t, random(t, 1, nil), made(1, "p", data.Classification, 3), Options{})
	datatest.Refused(b.Choose(ctx, Parts{}))(t, context.Canceled)
}
