package train

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/layers"
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
		rows, stl := datatest.Must(evidence.Labelled(p))(t), 0.0
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
	source := Join(tested(t, 1, 8, 4), tested(t, 2, 10, 9))
	c := pairwise(t)
	r := datatest.Must(Run(t.Context(), c, source, Options{Out: t.TempDir()}))(t)
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
	a, b := small(1), small(2)[:2]
	var weights []float64
	for _, e := range Join(a, b) {
		weights = append(weights, e.Weight)
	}
	datatest.Equal(t, weights, []float64{.625, .625, .625, .625, .625, .625, .625, .625, 2.5, 2.5}, "the weights")
}

// What a step descends is the soft test error relative to that of single-task learning;
// its slope is that of central differences between refits.
func TestATesterTellsErrorAndSlope(t *testing.T) {
	datatest.Long(t)
	for i, e := range tested(t, 3, 4, 5) {
		p, err := newTester(t.Context(), e)
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
			fit := datatest.Must(multitask.FitFixed(t.Context(), o, p.test.Training(), p.best.Lambda1, multitask.Options{Tolerance: 1e-12}))(t)
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
	datatest.Refused(Run(t.Context(), c, small(1), Options{Out: t.TempDir()}))(t, ErrConfig, "needs a problem on which errors can be measured")
}

// heap is the memory in use after a collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// With L2MT_LONG in the environment these are 100,000 steps:
//
//	L2MT_LONG=1 go test -v -run StaysFlat -timeout 1h ./train ./train/collect
func TestMemoryStaysFlatOverManySteps(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes ten thousand steps")
	}
	steps := 3000
	if os.Getenv("L2MT_LONG") != "" {
		steps = 50000
	}
	examples := made(1, 4, 3, 2, 6, 3)
	c := config(t, "default", examples)
	c.Epochs = 1e6 // the rate hardly falls
	tr := trainerOf(t, c, examples, Options{Out: t.TempDir()})
	learn := func(steps int) (bytes uint64, goroutines int) {
		for i := range steps {
			datatest.Must(tr.learn(t.Context(), tr.steps[i%len(tr.steps)]))(t)
		}
		return heap(), runtime.NumGoroutine()
	}
	before, few := learn(steps / 10)
	after, many := learn(steps)
	t.Logf("%d kB and %d goroutines after %d steps, %d kB and %d goroutines %d steps later", before>>10, few, steps/10, after>>10, many, steps)
	datatest.Holds(t, after <= before+256<<10,
		"the heap grows from %d to %d bytes over %d steps", before, after, steps)
	datatest.Holds(t, many <= few, "%d goroutines become %d over %d steps", few, many, steps)
}

// benched trains three layers of width 50 on problems of so many tasks, each with rows of 1,000
// features, and has done a step on each. 3 % is the density of text.
func benched(b *testing.B, objective model.Objective, dtype layers.DType, density float64, rows int, tasks ...int) *trainer {
	const features = 1000
	c := datatest.Must(Preset("default", features))(b).Defaults()
	c.Model.Layers, c.Model.Hidden, c.Model.DType, c.Model.Objective = 3, 50, dtype, objective
	c.Epochs, c.HeldOut = 1e6, -1 // the rate hardly falls
	var examples []Example
	for i, m := range tasks {
		r := data.Stream(1, "benchmark", uint64(i))
		e := Example{Problem: modeltest.Problem(r, features, slices.Repeat([]int{rows}, m)...)}
		tests := modeltest.Problem(r, features, slices.Repeat([]int{20}, m)...)
		for j := range e.Problem.Tasks {
			thin(b, r.Float64, &e.Problem.Tasks[j].TrainSet, density)
			e.Problem.Tasks[j].TestSet = tests.Tasks[j].TrainSet
		}
		for q := range 2 {
			e.Tuples = append(e.Tuples, model.Tuple{Omega: covariance(r, m), O: 0.9 + 0.1*float64(q), Lambda1: 0.01})
		}
		examples = append(examples, e)
	}
	t := trainerOf(b, c, examples, Options{})
	for i := range t.steps {
		t.step(b, i)
	}
	return t
}

func (t *trainer) step(b *testing.B, i int) { datatest.Must(t.learn(b.Context(), t.steps[i]))(b) }

// BenchmarkStep is one step of training: forward, backward, the check for numbers that are not
// finite, and Adam, on a problem of 6 tasks with 400 rows each. The objective found fits the tasks.
func BenchmarkStep(b *testing.B) {
	for _, dtype := range []layers.DType{layers.Float32, layers.Float64} {
		for _, density := range []float64{1, 0.03} {
			for _, objective := range []model.Objective{model.Scaled, model.Found} {
				b.Run(fmt.Sprintf("%s/density=%v/%s", dtype, density, objective), func(b *testing.B) {
					t := benched(b, objective, dtype, density, 400, 6)
					b.ReportAllocs()
					for b.Loop() {
						t.step(b, 0)
					}
				})
			}
		}
	}
}

// inTurn reports how many times as long the second function takes, both called in turn: the least
// times of both, which other work on the machine changes least.
func inTurn(b *testing.B, unit string, first, second func()) {
	times := [2]time.Duration{time.Hour, time.Hour}
	for b.Loop() {
		for k, f := range []func(){first, second} {
			begin := time.Now()
			f()
			times[k] = min(times[k], time.Since(begin))
		}
	}
	b.ReportMetric(float64(times[1])/float64(times[0]), unit)
}

// BenchmarkMachine has Gorgonia's machine and Adam do the same steps.
func BenchmarkMachine(b *testing.B) {
	for _, dtype := range []layers.DType{layers.Float32, layers.Float64} {
		for _, rows := range []struct {
			count   int
			density float64
		}{{20, 1}, {400, 1}, {400, 0.03}} {
			b.Run(fmt.Sprintf("%s/rows=%d/density=%v", dtype, rows.count, rows.density), func(b *testing.B) {
				t := benched(b, model.Scaled, dtype, rows.density, rows.count, 6)
				s := t.steps[0]
				e := datatest.Must(t.graph.Express(t.network.Params, s.payload, s.Tuples))(b)
				machine := gorgonia.NewTapeMachine(e.Graph, gorgonia.BindDualValues(e.Params...))
				defer machine.Close()
				solver := gorgonia.NewAdamSolver(gorgonia.WithLearnRate(t.config.EmbeddingRate))
				inTurn(b, "machine/ours", func() { t.step(b, 0) }, func() {
					datatest.Check(b, errors.Join(machine.RunAll(), solver.Step(gorgonia.NodesToValueGrads(e.Params))))
					machine.Reset()
				})
			})
		}
	}
}

// BenchmarkUnequal is a step on 6 tasks of 20 rows beside a problem of 384, and beside its like.
func BenchmarkUnequal(b *testing.B) {
	like := benched(b, model.Scaled, layers.Float32, 1, 20, 6, 6)
	beside := benched(b, model.Scaled, layers.Float32, 1, 20, 6, 384)
	inTurn(b, "beside/like", func() { like.step(b, 0) }, func() { beside.step(b, 0) })
}

// thin keeps a share of the entries, and stores them sparse.
func thin(b testing.TB, uniform func() float64, s *data.Samples, density float64) {
	b.Helper()
	if density == 1 {
		return
	}
	ptr := []int{0}
	var index []int32
	var value []float32
	for i := range s.X.Rows() {
		for j, v := range s.X.Row(i).Value {
			if uniform() < density {
				index, value = append(index, int32(j)), append(value, v)
			}
		}
		ptr = append(ptr, len(index))
	}
	x := datatest.Must(data.NewCSR(s.X.Cols(), ptr, index, value))(b)
	s.X = x
}
