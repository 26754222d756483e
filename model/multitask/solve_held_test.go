package multitask

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
)

// Fits with a given Omega end at the minimum: for every model that gives it, for full,
// singular and shifted covariances, from zero and from another fit, and of several classes.
func TestHeldFits(t *testing.T) {
	problems := map[string]*TrainingSet{}
	for i, s := range shapes {
		problems[fmt.Sprint(s)] = mustProblem(t, s.loss, samples(s, uint64(i)))
	}
	problems["classes"] = datatest.Must(Training(classesProblem(3, 20)))(t)
	for what, problem := range problems {
		m := problem.Tasks()
		random := data.Stream(5, "held")
		shifted := gramOf(normals(random, m), m, 1)
		addSym(shifted, 0.3, identity(m, 1))
		for i, model := range []Model{fixed(gramOf(normals(random, m*m), m, m), 0), fixed(gramOf(normals(random, m), m, 1), 0), fixed(shifted, 0), registry["stl"], registry["rmtl"]} {
			p := datatest.Must(Complete(model, batteryParams(model)))(t)
			opt := Options{Tolerance: 1e-12, MaxIterations: 100}
			want := mustFit(t, model, problem, p, opt)
			for _, workers := range []int{1, 3} {
				for _, start := range []*Result{nil, mustFit(t, registry["mtrl"], problem, batteryParams(registry["mtrl"]), Options{}), want} {
					opt.Start, opt.Workers = start, workers
					got := mustFit(t, model, problem, p, opt)
					at := fmt.Sprintf("%s, model %d, %d workers, from %t", what, i, workers, start != nil)
					if got.Status != Converged || got.Gap > 1e-12*got.Objective {
						t.Errorf("%s: %s with gap %g of %g", at, got.Status, got.Gap, got.Objective)
					}
					near(t, at+": objective", got.Objective, want.Objective, 1e-10)
					nearMatrix(t, at+": W", got.W, want.W, 1e-5)
					if start == nil && !mat.Equal(got.W, want.W) {
						t.Errorf("%s: W depends on the workers", at)
					}
				}
			}
		}
	}
}

// An Omega that is positive semidefinite up to the tolerance is fitted as its projection, and
// one of another scale is divided by its trace, by FitFixed as by Given.
func TestGivenOmegaHasOneMeaning(t *testing.T) {
	s := shape{3, 4, 15, Square, false}
	problem := mustProblem(t, s.loss, samples(s, 4))
	u := mat.NewVecDense(3, []float64{1 / math.Sqrt2, 1 / math.Sqrt2, 0})
	projected := mat.NewSymDense(3, []float64{0.25, -0.25, 0, -0.25, 0.25, 0, 0, 0, 0.5})
	want := datatest.Must(FitFixed(t.Context(), projected, problem, 0.1, Options{Tolerance: 1e-12}))(t)
	omega := mat.NewSymDense(3, nil)
	for what, c := range map[string]struct{ scale, low float64 }{
		"a negative eigenvalue within the tolerance": {1, -9e-10 * 0.5},
		"trace 3":       {3, 0},
		"trace 1/100":   {0.01, 0},
		"both of these": {3, -4e-10},
	} {
		omega.SymRankOne(projected, c.low, u)
		omega.ScaleSym(c.scale, omega)
		given := datatest.Must(Given(omega))(t)
		for _, got := range []*Result{
			datatest.Must(FitFixed(t.Context(), omega, problem, 0.1, Options{Tolerance: 1e-12}))(t),
			mustFit(t, given, problem, Params{Lambda1: 0.1}, Options{Tolerance: 1e-12}),
		} {
			if got.Status != Converged || !(got.Gap >= 0) {
				t.Errorf("%s: %s with gap %g", what, got.Status, got.Gap)
			}
			near(t, what+": objective", got.Objective, want.Objective, 1e-8)
			nearMatrix(t, what+": W", got.W, want.W, 1e-6)
			nearMatrix(t, what+": Omega", got.Omega, projected, 1e-8)
		}
	}
}

// A given Omega has to be of the problem's tasks.
func TestGivenOmegaOfOtherTasks(t *testing.T) {
	s := shape{3, 4, 15, Square, false}
	problem := mustProblem(t, s.loss, samples(s, 4))
	given := datatest.Must(Given(identity(2, 1)))(t)
	datatest.Refused(Fit(t.Context(), given, problem, Params{Lambda1: 0.1}, Options{}))(t, ErrInvalidOmega, "for 2 tasks; there are 3")
	datatest.Refused(Given(nil))(t, ErrInvalidOmega)
}
