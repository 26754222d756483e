package pairwise_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/model"
)

// BenchmarkEmbedding is what fit and eval wait for before a network without
// features has its say: words in six tasks, and 139 schools. One core is GOMAXPROCS=1.
func BenchmarkEmbedding(b *testing.B) {
	for _, size := range []struct {
		tasks, rows, features int
		density               float64
	}{{6, 590, 1000, 0.023}, {139, 66, 28, 1}} {
		b.Run(fmt.Sprintf("m=%d/n=%d/d=%d", size.tasks, size.rows, size.features), func(b *testing.B) {
			c := datatest.Must(model.Preset("pairwise", size.features))(b)
			p := benchmarkData(b, size.features, size.tasks, size.rows, size.density)
			n := &model.Network{Config: c, Params: model.NewParams(c, 1)}
			var seconds []float64
			for b.Loop() {
				begin := time.Now()
				payload := datatest.Must(model.Prepare(c, p))(b)
				forward := datatest.Must(model.NewForward(n))(b)
				datatest.Must(forward.Estimate(payload))(b)
				seconds = append(seconds, time.Since(begin).Seconds())
			}
			report(b, seconds)
		})
	}
}

// report adds the median, as the peers in other languages do, and the least.
func report(b *testing.B, seconds []float64) {
	slices.Sort(seconds)
	b.ReportMetric(1e3*seconds[len(seconds)/2], "median-ms")
	b.ReportMetric(1e3*seconds[0], "min-ms")
}

func benchmarkData(b *testing.B, d, m, n int, density float64) *data.ProblemData {
	b.Helper()
	r := data.Stream(1, "benchmark")
	p := &data.ProblemData{Problem: &data.Problem{Name: "benchmark"}}
	for range m {
		ptr := []int{0}
		var index []int32
		var value []float32
		for range n {
			for j := range d {
				if r.Float64() < density {
					index = append(index, int32(j))
					value = append(value, float32(r.NormFloat64()))
				}
			}
			ptr = append(ptr, len(index))
		}
		x := datatest.Must(data.NewCSR(d, ptr, index, value))(b)
		y := make([]float64, n)
		for i := range y {
			y[i] = float64(2*(i%2) - 1)
		}
		p.Tasks = append(p.Tasks, data.TaskData{Task: &data.Task{Kind: data.Classification}, TrainSet: data.Samples{X: x, Y: y}})
	}
	return p
}
