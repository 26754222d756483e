//go:build unix

package train

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"l2mt/data"
	"l2mt/data/progress"
	"l2mt/model"
)

// cpu is the time that all processors have spent on this process.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// measure runs work and reports its processor time, which other processes on the
// machine disturb less than the time on the clock.
func measure(b *testing.B, work func() error) {
	b.Helper()
	begin := cpu(b)
	for b.Loop() {
		if err := work(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpu(b)-begin)/float64(b.N)/1e6, "cpu-ms/op")
}

// BenchmarkScaling is the table of the README on growing: for a problem like those
// of texts, of 30 entries a row, what it takes to prepare it and to do a step on
// it.
//
//	go test -run '^$' -bench 'Scaling|Outcomes' -benchtime 3x ./train
func BenchmarkScaling(b *testing.B) {
	for _, size := range []struct{ tasks, rows, features, tuples int }{
		{2, 100, 1000, 20}, {2, 1000, 1000, 20}, {2, 10000, 1000, 20}, // rows
		{2, 100, 10000, 20}, {2, 100, 61188, 20}, // features
		{6, 100, 1000, 20}, {60, 100, 1000, 20}, {600, 100, 1000, 2}, // tasks
	} {
		name := fmt.Sprintf("m=%d/n=%d/d=%d/", size.tasks, size.rows, size.features)
		c := must(Preset("default", size.features))(b)
		var examples []Example
		for i, rows := range []int{size.rows, 20} { // a small one is held out
			r := data.Stream(1, "scaling", uint64(i))
			e := Example{Problem: texts(b, r, size.tasks, rows, size.features)}
			for range size.tuples {
				e.Tuples = append(e.Tuples, model.Tuple{Omega: covariance(r, size.tasks), O: 0.9 + 0.1*r.Float64()})
			}
			examples = append(examples, e)
		}
		b.Run(name+"prepare", func(b *testing.B) {
			measure(b, func() error {
				_, _, err := prepare(b.Context(), &c, InMemory(examples), nil, progress.Silent())
				return err
			})
		})
		t := trainerOf(b, c, examples, Options{})
		b.Run(name+"step", func(b *testing.B) {
			measure(b, func() error { _, err := t.learn(b.Context(), t.steps[0]); return err })
		})
	}
}

// BenchmarkOutcomes is a step on one tuple, the deviation of v(o) over all training
// tuples included, by their number.
func BenchmarkOutcomes(b *testing.B) {
	for _, tuples := range []int{1000, 10000, 100000, 1000000} {
		b.Run(fmt.Sprint("tuples=", tuples), func(b *testing.B) {
			examples := made(1, 2, 1, 6, 20, 64)
			for i := range examples {
				tuple := examples[i].Tuples[0]
				examples[i].Tuples = nil
				for q := range tuples {
					tuple.O = 0.5 + float64(q)/float64(tuples)
					examples[i].Tuples = append(examples[i].Tuples, tuple)
				}
			}
			c := must(Preset("default", 64))(b)
			c.Update = ByTuple
			t := trainerOf(b, c, examples, Options{})
			measure(b, func() error { _, err := t.learn(b.Context(), t.steps[0]); return err })
		})
	}
}

// texts are tasks of sparse rows of 30 entries.
func texts(b *testing.B, r *rand.Rand, tasks, rows, features int) *data.ProblemData {
	const entries = 30
	p := &data.ProblemData{Problem: &data.Problem{Name: "texts"}}
	for j := range tasks {
		ptr, index, value, y := []int{0}, []int32{}, []float32{}, []float64{}
		for i := range rows {
			for k := range entries {
				step := features / entries
				index, value = append(index, int32(k*step+r.IntN(step))), append(value, 0.1+0.2*r.Float32())
			}
			ptr, y = append(ptr, len(index)), append(y, float64(2*(i%2)-1))
		}
		x := must(data.NewCSR(features, ptr, index, value))(b)
		p.Tasks = append(p.Tasks, data.TaskData{
			Task: &data.Task{Name: fmt.Sprint(j), Kind: data.Classification}, TrainSet: data.Samples{X: x, Y: y},
		})
	}
	return p
}
