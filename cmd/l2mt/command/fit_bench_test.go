package command

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/floats"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/format"
)

// BenchmarkFitTasks fits datasets of many tasks of ten kinds as a user would: with
// nothing but the file.
func BenchmarkFitTasks(b *testing.B) {
	for _, m := range []int{500, 1000, 2000} {
		b.Run(fmt.Sprint(m), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "tasks.npz")
			datatest.Check(b, format.Write(path, manyTasks(b, m)))
			for b.Loop() {
				if code, _, stderr := l2mt(b, "-q", "fit", path); code != exitDone {
					b.Fatal(stderr)
				}
			}
		})
	}
}

// manyTasks has m regression tasks of 50 rows, the variance of whose signal is about 1 and
// that of its noise 1/4.
func manyTasks(b *testing.B, m int) *data.Dataset {
	const n, d = 50, 200
	r := data.Stream(1, "tasks")
	kinds := make([][]float64, 10)
	for k := range kinds {
		kinds[k] = datatest.Normals[float64](r, d)
	}
	made := &data.Dataset{Name: "tasks"}
	var value []float32
	for i := range m {
		made.Groups = append(made.Groups, fmt.Sprint("task ", i))
		w := datatest.Normals[float64](r, d)
		floats.AddScaledTo(w, kinds[i%len(kinds)], 0.5, w)
		for range n {
			y := 0.5 * r.NormFloat64()
			for j := range w {
				v := r.NormFloat64() / math.Sqrt(1.25*d)
				value = append(value, float32(v))
				y += v * w[j]
			}
			made.Target, made.Group = append(made.Target, y), append(made.Group, int32(i))
		}
	}
	made.X = datatest.Must(data.NewDense(m*n, d, value))(b)
	return made
}
