package train

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"gorgonia.org/gorgonia"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/layers"
	"l2mt/model"
	"l2mt/model/modeltest"
)

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
	tr := trainerOf(t, c, examples, Options{})
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
				e := datatest.Must(t.graph.Express(t.network.Params, s.payload, s.tuples))(b)
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
