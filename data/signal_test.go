package data_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

// Of tasks whose classes are apart by g in rows that scatter alike in all of d directions,
// r of them along M, the signal is |M'g|^2 / r for |g|^2 / d, from few rows as from many: in
// many tasks what noise adds to squares is taken off again.
func TestSignalIsWithoutNoise(t *testing.T) {
	const d, r, tasks = 20, 2, 400
	directions := mat.NewDense(d, r, nil)
	directions.Set(0, 0, 1)
	directions.Set(1, 1, 1)
	for _, c := range []struct {
		kind data.Kind
		rows int
		gap  func(j int) float64
		want float64
	}{
		{data.Classification, 6, func(j int) float64 { return 1 }, 1},
		{data.Classification, 6, func(j int) float64 { return []float64{2, 0}[min(j, 1)] }, 10},
		{data.Classification, 30, func(j int) float64 { return []float64{1, 1, 0.5}[min(j, 2)] }, 2.0 / 2 / (2 + 18*0.25) * 20},
		{data.Classification, 6, func(j int) float64 { return []float64{0, 0, 1}[min(j, 2)] }, 0},
		{data.Regression, 16, func(j int) float64 { return []float64{0.5, 0.5, 0.25}[min(j, 2)] }, 2.0 / 2 / (2 + 18*0.25) * 20},
	} {
		random := rand.New(rand.NewPCG(uint64(c.rows), 5))
		p := &data.ProblemData{Problem: &data.Problem{Name: "p"}}
		for range tasks {
			values, y := make([]float32, c.rows*d), make([]float64, c.rows)
			for a := range y {
				if y[a] = float64(a%2*2 - 1); c.kind == data.Regression {
					y[a] = random.NormFloat64()
				}
				for j := range d {
					values[a*d+j] = float32(random.NormFloat64() + y[a]*c.gap(j)/2)
				}
			}
			x := must(data.NewDense(c.rows, d, values))(t)
			p.Tasks = append(p.Tasks, data.TaskData{Task: &data.Task{Kind: c.kind}, TrainSet: data.Samples{X: x, Y: y}})
		}
		plain := (*data.Metric)(nil)
		got := plain.Along(p, directions).Signal(p)
		if math.Abs(got-c.want) > 0.1*c.want+0.1 {
			t.Errorf("%s of %d rows a task: the signal along directions is %v, want %v", c.kind, c.rows, got, c.want)
		}
		if again := data.NewMetric(p, 1).Along(p, directions).Signal(p); math.Abs(again-c.want) > 0.25*c.want+0.1 { // rows scatter alike
			t.Errorf("%s of %d rows a task: in their metric the signal along directions is %v, want %v", c.kind, c.rows, again, c.want)
		}
		if without := plain.Signal(p); !math.IsNaN(without) {
			t.Errorf("without directions the signal is %v", without)
		}
	}
}

// must is a value that is there unless its maker failed.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
