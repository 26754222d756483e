package multitask

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/datatest"
)

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
	for _, loss := range []Loss{Square, Logistic} {
		problem := borrowing(t, loss)
		for _, name := range Names() {
			if name == "spats-literal" || name == "amtl-literal" {
				continue
			}
			r := mustFit(t, datatest.Must(Lookup(name))(t), problem, Params{Lambda1: 0.05}, Options{Tolerance: 1e-6})
			if r.Status == IterationLimit || floats.HasNaN(rowsOf(r.W)) || floats.HasNaN(r.B) || math.IsInf(floats.Sum(r.B), 0) {
				t.Errorf("%s, %s: %s, b %v", loss, name, r.Status, r.B)
			}
		}
		omega := Uniform(5)
		for i := range 5 {
			for j := range i {
				omega.SetSym(i, j, 0.18)
			}
		}
		r := mustFit(t, fixed(omega, 0), problem, Params{Lambda1: 0.05}, Options{})
		others := *problem
		others.tasks, others.view = problem.tasks[3:], func() *TrainingSet { return &others }
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
		if !mat.EqualApprox(&want, r.W.ColView(2), 1e-6) {
			t.Errorf("%s: a task without rows has the weights %v, want %v", loss, mat.Formatted(r.W.ColView(2)), mat.Formatted(&want))
		}
	}
}

// A fit with intercepts drawn together is the minimum of its objective, which its gap says
// it is: no move of the weights or the intercepts goes lower.
func TestDrawnIntercepts(t *testing.T) {
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
		omega := gramOf(normals(random, m*m), m, m)
		for i := range m {
			omega.SetSym(i, i, omega.At(i, i)+0.5)
		}
		own := mustFit(t, fixed(omega, 0), problem, Params{Lambda1: 0.05}, Options{Tolerance: 1e-13})
		for _, drawn := range []float64{1e-8, 2, 50, OneIntercept} {
			r := mustFit(t, fixed(omega, drawn), problem, Params{Lambda1: 0.05}, Options{Tolerance: 1e-13, Workers: 2})
			at := func(by float64) float64 {
				w, b := mat.DenseCopyOf(r.W), slices.Clone(r.B)
				add(by, normals(random, len(w.RawMatrix().Data)), w.RawMatrix().Data)
				for i, shift := range normals(random, len(b)) {
					if b[i] += by * shift; drawn == OneIntercept {
						b[i] = r.B[i] + by
					}
				}
				return objective(t, fixed(omega, 0), problem, w, b, &Covariance{Omega: omega}, Params{Lambda1: 0.05}).Objective + drawnTerm(problem, b, drawn)
			}
			here := at(0)
			near(t, "objective", r.Objective, here, 1e-7*here)
			for range 20 {
				if by := at(1e-4); by < here-1e-9*here {
					t.Errorf("problem %d, drawn %g: %g, and %g nearby", k, drawn, here, by)
				}
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
