package solve

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
)

// family says how problems are drawn of which the truth is known: the weights of the tasks are
// drawn with the same correlation of any two,
//
//	W = Z U,  U'U = Omega,  Z of independent normal entries, d x m,
//
// rows with an expected square of their length of 1, and labels
//
//	y = x'w_i + 0.3 e,  for classes its sign.
//
// So Omega is what the best covariance of such a problem has to be like.
type family struct {
	kind  data.Kind
	alike bool // a correlation of 0.9, not 0
	// rows are those of a task to learn from, two at least.
	tasks, rows, features int
	// seed and number tell problems apart.
	seed, number uint64
}

const noiseOfRows = 0.3

// problem draws a problem, with the covariance of its tasks.
func (f family) problem(t *testing.T) (*data.ProblemData, *mat.SymDense) {
	t.Helper()
	name, correlation := "unrelated", 0.0
	if f.alike {
		name, correlation = "alike", 0.9
	}
	r := data.Stream(f.seed, "family "+name, f.number)
	r.Uint64() // the draws that docs/results.md tells of begin with the second
	omega := mat.NewSymDense(f.tasks, nil)
	for i := range f.tasks {
		omega.SetSym(i, i, 1)
		for j := range i {
			omega.SetSym(i, j, correlation)
		}
	}
	var l mat.Cholesky
	if !l.Factorize(omega) {
		t.Fatalf("the covariance of %+v is not positive definite", f)
	}
	w := mat.NewDense(f.features, f.tasks, nil)
	w.Apply(func(_, _ int, _ float64) float64 { return r.NormFloat64() }, w)
	w.Mul(w, l.RawU())
	p := &data.ProblemData{Problem: &data.Problem{Name: "generated"}}
	for i := range f.tasks {
		task := data.TaskData{Task: &data.Task{Name: fmt.Sprintf("task %d", i+1), Kind: f.kind}}
		if f.kind == data.Classification {
			task.Positive, task.Negative = "yes", "no"
		}
		wi := mat.Col(nil, i, w)
		task.TrainSet = f.draw(t, r, wi, f.rows)
		task.TestSet = f.draw(t, data.Stream(f.seed, "test rows", f.number, uint64(i)), wi, 200)
		f.draw(t, r, wi, 2) // as many as were drawn before
		task.ValidationSet = data.Samples{X: task.TrainSet.X.Take(nil)}
		p.Problem.Tasks, p.Tasks = append(p.Problem.Tasks, task.Task), append(p.Tasks, task)
	}
	return p, omega
}

// draw draws n rows of a task, of both classes.
func (f family) draw(t *testing.T, r *rand.Rand, w []float64, n int) data.Samples {
	var s data.Samples
	var value []float32
	for range n {
		y, product := noiseOfRows*r.NormFloat64(), 0.0
		for _, v := range w {
			x := r.NormFloat64() / math.Sqrt(float64(len(w)))
			value, product = append(value, float32(x)), product+x*v
		}
		y += product
		if f.kind == data.Classification {
			y = math.Copysign(1, y)
		}
		s.Y = append(s.Y, y)
	}
	if f.kind == data.Classification && !slices.Contains(s.Y, -s.Y[0]) {
		s.Y[0] = -s.Y[0]
	}
	s.X = datatest.Must(data.NewDense(n, f.features, value))(t)
	return s
}

// The covariance of least-squares weights on many rows is the one that problems are
// said to be drawn with.
func TestProblemsHaveTheCovarianceThatTheySay(t *testing.T) {
	const features, draws, tasks, rows = 40, 20, 4, 300
	for _, alike := range []bool{false, true} {
		off := mat.NewDense(tasks, tasks, nil)
		for seed := range uint64(draws) {
			p, truth := family{data.Regression, alike, tasks, rows, features, seed, 0}.problem(t)
			w := mat.NewDense(features, tasks, nil)
			for i, task := range p.Tasks {
				x := mat.NewDense(rows, features, nil)
				for a := range rows {
					for q, v := range task.TrainSet.X.Row(a).Value {
						x.Set(a, q, float64(v))
					}
				}
				datatest.Check(t, w.Slice(0, features, i, i+1).(*mat.Dense).Solve(x, mat.NewDense(rows, 1, task.TrainSet.Y)))
			}
			var found mat.Dense
			found.Mul(w.T(), w)
			found.Scale(1./features, &found)
			found.Sub(&found, truth)
			found.Scale(1./draws, &found)
			off.Add(off, &found)
		}
		// An entry has a standard error of at most (2 / 800)^1/2 = 0.05, and noise in W
		// adds its square times features / rows to the diagonal.
		for i, v := range off.RawMatrix().Data {
			limit := 0.2
			if i%(tasks+1) == 0 {
				limit += noiseOfRows * noiseOfRows
			}
			if !(math.Abs(v) < limit) {
				t.Errorf("alike %v: entry %d is off by %.3f", alike, i, v)
			}
		}
	}
}
