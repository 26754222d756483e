package multitask

import (
	"fmt"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"

	"gonum.org/v1/gonum/mat"
)

// text makes m related tasks of n unit rows with about 24 of d features each,
// like the term vectors of short texts.
func text(m, n, d int) *data.ProblemData {
	p := &data.ProblemData{Problem: &data.Problem{Name: "text"}}
	for i := range m {
		random := data.Stream(1, "text", uint64(i))
		base := normals(data.Stream(1, "text", 1000), d)
		for j, v := range normals(random, d) {
			base[j] += 0.5 * v
		}
		part := func() data.Samples {
			ptr, y := []int{0}, make([]float64, n)
			var index []int32
			var value []float32
			for r := range n {
				f := 0.0
				step := max(1, d/24)
				for c := random.IntN(step); c < d; c += 1 + random.IntN(2*step) {
					index, value = append(index, int32(c)), append(value, 0.2)
					f += base[c]
				}
				ptr = append(ptr, len(index))
				y[r] = 1
				if f < 0 {
					y[r] = -1
				}
			}
			x, err := data.NewCSR(d, ptr, index, value)
			if err != nil {
				panic(err)
			}
			return data.Samples{X: x, Y: y}
		}
		task := &data.Task{Name: fmt.Sprint(i), Kind: data.Classification}
		p.Tasks = append(p.Tasks, data.TaskData{Task: task, TrainSet: part()})
	}
	return p
}

// BenchmarkFit fits few tasks; 600 of 100 rows, as a pool of training problems has them, to the
// accuracy of tuning; and m tasks of few features, where the Omega of SPATS has a larger range
// than W.
func BenchmarkFit(b *testing.B) {
	run := func(what string, set *TrainingSet, tolerance float64, models map[string]Params) {
		for name, p := range models {
			b.Run(what+"/"+name, func(b *testing.B) {
				for b.Loop() {
					if r := mustFit(b, registry[name], set, p, Options{Tolerance: tolerance}); r.Status != Converged {
						b.Fatal(r.Status)
					}
				}
			})
		}
	}
	run("few", datatest.Must(Training(text(6, 600, 1000)))(b), 0, map[string]Params{"stl": {Lambda1: 1e-4}, "snr1": {Lambda1: 1e-3}, "mtrl": {Lambda1: 1e-4}})
	run("many", datatest.Must(Training(text(600, 100, 1000)))(b), 1e-4, map[string]Params{
		"rmtl": {Lambda1: 1e-3}, "snr2": {Lambda1: 1e-3}, "mtrl": {Lambda1: 1e-3}, "snr1": {Lambda1: 1e-2}, "cmtl": {Lambda1: 1e-4},
	})
	for _, m := range []int{4, 8, 16} {
		set := mustProblem(b, Logistic, samples(shape{m, m, 30, Logistic, false}, 1))
		run(fmt.Sprintf("m=%d", m), set, 1e-6, map[string]Params{"spats": {Lambda1: 1e-2, Lambda2: 1e-2}})
	}
}

// BenchmarkSizes compares fewer rows and the span of the rows (span.go) with the training set
// as it is.
func BenchmarkSizes(b *testing.B) {
	p := Params{Lambda1: 1e-2}
	for what, problem := range map[string]*TrainingSet{
		"fewer rows": mustProblem(b, Square, samples(shape{42, 19, 140, Square, false}, 1)),
		"span":       datatest.Must(Training(text(6, 50, 20000)))(b),
	} {
		for how, set := range map[string]*TrainingSet{"with": problem.view(), "without": problem} {
			b.Run(what+"/"+how, func(b *testing.B) {
				for b.Loop() {
					if r, err := set.solve(b.Context(), registry["mtrl"], p, Options{Tolerance: 1e-4, MaxIterations: 500}); err != nil || r.Status != Converged {
						b.Fatal(r, err)
					}
				}
			})
		}
	}
}

func BenchmarkStep(b *testing.B) {
	const m, d = 6, 1000
	s := mat.NewSymDense(m, nil)
	s.ScaleSym(1.0/40, gramOf(normals(data.Stream(4, "bench"), m*40), m, 40))
	for _, name := range Names() {
		p := datatest.Must(Complete(registry[name], Params{Lambda1: 0.1}))(b)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				datatest.Must(registry[name].Step(s, d, p, Hint{}))(b)
			}
		})
	}
}
