package multitask

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

// classesProblem has three tasks over four classes: all of them, the first three,
// and the last three. Classes are around centres that the tasks share in part.
func classesProblem(seed uint64, n int) *data.ProblemData {
	const d = 5
	random := data.Stream(seed, "classes")
	p := &data.ProblemData{Problem: &data.Problem{Name: "classes", Classes: []string{"a", "b", "c", "d"}}}
	centre := make([][]float64, 4)
	for c := range centre {
		centre[c] = normals(random, d)
	}
	for i, have := range [][]int{{0, 1, 2, 3}, {0, 1, 2}, {1, 2, 3}} {
		own := normals(random, 4*d)
		rows := func(n int) data.Samples {
			var value []float32
			var y []float64
			for j := range n {
				c := have[j%len(have)]
				y = append(y, float64(c))
				for k := range d {
					value = append(value, float32(centre[c][k]+0.5*own[c*d+k]+random.NormFloat64()))
				}
			}
			x, err := data.NewDense(n, d, value)
			if err != nil {
				panic(err)
			}
			return data.Samples{X: x, Y: y}
		}
		task := &data.Task{Name: fmt.Sprint("task ", i), Kind: data.Classification}
		p.Problem.Tasks = append(p.Problem.Tasks, task)
		p.Tasks = append(p.Tasks, data.TaskData{Task: task, TrainSet: rows(n), ValidationSet: rows(2 * n), TestSet: rows(n)})
	}
	return p
}

// oneAgainstRest is the problem of one class with the tasks that have it, and
// their part of Omega.
func oneAgainstRest(t *testing.T, p *data.ProblemData, class int, omega *mat.SymDense) (part *data.ProblemData, tasks []int, of *mat.SymDense) {
	t.Helper()
	part = &data.ProblemData{}
	for i, task := range p.Tasks {
		if slices.Contains(task.TrainSet.Y, float64(class)) {
			task.TrainSet.Y = Against(task.TrainSet.Y, class)
			part.Tasks, tasks = append(part.Tasks, task), append(tasks, i)
		}
	}
	of = mat.NewSymDense(len(tasks), nil)
	for a, i := range tasks {
		for b, j := range tasks {
			of.SetSym(a, b, omega.At(i, j))
		}
	}
	return part, tasks, of
}

// A fit for a given covariance is that of every class on its own, by the tasks
// that have it.
func TestClassesAreFittedOneByOne(t *testing.T) {
	p := classesProblem(1, 20)
	train := must(Training(p))(t)
	omega := gramOf(normals(data.Stream(1, "omega"), 9), 3, 3)
	r := must(FitFixed(t.Context(), omega, train, 0.1, Options{Tolerance: 1e-13}))(t)
	sum := 0.0
	for c := range 4 {
		part, tasks, of := oneAgainstRest(t, p, c, omega)
		alone := must(Training(part))(t)
		want := must(FitFixed(t.Context(), of, alone, 0.1, Options{Tolerance: 1e-13}))(t)
		sum += want.Objective
		for a, i := range tasks {
			scores := r.Scores(i, p.Tasks[i].TestSet.X)
			for j, f := range want.Scores(a, p.Tasks[i].TestSet.X) {
				near(t, fmt.Sprintf("class %d, task %d, score %d", c, i, j), scores[4*j+c], f, 1e-5)
			}
		}
	}
	near(t, "objective", r.Objective, sum, 1e-9)
	if f := r.Scores(1, p.Tasks[1].TestSet.X); !math.IsInf(f[3], -1) {
		t.Errorf("a task without the class d scores it %v", f[3])
	}
}

// Every model fits classes to its certificate, and Omega is that of its step for
// the blocks of W together.
func TestModelsFitClasses(t *testing.T) {
	train := must(Training(classesProblem(2, 20)))(t)
	for _, m := range Baselines() {
		p := must(Complete(m, Params{Lambda1: 0.05}))(t)
		r, err := Fit(t.Context(), m, train, p, Options{Tolerance: 1e-6})
		if err != nil {
			t.Errorf("%s: %v", m.Info().Name, err)
			continue
		}
		if r.Status != Converged || r.Gap > 1e-6*math.Abs(r.Objective) {
			t.Errorf("%s: %s with a gap of %v at %v", m.Info().Name, r.Status, r.Gap, r.Objective)
		}
		refitted := must(FitFixed(t.Context(), r.Omega, train, p.Lambda1, Options{Tolerance: 1e-12}))(t)
		near(t, m.Info().Name+", W", mat.Norm(refitted.W, 2), mat.Norm(r.W, 2), 1e-2)
	}
}

// Probabilities are as NumPy has them: p = 1/(1 + exp(-f/2)), p /= p.sum().
func TestProbabilitiesOfClasses(t *testing.T) {
	p := make([]float64, 3)
	Probabilities(p, []float64{1, -3, math.Inf(-1)}, 2)
	first, second := 1/(1+math.Exp(-0.5)), 1/(1+math.Exp(1.5))
	near(t, "p", p[0], first/(first+second), 1e-12)
	near(t, "p", p[1], second/(first+second), 1e-12)
	near(t, "p of what the task lacks", p[2], 0, 0)
	Probabilities(p, []float64{-800, -801, -900}, 1)
	near(t, "p of small scores", p[0], 1/(1+math.Exp(-1)), 1e-12)
}

func TestBadClasses(t *testing.T) {
	p := classesProblem(1, 8)
	for _, y := range []float64{-1, 4, 0.5, math.NaN()} {
		p.Tasks[1].TrainSet.Y[3] = y
		if _, err := Training(p); err == nil {
			t.Errorf("the class %v passes", y)
		}
	}
	for _, task := range p.Tasks {
		for j := range task.TrainSet.Y {
			task.TrainSet.Y[j] = 2
		}
	}
	if _, err := Training(p); err == nil {
		t.Error("tasks of one class pass")
	}
}
