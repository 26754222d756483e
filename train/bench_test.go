package train

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"

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
	if after > before+256<<10 {
		t.Errorf("the heap grows from %d to %d bytes over %d steps", before, after, steps)
	}
	if many > few {
		t.Errorf("%d goroutines become %d over %d steps", few, many, steps)
	}
}

// BenchmarkStep is one step of training: forward, backward, the check for
// numbers that are not finite, and Adam. There is one problem of 6 tasks with
// 400 rows of 1,000 features each, the hidden width is 50, and there are three
// layers; 3 % is the density of text.
func BenchmarkStep(b *testing.B) {
	const tasks, rows, features = 6, 400, 1000
	for _, dtype := range []layers.DType{layers.Float32, layers.Float64} {
		for _, density := range []float64{1, 0.03} {
			b.Run(fmt.Sprintf("%s/density=%v", dtype, density), func(b *testing.B) {
				c := datatest.Must(Preset("default", features))(b).Defaults()
				c.Model.Layers, c.Model.Hidden, c.Model.DType, c.Update, c.Model.Objective = 3, 50, dtype, ByTuple, "scaled"
				c.Epochs = 1e6 // the rate hardly falls
				var examples []Example
				for i := range uint64(2) { // one of them is held out
					r := data.Stream(1, "benchmark", i)
					p := modeltest.Problem(r, features, slices.Repeat([]int{rows}, tasks)...)
					for j := range p.Tasks {
						thin(b, r.Float64, &p.Tasks[j].TrainSet, density)
					}
					e := Example{Problem: p}
					for q := range 2 {
						e.Tuples = append(e.Tuples, model.Tuple{Omega: covariance(r, tasks), O: 0.9 + 0.1*float64(q)})
					}
					examples = append(examples, e)
				}
				t := trainerOf(b, c, examples, Options{})
				datatest.Must(t.learn(b.Context(), t.steps[0]))(b) // it compiles the graph
				b.ReportAllocs()
				for b.Loop() {
					datatest.Must(t.learn(b.Context(), t.steps[0]))(b)
				}
			})
		}
	}
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
