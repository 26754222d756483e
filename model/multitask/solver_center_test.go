package multitask

import (
	"math"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"

	"gonum.org/v1/gonum/mat"
)

// small draws a small problem: fewer features than tasks, or more, and strong and
// weak regularisation.
func small(seed uint64) (s shape, tasks []data.Samples, p Params) {
	r := data.Stream(seed, "small")
	s = shape{1 + r.IntN(8), 1 + r.IntN(12), 5 + r.IntN(20), []Loss{Square, Logistic}[r.IntN(2)], r.IntN(4) == 0}
	p = Params{Lambda1: math.Pow(10, -4+4*r.Float64()), Lambda2: math.Pow(10, -3+4*r.Float64())}
	return s, samples(s, seed), p
}

// TestSPATSCertifies on many small problems, among them one feature for four
// tasks.
func TestSPATSCertifies(t *testing.T) {
	datatest.Long(t)
	check := func(what any, problem *TrainingSet, p Params) {
		t.Helper()
		r := mustFit(t, spats{}, problem, p, Options{Tolerance: 1e-7, MaxIterations: 100})
		if r.Status != Converged {
			t.Errorf("%v, %+v: %s with gap %g of %g after %d iterations", what, p, r.Status, r.Gap, r.Objective, r.Iterations)
		}
	}
	thin := shape{4, 1, 10, Logistic, false}
	check(thin, mustProblem(t, Logistic, samples(thin, 1)), Params{Lambda1: 0.01, Lambda2: 0.1})
	for seed := range uint64(60) {
		s, tasks, p := small(seed)
		check([]any{seed, s}, mustProblem(t, s.loss, tasks), p)
	}
}

// TestSPATSAgainstSearch compares fits of two tasks with a search over all Omega
// of trace 1, of which W and b are fitted to each.
func TestSPATSAgainstSearch(t *testing.T) {
	datatest.Long(t)
	for seed := range uint64(4) {
		_, _, p := small(seed)
		s := shape{2, 3, 12, Logistic, false}
		problem := mustProblem(t, s.loss, samples(s, seed))
		at := func(a, c float64) float64 {
			r, err := FitFixed(t.Context(), mat.NewSymDense(2, []float64{a, c, c, 1 - a}), problem, p.Lambda1, Options{Tolerance: 1e-12})
			if err != nil {
				t.Fatal(err)
			}
			return r.Objective + p.Lambda2*(1+2*math.Abs(c))
		}
		want := least(1e-9, 1-1e-9, func(a float64) float64 {
			edge := math.Sqrt(a*(1-a)) * (1 - 1e-9)
			return least(-edge, edge, func(c float64) float64 { return at(a, c) })
		})
		r := mustFit(t, spats{}, problem, p, Options{})
		near(t, "objective", r.Objective, want, 1e-7)
	}
}

// least is the minimum of a convex function, by golden section.
func least(low, high float64, f func(float64) float64) float64 {
	ratio := (math.Sqrt(5) - 1) / 2
	a, b := high-ratio*(high-low), low+ratio*(high-low)
	fa, fb := f(a), f(b)
	for range 45 {
		if fa < fb {
			high, b, fb = b, a, fa
			a = high - ratio*(high-low)
			fa = f(a)
		} else {
			low, a, fa = a, b, fb
			b = low + ratio*(high-low)
			fb = f(b)
		}
	}
	return min(fa, fb)
}

// TestCenterIsStationary: no Omega nearby has a lower value, for the same W.
func TestCenterIsStationary(t *testing.T) {
	r := data.Stream(2, "center")
	const m = 5
	p := Params{Lambda1: 0.3, Lambda2: 0.05}
	x, err := newCenter(m).at(gramOf(normals(r, m*3), m, 3), 1e-4, p)
	if err != nil {
		t.Fatal(err)
	}
	_, here := x.value()
	c := mat.NewSymDense(m, nil)
	for i, v := range x.c {
		c.SetSym(i, i, v)
	}
	for trial := range 20 {
		d := gramOf(normals(r, m*m), m, m)
		// A change that keeps the trace, in the coordinates of the center.
		turned := symmetrised(triple(x.inverse, d, x.inverse.T()), 1)
		addSym(turned, -mat.Trace(d), identity(m, 1))
		turned.ScaleSym(math.Pow(10, -float64(trial%4)-1)/mat.Norm(turned, 2), turned)
		e, err := Eigen(turned)
		if err != nil {
			t.Fatal(err)
		}
		other, err := x.moved(e, 1, c, -0.5)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "trace", mat.Trace(other.omega), 1, 1e-12)
		if _, there := other.value(); there < here-1e-12 {
			t.Errorf("trial %d: the function falls from %.15g to %.15g", trial, here, there)
		}
	}
}

// TestMoreIsNotLess: a fit asked for more accuracy ends with no larger a gap.
func TestMoreIsNotLess(t *testing.T) {
	datatest.Long(t)
	for _, model := range []Model{registry["mtrl"], registry["snr1"], spats{}} {
		for seed := range uint64(12) {
			s, tasks, p := small(seed)
			if model.Info().Name == "mtrl" {
				p.Lambda2 = 0
			}
			problem := mustProblem(t, s.loss, tasks)
			some, more := mustFit(t, model, problem, p, Options{}), mustFit(t, model, problem, p, Options{Tolerance: 1e-12})
			if more.Gap > some.Gap || more.Objective > some.Objective {
				t.Errorf("%s, seed %d: asked for 1e-8 the gap is %g, for 1e-12 %g; the objective %.16g and %.16g", model.Info().Name, seed, some.Gap, more.Gap, some.Objective, more.Objective)
			}
		}
	}
}
