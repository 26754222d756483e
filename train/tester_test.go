package train

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/model"
	"l2mt/model/evidence"
	"l2mt/model/modeltest"
	"l2mt/model/multitask"
	_ "l2mt/model/pairwise"
)

// tested is experience with test rows and refits, on tasks of the given number of
// features that have nothing to do with each other: the untrained network, which
// shares, does harm.
func tested(t testing.TB, seed uint64, problems, features int) []Example {
	t.Helper()
	examples := make([]Example, problems)
	for i := range examples {
		r := data.Stream(seed, "tested", uint64(i))
		p := modeltest.Problem(r, features, slices.Repeat([]int{56}, 3)...)
		p.Problem = &data.Problem{Name: fmt.Sprint("tested ", seed, " ", i)}
		for j := range p.Tasks {
			relate(r, &data.ProblemData{Tasks: p.Tasks[j : j+1]})
		}
		const trained = 20
		order := r.Perm(56)
		for j, k := range p.Tasks {
			pick := func(rows []int) (of data.Samples) {
				of.X = k.TrainSet.X.Take(rows)
				for _, a := range rows {
					of.Y = append(of.Y, k.TrainSet.Y[a])
				}
				return of
			}
			p.Tasks[j].TrainSet, p.Tasks[j].TestSet = pick(order[:trained]), pick(order[trained:])
		}
		examples[i].Problem = p
		rows, stl := datatest.Must(evidence.Labelled(p, 0))(t), 0.0
		for q := range 4 {
			omega := mat.NewSymDense(3, modeltest.Covariance(r, 3))
			if q == 0 {
				omega = mat.NewSymDense(3, []float64{1. / 3, 0, 0, 0, 1. / 3, 0, 0, 0, 1. / 3})
			}
			tuned := datatest.Must(evidence.Refit(t.Context(), omega, rows, p))(t)
			if q == 0 {
				stl = tuned.Test.Mean
			}
			examples[i].Tuples = append(examples[i].Tuples, model.Tuple{Omega: mat.DenseCopyOf(omega).RawMatrix().Data, O: tuned.Test.Mean / stl, Lambda1: tuned.Params.Lambda1})
		}
	}
	return examples
}

func pairwise(t testing.TB) Config {
	t.Helper()
	c := datatest.Must(Preset("pairwise", 0))(t).Defaults()
	c.Epochs, c.Seed = 5, 1
	return c
}

// Sources of different features, of which the covariances found get better.
func TestOneNetworkLearnsFromSeveralSources(t *testing.T) {
	datatest.Long(t)
	source := Join(InMemory(tested(t, 1, 8, 4)), InMemory(tested(t, 2, 10, 9)))
	c := pairwise(t)
	r := datatest.Must(Run(t.Context(), c, source, Options{}))(t)
	start, best := r.Metrics[0], r.Metrics[r.Best]
	t.Logf("it finds %.3f at the start, %.3f in epoch %d", start.Found, best.Found, r.Best)
	datatest.Holds(t, r.Best != 0 && best.Found < start.Found,
		"the covariances found do not get better: %v", r.Metrics)
	for i, m := range r.Metrics {
		datatest.Holds(t, m.Found >= best.Found && (m.Found != best.Found || i >= r.Best),
			"epoch %d finds %v, the best one (%d) %v", i, m.Found, r.Best, best.Found)
	}
}

func TestEverySourceCountsForTheSame(t *testing.T) {
	a, b := InMemory(small(1)), InMemory(small(2)[:2])
	b[1].Weight = 3
	j := Join(a, b)
	var weights []float64
	for i := range j.Len() {
		weights = append(weights, datatest.Must(j.Example(i))(t).Weight)
	}
	datatest.Equal(t, weights, []float64{.625, .625, .625, .625, .625, .625, .625, .625, 2.5, 7.5}, "the weights")
	datatest.Refused(j.Example(10))(t, data.ErrInvalid)
}

// What a step descends is the soft test error relative to that of single-task learning;
// its slope is that of central differences between refits.
func TestATesterTellsErrorAndSlope(t *testing.T) {
	for i, e := range tested(t, 3, 4, 5) {
		p, err := newTester(t.Context(), nil, e)
		if err != nil || p == nil {
			t.Fatal(p, err)
		}
		omega := mat.NewSymDense(3, []float64{.4, .1, 0, .1, .3, -.05, 0, -.05, .3})
		got, slope, err := p.soft(t.Context(), omega)
		datatest.Check(t, err)
		soft := func(h float64) float64 {
			o := mat.NewSymDense(3, nil)
			o.CopySym(omega)
			o.SetSym(0, 1, o.At(0, 1)+h)
			fit := datatest.Must(multitask.FitFixed(t.Context(), o, p.train, p.best.Lambda1, multitask.Options{Tolerance: 1e-12}))(t)
			sum := 0.0
			for i, task := range e.Problem.Tasks {
				f, y := fit.Scores(i, task.TestSet.X), task.TestSet.Y
				width := 0.1 * floats.Norm(f, 1) / float64(len(y))
				for j := range y {
					sum += 1 / (1 + math.Exp(y[j]*f[j]/width)) / float64(len(y)*len(e.Problem.Tasks))
				}
			}
			return sum / p.stl
		}
		datatest.Near(t, got, soft(0), 1e-3, "problem %d: the soft error", i)
		want := (soft(1e-5) - soft(-1e-5)) / 4e-5 // the entry stands in Omega twice
		datatest.Near(t, slope.At(0, 1), want, 1e-3*(1+math.Abs(want)), "problem %d: the slope", i)
		datatest.Holds(t, p.best.O <= 1, "problem %d: the least o of the tuples is %v", i, p.best.O)
	}
}

func TestFoundNeedsErrorsThatCanBeMeasured(t *testing.T) {
	c := pairwise(t)
	datatest.Refused(Run(t.Context(), c, InMemory(small(1)), Options{}))(t, ErrConfig, "on no problem can an error be measured")
}
