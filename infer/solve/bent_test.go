package solve

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"l2mt/data"
)

// bending has tasks whose targets are a function of six columns, and noise.
func bending(t *testing.T, seed uint64, rows int, f func(slope float64, x []float32) float64) *data.ProblemData {
	t.Helper()
	p := &data.ProblemData{Problem: &data.Problem{Name: "p"}}
	for i := range 4 {
		r := data.Stream(seed, "bending", uint64(i))
		set := func(n int) data.Samples {
			x, y := make([]float32, 6*n), make([]float64, n)
			for j := range y {
				row := x[6*j:][:6]
				for k := range row {
					row[k] = float32(r.NormFloat64())
				}
				y[j] = f(1+0.1*float64(i), row) + 0.1*r.NormFloat64()
			}
			rows := must(data.NewDense(n, 6, x))(t)
			return data.Samples{X: rows, Y: y}
		}
		p.Tasks = append(p.Tasks, data.TaskData{Task: &data.Task{Name: fmt.Sprint("t", i), Kind: data.Regression}, TrainSet: set(rows), TestSet: set(200)})
	}
	return p
}

// Columns that bend get curves, columns that depend on each other a kernel, and straight ones
// stay as they are. What is chosen is far better on rows that nothing was chosen by.
func TestColumnsBendWhereRowsSaySo(t *testing.T) {
	for _, c := range []struct {
		name string
		f    func(slope float64, x []float32) float64
		bent []string
		of   float64 // the test error, relative to that of straight columns
	}{
		{"straight", func(slope float64, x []float32) float64 { return float64(x[0]) + slope*float64(x[1]) }, []string{""}, 1},
		{"curves", func(slope float64, x []float32) (y float64) {
			for _, v := range x {
				y += slope * math.Abs(float64(v))
			}
			return y
		}, []string{data.StepCurves}, 0.2},
		{"together", func(slope float64, x []float32) float64 { return slope * float64(x[0]*x[1]) }, []string{data.StepGauss, data.StepLaplace}, 0.7},
	} {
		for seed := range uint64(2) {
			if seed > 0 && testing.Short() {
				break // the race detector, which is run so, has seen the same
			}
			p := bending(t, seed, 60, c.f)
			_, straight := solved(t, nil, p, Options{}, Parts{View: Linear})
			got, fitted := solved(t, nil, p, Options{Workers: 2}, Parts{})
			if !slices.Contains(c.bent, got.Bent) || fitted.Test.Mean > c.of*straight.Test.Mean+1e-9 {
				t.Errorf("%s, seed %d: %s is chosen, with a test error of %.4f; straight columns have %.4f", c.name, seed, got.Name(), fitted.Test.Mean, straight.Test.Mean)
			}
			if seed > 0 {
				continue
			}
			one, again := solved(t, nil, p, Options{Workers: 1}, Parts{})
			if one.Name() != got.Name() || !slices.Equal(again.Result.B, fitted.Result.B) {
				t.Errorf("%s, seed %d: one worker chooses %s, two choose %s", c.name, seed, one.Name(), got.Name())
			}
		}
	}
}

// A view that is asked for is taken, whatever rows say.
func TestViewsCanBePinned(t *testing.T) {
	p := bending(t, 1, 20, func(_ float64, x []float32) float64 { return float64(x[0]) })
	for _, name := range Views() {
		got := choose(t, bench(t, nil, p, Options{}), Parts{View: name})
		if want := ViewOf(name); got.Bent != want.Bent || got.Width != want.Width {
			t.Errorf("%s was asked for, and %s is chosen", name, got.Name())
		}
	}
	x := must(data.NewCSR(6, []int{0, 1, 2, 3}, []int32{0, 1, 1}, []float32{1, 2, 3}))(t)
	for i := range p.Tasks {
		p.Tasks[i].TrainSet = data.Samples{X: x, Y: []float64{1, 2, 4}}
		p.Tasks[i].TestSet = data.Samples{}
	}
	b := bench(t, nil, p, Options{Folds: 3})
	if got := choose(t, b, Parts{}); got.Bent != "" {
		t.Errorf("sparse rows are seen as %s", got.Name())
	}
	if _, err := b.Choose(t.Context(), Parts{View: "curves"}); err == nil || !strings.Contains(err.Error(), "sparse") {
		t.Errorf("curves of sparse rows: %v", err)
	}
}

// A column may have few values, and stay as it is, in a fold and not in all rows.
func TestCurvesOfFoldsMayBeFewer(t *testing.T) {
	p := bending(t, 1, 30, func(_ float64, x []float32) float64 { return math.Abs(float64(x[0])) })
	for i, task := range p.Tasks {
		for j := range task.TrainSet.X.Rows() {
			task.TrainSet.X.Row(j).Value[5] = float32((i + j) % 3)
		}
	}
	p.Tasks[0].TrainSet.X.Row(0).Value[5] = 7
	b := bench(t, nil, p, Options{Held: firstHeld(p, 10)})
	fit(t, b, judge(t, b, Candidate{View: View{Bent: data.StepCurves}}))
}
