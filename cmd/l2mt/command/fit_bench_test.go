package command

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"l2mt/data"
	"l2mt/data/format"
)

// BenchmarkFitTasks fits datasets of many tasks of ten kinds as a user would: with
// nothing but the file.
func BenchmarkFitTasks(b *testing.B) {
	for _, c := range []struct {
		name             string
		m, n, d, entries int // entries of a row, all d where they are dense
	}{
		{"dense/500", 500, 50, 200, 200},
		{"dense/1000", 1000, 50, 200, 200},
		{"dense/2000", 2000, 50, 200, 200},
		{"words/600", 600, 100, 1000, 30},
	} {
		b.Run(c.name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "tasks.npz")
			if err := format.Write(path, manyTasks(b, c.m, c.n, c.d, c.entries)); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if code, _, stderr := l2mt(b, "-q", "fit", path); code != exitDone {
					b.Fatal(stderr)
				}
			}
		})
	}
}

// manyTasks has m regression tasks of n rows, the variance of whose signal is about 1 and
// that of its noise 1/4.
func manyTasks(b *testing.B, m, n, d, entries int) *data.Dataset {
	r := data.Stream(1, "tasks")
	draw := func(around []float64, deviation float64) []float64 {
		w := make([]float64, d)
		for j := range w {
			w[j] = around[j] + deviation*r.NormFloat64()
		}
		return w
	}
	kinds := make([][]float64, 10)
	for k := range kinds {
		kinds[k] = draw(make([]float64, d), 1)
	}
	made := &data.Dataset{Name: "tasks"}
	ptr, index, value := []int{0}, []int32{}, []float32{}
	for i := range m {
		made.Groups = append(made.Groups, fmt.Sprint("task ", i))
		w := draw(kinds[i%len(kinds)], 0.5)
		for range n {
			y := 0.5 * r.NormFloat64()
			for k := range entries { // one in every stretch of columns
				j, v := k*d/entries+r.IntN(d/entries), r.NormFloat64()/math.Sqrt(1.25*float64(entries))
				index, value = append(index, int32(j)), append(value, float32(v))
				y += v * w[j]
			}
			ptr = append(ptr, len(index))
			made.Target, made.Group = append(made.Target, y), append(made.Group, int32(i))
		}
	}
	var err error
	if entries == d {
		made.X, err = data.NewDense(m*n, d, value)
	} else {
		made.X, err = data.NewCSR(d, ptr, index, value)
	}
	if err != nil {
		b.Fatal(err)
	}
	return made
}
