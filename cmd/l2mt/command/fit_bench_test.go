package command

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"l2mt/data"
)

// BenchmarkFitTasks fits tables of many tasks of ten kinds, of 50 rows and 200 features,
// as a user would: with nothing but the table.
func BenchmarkFitTasks(b *testing.B) {
	for _, m := range []int{500, 1000, 2000} {
		path := filepath.Join(b.TempDir(), "tasks.csv")
		writeTasks(b, path, m, 50, 200)
		b.Run(fmt.Sprint(m), func(b *testing.B) {
			for b.Loop() {
				if code, _, stderr := l2mt(b, "-q", "fit", path, "--task", "task", "--target", "y"); code != exitDone {
					b.Fatal(stderr)
				}
			}
		})
	}
}

func writeTasks(b *testing.B, path string, m, n, d int) {
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	out := bufio.NewWriter(f)
	r := data.Stream(1, "tasks")
	fmt.Fprint(out, "task,y")
	for j := range d {
		fmt.Fprintf(out, ",x%d", j)
	}
	kinds := make([][]float64, 10)
	for k := range kinds {
		for range d {
			kinds[k] = append(kinds[k], r.NormFloat64())
		}
	}
	for i := range m {
		w := make([]float64, d)
		for j, v := range kinds[i%len(kinds)] {
			w[j] = v + 0.5*r.NormFloat64()
		}
		x := make([]float64, d)
		for range n {
			y := 0.5 * r.NormFloat64()
			for j := range x {
				x[j] = r.NormFloat64() / 14 // that y has a variance of about 1
				y += x[j] * w[j]
			}
			fmt.Fprintf(out, "\nt%04d,%.4f", i, y)
			for _, v := range x {
				fmt.Fprintf(out, ",%.4f", v)
			}
		}
	}
	if err := out.Flush(); err == nil {
		err = f.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
}
