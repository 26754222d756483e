package multitask

import (
	"context"
	"fmt"
	"testing"

	"l2mt/data"

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
		p.Tasks = append(p.Tasks, data.TaskData{Task: task, TrainSet: part(), ValidationSet: part(), TestSet: part()})
	}
	return p
}

func mustTraining(b *testing.B, p *data.ProblemData) *TrainingSet {
	b.Helper()
	train, err := Training(p, "")
	if err != nil {
		b.Fatal(err)
	}
	return train
}

func BenchmarkFit(b *testing.B) {
	train := mustTraining(b, text(6, 600, 1000))
	for name, lambda1 := range map[string]float64{"stl": 1e-4, "snr1": 1e-3, "mtrl": 1e-4} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				mustFit(b, registry[name], train, Params{Lambda1: lambda1}, Options{})
			}
		})
	}
}

func BenchmarkRefit(b *testing.B) {
	p := text(6, 600, 1000)
	omega := gramOf(normals(data.Stream(2, "bench"), 6*9), 6, 9)
	for b.Loop() {
		if _, err := Refit(context.Background(), omega, p, TuneOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNonzeros multiplies by the Hessian, which is where fits spend their
// time, on more and more rows. The time per nonzero has one value while the
// rows fit into the caches and another beyond.
func BenchmarkNonzeros(b *testing.B) {
	for _, n := range []int{250, 1000, 4000, 16000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			train := mustTraining(b, text(4, n, 1000))
			nonzeros := 0
			for _, t := range train.tasks {
				nonzeros += t.x.NNZ()
			}
			v, out := normals(data.Stream(3, "bench"), 4*train.cols), make([]float64, 4*train.cols)
			x := newRidge(train, nil, 1e-4, 1)
			train.score(&x.point, 1)
			x.bend()
			for b.Loop() {
				x.addHessian(out, v)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(nonzeros), "ns/nonzero")
		})
	}
}

func BenchmarkStep(b *testing.B) {
	const m, d = 6, 1000
	s := mat.NewSymDense(m, nil)
	s.ScaleSym(1.0/40, gramOf(normals(data.Stream(4, "bench"), m*40), m, 40))
	for _, name := range Names() {
		p, err := Complete(registry[name], Params{Lambda1: 0.1})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := registry[name].Step(s, d, p, Hint{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEvidence measures a fit with the slope, by each kind of evidence, with
// 3 + 3 % of the rows of 20 Newsgroups and a sixth of that.
func BenchmarkEvidence(b *testing.B) {
	for _, n := range []int{9, 56} {
		p := text(6, n, 1000)
		all, err := p.Labelled()
		if err != nil {
			b.Fatal(err)
		}
		parts, err := all.Folds(5, 1, nil)
		if err != nil {
			b.Fatal(err)
		}
		for _, kind := range []struct {
			name string
			make func() (Evidence, error)
		}{
			{"split", func() (Evidence, error) { return Split(p, EvidenceOptions{}) }},
			{"leave-one-out", func() (Evidence, error) { return LeaveOneOut(all, EvidenceOptions{}) }},
			{"folds", func() (Evidence, error) { return Folds(all, parts, EvidenceOptions{}) }},
		} {
			e, err := kind.make()
			if err != nil {
				b.Fatal(err)
			}
			r, err := FitFixed(b.Context(), identity(6, 1.0/6), e.Training(), 1e-2, Options{Tolerance: 1e-6})
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%s/n=%d", kind.name, n), func(b *testing.B) {
				for range b.N {
					h, err := e.Measure(b.Context(), r)
					if err != nil {
						b.Fatal(err)
					}
					if _, err := h.Slope(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkTune is what eval waits for: all ten models on a problem of six tasks.
func BenchmarkTune(b *testing.B) {
	p := text(6, 560, 1000)
	for _, model := range Baselines() {
		b.Run(model.Info().Name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Tune(context.Background(), model, p, TuneOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkManyTasks fits 600 tasks of 100 rows, as a pool of training problems has
// them, to the accuracy of tuning.
func BenchmarkManyTasks(b *testing.B) {
	train := mustTraining(b, text(600, 100, 1000))
	for _, model := range []struct {
		name    string
		lambda1 float64
	}{{"rmtl", 1e-3}, {"snr2", 1e-3}, {"mtrl", 1e-3}, {"snr1", 1e-2}, {"cmtl", 1e-4}} {
		b.Run(model.name, func(b *testing.B) {
			for b.Loop() {
				r := mustFit(b, registry[model.name], train, Params{Lambda1: model.lambda1}, Options{Tolerance: 1e-4})
				if r.Status != Converged {
					b.Error(r.Status)
				}
			}
		})
	}
}

// BenchmarkSPATS fits to 1e-6 with m tasks of few features, where Omega has a
// larger range than W.
func BenchmarkSPATS(b *testing.B) {
	for _, m := range []int{4, 8, 16} {
		b.Run(fmt.Sprintf("m=%d", m), func(b *testing.B) {
			s := shape{m, m, 30, Logistic, false}
			problem := mustProblem(b, s.loss, samples(s, 1))
			for b.Loop() {
				if r := mustFit(b, spats{}, problem, Params{Lambda1: 1e-2, Lambda2: 1e-2}, Options{Tolerance: 1e-6}); r.Status != Converged {
					b.Fatal(r.Status)
				}
			}
		})
	}
}
