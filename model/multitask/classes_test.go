package multitask

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/datatest"
)

// classesProblem has three tasks over four classes: all of them, the first three,
// and the last three. Classes are around centres that the tasks share in part.
func classesProblem(seed uint64, n int) *data.ProblemData {
	const d = 5
	random := data.Stream(seed, "classes")
	p := &data.ProblemData{Problem: &data.Problem{Name: "classes", Classes: []string{"a", "b", "c", "d"}}}
	centre := make([][]float64, 4)
	for c := range centre {
		centre[c] = datatest.Normals[float64](random, d)
	}
	for i, have := range [][]int{{0, 1, 2, 3}, {0, 1, 2}, {1, 2, 3}} {
		own := datatest.Normals[float64](random, 4*d)
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
	train := datatest.Must(Training(p))(t)
	omega := gramOf(datatest.Normals[float64](data.Stream(1, "omega"), 9), 3, 3)
	r := datatest.Must(FitFixed(t.Context(), omega, train, 0.1, Options{Tolerance: 1e-13}))(t)
	sum := 0.0
	for c := range 4 {
		part, tasks, of := oneAgainstRest(t, p, c, omega)
		alone := datatest.Must(Training(part))(t)
		want := datatest.Must(FitFixed(t.Context(), of, alone, 0.1*mat.Trace(omega)/mat.Trace(of), Options{Tolerance: 1e-13}))(t)
		sum += want.Objective
		for a, i := range tasks {
			scores := r.Scores(i, p.Tasks[i].TestSet.X)
			for j, f := range want.Scores(a, p.Tasks[i].TestSet.X) {
				near(t, fmt.Sprintf("class %d, task %d, score %d", c, i, j), scores[4*j+c], f, 1e-5)
			}
		}
	}
	near(t, "objective", r.Objective, sum, 1e-9)
}

// A task that lacks a class has the intercept to which those of the others are drawn, at the odds
// of half a row, in every model. Weights are as they were. Where classes count the same there are
// no odds.
func TestClassesThatTasksLack(t *testing.T) {
	datatest.Long(t)
	p := classesProblem(4, 24)
	for i := range p.Tasks[:2] { // tasks of unlike sizes
		s := &p.Tasks[i].TrainSet
		s.X, s.Y = s.X.Take([]int{0, 1, 2, 3, 4, 5, 6, 7}), s.Y[:8]
	}
	train, omega := datatest.Must(Training(p))(t), gramOf(datatest.Normals[float64](data.Stream(1, "omega"), 9), 3, 3)
	d, a := 1*4+3, 2*4+0 // class d in task 1, a in task 2
	odds := map[int]float64{d: math.Log(0.5 / 8.5 / (10.5 / 22.5)), a: math.Log(0.5 / 24.5 / (5.5 / 11.5))}
	none := map[int]float64{}
	given := Params{Lambda1: 0.1}
	fit := func(model Model, p Params) *Result { return mustFit(t, model, train, p, Options{Tolerance: 1e-11}) }
	check := func(what string, r *Result, odds map[int]float64) {
		near(t, what+", class d", r.B[d]-odds[d], (r.B[0*4+3]/8+r.B[2*4+3]/24)/(1.0/8+1.0/24), 1e-9)
		near(t, what+", class a", r.B[a]-odds[a], (r.B[0*4+0]+r.B[1*4+0])/2, 1e-9)
	}
	for _, m := range Baselines() {
		check(m.Info().Name, mustFit(t, m, train, datatest.Must(Complete(m, Params{Lambda1: 0.05}))(t), Options{}), odds)
	}
	own, drawn := fit(fixed(omega, 0), given), fit(fixed(omega, 1e-7), given)
	check("given", own, odds)
	for i, b := range drawn.B {
		near(t, fmt.Sprint("intercept next to drawn ", i), own.B[i]-odds[i], b, 1e-4)
	}
	near(t, "weights", mat.Norm(own.W, 2), mat.Norm(drawn.W, 2), 1e-4)
	check("balanced", fit(datatest.Must(GivenWith(omega, 0, true))(t), given), none)
}

// Tasks that have no class in common, as targets of a table, do not take classes from each other,
// nor is there one that no task has.
func TestClassesThatTasksCannotHave(t *testing.T) {
	p := classesProblem(4, 24)
	p.Problem.Classes = append(p.Problem.Classes, "e", "f", "nowhere")
	for j, y := range p.Tasks[2].TrainSet.Y {
		p.Tasks[2].TrainSet.Y[j] = min(2, y) + 3 // e and f
	}
	p.Tasks[0].TrainSet = p.Tasks[1].TrainSet // a, b, c
	empty := p.Tasks[0]                       // which may be of any class that there is
	empty.TrainSet = data.Samples{X: empty.TrainSet.X.Take(nil)}
	p.Tasks = append(p.Tasks, empty)
	for _, drawn := range []float64{0, 3} {
		r := mustFit(t, fixed(Uniform(4), drawn), datatest.Must(Training(p))(t), Params{Lambda1: 0.1}, Options{})
		for i, b := range r.B {
			of := []string{"abc", "abc", "ef", "abcef"}[i/7]
			if has := strings.Contains(of, string(rune('a'+i%7))); has == math.IsInf(b, -1) {
				t.Errorf("intercepts drawn by %v rows: that of class %d in task %d is %v", drawn, i%7, i/7, b)
			}
		}
	}
}

// Every model fits classes to its certificate, and Omega is that of its step for
// the blocks of W together.
func TestModelsFitClasses(t *testing.T) {
	datatest.Long(t)
	train := datatest.Must(Training(classesProblem(2, 20)))(t)
	for _, m := range Baselines() {
		p := datatest.Must(Complete(m, Params{Lambda1: 0.05}))(t)
		r, err := Fit(t.Context(), m, train, p, Options{Tolerance: 1e-6})
		if err != nil {
			t.Errorf("%s: %v", m.Info().Name, err)
			continue
		}
		datatest.Holds(t, r.Status == Converged && r.Gap <= 1e-6*math.Abs(r.Objective),
			"%s: %s with a gap of %v at %v", m.Info().Name, r.Status, r.Gap, r.Objective)
		refitted := datatest.Must(FitFixed(t.Context(), r.Omega, train, p.Lambda1/mat.Trace(r.Omega), Options{Tolerance: 1e-12}))(t)
		near(t, m.Info().Name+", W", mat.Norm(refitted.W, 2), mat.Norm(r.W, 2), 1e-2)
	}
}

func TestBadClasses(t *testing.T) {
	p := classesProblem(1, 8)
	for _, y := range []float64{-1, 4, 0.5, math.NaN()} {
		p.Tasks[1].TrainSet.Y[3] = y
		_, err := Training(p)
		datatest.Holds(t, err != nil, "the class %v passes", y)
	}
	for _, task := range p.Tasks {
		for j := range task.TrainSet.Y {
			task.TrainSet.Y[j] = 2
		}
	}
	datatest.Refused(Training(p))(t, nil)
}

// drawnTerm is that of intercepts drawn together, at the best common ones, from its definition.
func drawnTerm(problem *TrainingSet, b []float64, drawn float64) (total float64) {
	k, c := problem.classes, map[Loss]float64{Square: 2, Logistic: 0.25}[problem.loss]
	for class := range k {
		own, weight := make([]float64, len(b)/k), make([]float64, len(b)/k)
		for i := range own {
			own[i], weight[i] = b[i*k+class], drawn*c*problem.tasks[i*k].share
		}
		mean, variance := stat.PopMeanVariance(own, weight)
		if problem.pairs {
			variance += mean * mean
		}
		total += floats.Sum(weight) / 2 * variance
	}
	return total
}

// borrowing is a problem with tasks of one row, of one class and without rows, and two that
// have enough.
func borrowing(t *testing.T, loss Loss) *TrainingSet {
	t.Helper()
	tasks := samples(shape{5, 6, 60, loss, false}, 3)
	for i, n := range []int{1, 7, 0} {
		tasks[i].X, tasks[i].Y = tasks[i].X.Take([]int{0, 1, 2, 3, 4, 5, 6}[:n]), tasks[i].Y[:n]
		for j := range tasks[i].Y {
			tasks[i].Y[j] = tasks[i].Y[0]
		}
	}
	return mustProblem(t, loss, tasks)
}

// Tasks that cannot tell their intercept borrow it, whatever the model: fits are certified,
// a task without rows has what the others say of it, and those that have rows enough hardly
// hear of the others.
func TestTasksThatBorrow(t *testing.T) {
	datatest.Long(t)
	for _, loss := range []Loss{Square, Logistic} {
		problem := borrowing(t, loss)
		for _, name := range Names() {
			if name == "spats-literal" || name == "amtl-literal" {
				continue
			}
			r := mustFit(t, datatest.Must(Lookup(name))(t), problem, Params{Lambda1: 0.05}, Options{Tolerance: 1e-6})
			datatest.Holds(t, r.Status != IterationLimit && !floats.HasNaN(rowsOf(r.W)) && !floats.HasNaN(r.B) && !math.IsInf(floats.Sum(r.B), 0),
				"%s, %s: %s, b %v", loss, name, r.Status, r.B)
		}
		omega := Uniform(5)
		for i := range 5 {
			for j := range i {
				omega.SetSym(i, j, 0.18)
			}
		}
		r := mustFit(t, fixed(omega, 0), problem, Params{Lambda1: 0.05}, Options{})
		others := *problem
		others.tasks, others.fewer = problem.tasks[3:], func() *TrainingSet { return &others }
		without := mustFit(t, fixed(omega.SliceSym(3, 5).(*mat.SymDense), 1), &others, Params{Lambda1: 0.05}, Options{})
		for i := range 2 {
			var apart mat.VecDense
			apart.SubVec(r.W.ColView(3+i), without.W.ColView(i))
			if far := mat.Norm(&apart, 2) / mat.Norm(without.W.ColView(i), 2); far > 0.14 {
				t.Errorf("%s: the weights of task %d are %.2f from those without the others", loss, 3+i, far)
			}
		}
		var rest, want mat.VecDense
		at := []int{0, 1, 3, 4}
		w, of, to := mat.NewDense(problem.cols, 4, nil), mat.NewSymDense(4, nil), mat.NewVecDense(4, nil)
		for i, a := range at {
			w.SetCol(i, mat.Col(nil, a, r.W))
			to.SetVec(i, omega.At(2, a))
			for j, b := range at {
				of.SetSym(i, j, omega.At(a, b))
			}
		}
		datatest.Check(t, rest.SolveVec(of, to))
		want.MulVec(w, &rest)
		datatest.Holds(t, mat.EqualApprox(&want, r.W.ColView(2), 1e-6),
			"%s: a task without rows has the weights %v, want %v", loss, mat.Formatted(r.W.ColView(2)), mat.Formatted(&want))
	}
}

// A fit with intercepts drawn together is the minimum of its objective, which its gap says
// it is: no move of the weights or the intercepts goes lower.
func TestDrawnIntercepts(t *testing.T) {
	datatest.Long(t)
	classes := datatest.Must(Training(classesProblem(3, 24)))(t)
	problems := []*TrainingSet{classes}
	for i, s := range []shape{{4, 3, 200, Square, false}, {4, 6, 9, Square, false}, {3, 80, 6, Square, false}, {4, 6, 30, Logistic, false}, {3, 80, 6, Logistic, false}, {4, 50, 30, Logistic, true}} {
		tasks := samples(s, uint64(i))
		for j := range tasks[0].Y {
			if s.loss == Square {
				tasks[0].Y[j] += 5
			}
		}
		problems = append(problems, mustProblem(t, s.loss, tasks))
	}
	pairs := mustProblem(t, Logistic, samples(shape{4, 6, 30, Logistic, false}, 3))
	pairs.pairs = true
	problems = append(problems, borrowing(t, Square), borrowing(t, Logistic), pairs)
	random := data.Stream(1, "drawn")
	for k, problem := range problems {
		m := problem.Tasks()
		omega := gramOf(datatest.Normals[float64](random, m*m), m, m)
		for i := range m {
			omega.SetSym(i, i, omega.At(i, i)+0.5)
		}
		own := mustFit(t, fixed(omega, 0), problem, Params{Lambda1: 0.05}, Options{Tolerance: 1e-13})
		for _, drawn := range []float64{1e-8, 2, 50, OneIntercept} {
			r := mustFit(t, fixed(omega, drawn), problem, Params{Lambda1: 0.05}, Options{Tolerance: 1e-13, Workers: 2})
			at := func(by float64) float64 {
				w, b := mat.DenseCopyOf(r.W), slices.Clone(r.B)
				add(by, datatest.Normals[float64](random, len(w.RawMatrix().Data)), w.RawMatrix().Data)
				for i, shift := range datatest.Normals[float64](random, len(b)) {
					if b[i] += by * shift; drawn == OneIntercept {
						b[i] = r.B[i] + by
					}
				}
				return objective(t, fixed(omega, 0), problem, w, b, &Covariance{Omega: omega}, Params{Lambda1: 0.05}).Objective + drawnTerm(problem, b, drawn)
			}
			here := at(0)
			near(t, "objective", r.Objective, here, 1e-7*here)
			for range 20 {
				by := at(1e-4)
				datatest.Holds(t, by >= here-1e-9*here, "problem %d, drawn %g: %g, and %g nearby", k, drawn, here, by)
			}
			for i, b := range r.B {
				if drawn == 1e-8 && !problem.tasks[0].borrows && len(problem.tasks[i].y) > 0 {
					near(t, fmt.Sprint("free intercept of problem ", k), b, own.B[i], 1e-4)
				} else if drawn == OneIntercept && !problem.pairs {
					near(t, "one intercept", b, r.B[i%problem.classes], 1e-6)
				}
			}
			datatest.Equal(t, r.Status, Converged, "problem %d, drawn %g", k, drawn)
		}
	}
}

// TestFewerRowsHaveTheSameLoss compares the loss and bias of regressions of many rows
// with those of the few rows that stand for them.
func TestFewerRowsHaveTheSameLoss(t *testing.T) {
	for _, sparse := range []bool{false, true} {
		s := shape{3, 4, 40, Square, sparse}
		problem := mustProblem(t, s.loss, samples(s, 5))
		few := problem.fewerRows()
		datatest.Need(t, len(few.tasks[2].y) == s.d+2,
			"%v: not condensed to %d rows a task: %+v", s, s.d+2, few)
		var at [2]*ridge
		for i, p := range []*TrainingSet{problem, few} {
			at[i] = newRidge(p, nil, 1, Params{}, 1)
			copy(at[i].w, datatest.Normals[float64](data.Stream(5, "rows"), s.m*s.d))
			at[i].predict(&at[i].point)
			at[i].differentiate()
		}
		near(t, "loss", at[1].loss, at[0].loss, 1e-12)
		nearMatrix(t, "biases", mat.NewVecDense(s.m, at[1].b[:s.m]), mat.NewVecDense(s.m, at[0].b[:s.m]), 1e-12)
		nearMatrix(t, "gradient", mat.NewVecDense(s.m*s.d, at[1].slopes), mat.NewVecDense(s.m*s.d, at[0].slopes), 1e-12)
	}
}
