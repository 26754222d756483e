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
)

// drawnTerm is that of intercepts drawn together, at the best common ones, from its definition.
func drawnTerm(problem *TrainingSet, b []float64, drawn float64) (total float64) {
	k, c := problem.classes, map[Loss]float64{Square: 2, Logistic: 0.25}[problem.loss]
	for class := range k {
		own, weight := make([]float64, len(b)/k), make([]float64, len(b)/k)
		for i := range own {
			n := 0
			for _, t := range problem.tasks[i*k:][:k] {
				n = max(n, len(t.y))
			}
			own[i], weight[i] = b[i*k+class], drawn*c/float64(n)
		}
		total += floats.Sum(weight) / 2 * stat.PopVariance(own, weight)
	}
	return total
}

// A fit with intercepts drawn together is the minimum of its objective, which its gap says
// it is: no move of the weights or the intercepts goes lower.
func TestDrawnIntercepts(t *testing.T) {
	classes := must(Training(classesProblem(3, 24), ""))(t)
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
				return objective(t, fixed(omega, 0), problem, w, b, &Covariance{Omega: omega}, Params{Lambda1: 0.05}).total + drawnTerm(problem, b, drawn)
			}
			least := at(0)
			near(t, "objective", r.Objective, least, 1e-7*least)
			for range 20 {
				if by := at(1e-4); by < least-1e-9*least {
					t.Errorf("problem %d, drawn %g: %g, and %g nearby", k, drawn, least, by)
				}
			}
			for i, b := range r.B {
				if drawn == 1e-8 && !math.IsInf(own.B[i], 0) {
					near(t, fmt.Sprint("free intercept of problem ", k), b, own.B[i], 1e-4)
				} else if drawn == OneIntercept {
					near(t, "one intercept", b, r.B[i%problem.classes], 1e-6)
				}
			}
			if r.Status != Converged {
				t.Errorf("problem %d, drawn %g: %s", k, drawn, r.Status)
			}
		}
	}
}
