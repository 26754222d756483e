package multitask

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

// splitFit fits a model by splitting, whatever the number of tasks.
func splitFit(t *testing.T, model proximal, problem *TrainingSet, p Params, opt Options) *Result {
	t.Helper()
	s := newSolver(problem, model, p, opt.Workers)
	if opt.Start != nil {
		s.begin(opt.Start)
	}
	r := &Result{Status: IterationLimit}
	c, err := s.split(t.Context(), model, opt, r)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.rel.open(); err != nil {
		t.Fatal(err)
	}
	c.fill(r, s)
	return r
}

// Fits that are split end where Newton's method ends: on random problems with both losses,
// with more features than tasks and fewer, of several classes, from zero and from elsewhere.
func TestSplitFitsAreFits(t *testing.T) {
	problems := map[string]*TrainingSet{}
	for seed, s := range append([]shape{
		{9, 14, 12, Square, true}, {9, 14, 12, Logistic, true}, {12, 5, 8, Square, false}, {12, 5, 8, Logistic, false},
	}, shapes...) {
		problems[fmt.Sprintf("%s, seed %d", s, seed)] = mustProblem(t, s.loss, samples(s, uint64(seed)))
	}
	var err error
	if problems["classes"], err = Training(classesProblem(3, 20), ""); err != nil {
		t.Fatal(err)
	}
	for what, problem := range problems {
		for _, name := range []string{"cmtl", "snr1", "mtrl", "ssnr2", "ssnr"} {
			for _, lambda1 := range []float64{1e-3, 0.05, 10} {
				model := registry[name].(proximal)
				p, err := Complete(model, Params{Lambda1: lambda1})
				if err != nil {
					t.Fatal(err)
				}
				want := mustFit(t, model, problem, p, Options{Tolerance: 1e-10})
				for _, start := range []*Result{nil, mustFit(t, registry["stl"], problem, Params{Lambda1: 0.1}, Options{})} {
					at := fmt.Sprintf("%s, %s, Lambda1 = %g, from %t", what, name, lambda1, start != nil)
					got := splitFit(t, model, problem, p, Options{Tolerance: 1e-6, MaxIterations: 300, Start: start})
					if got.Status != Converged || !(got.Gap <= 1e-6*got.Objective) {
						t.Errorf("%s: %s with gap %g of %g after %d iterations", at, got.Status, got.Gap, got.Objective, got.Iterations)
					}
					// The minimum is within the gap of either, as certificates claim.
					if slack := 1e-12 * want.Objective; got.Objective < want.Objective-want.Gap-slack || got.Objective-got.Gap > want.Objective+slack {
						t.Errorf("%s: the objective is %v with gap %g, that of Newton's method %v with gap %g", at, got.Objective, got.Gap, want.Objective, want.Gap)
					}
				}
			}
		}
	}
}

// Fits of many tasks are split, on the side of W that is smaller, and all of a result fits
// together.
func TestManyTasksAreSplit(t *testing.T) {
	for _, s := range []shape{{wide, wide + 10, 8, Logistic, true}, {wide + 10, wide, 8, Square, true}} {
		problem := mustProblem(t, s.loss, samples(s, 3))
		for _, name := range []string{"cmtl", "snr1", "mtrl", "ssnr2"} {
			r := mustFit(t, registry[name], problem, Params{Lambda1: 0.1}, Options{Tolerance: 1e-5})
			if _, split := newSolver(problem, registry[name], r.Params, 1).splits(); !split || r.Status != Converged {
				t.Errorf("%s, %s: split %t, %s with gap %g of %g", s, name, split, r.Status, r.Gap, r.Objective)
			}
			v := objective(t, registry[name], problem, r.W, r.B, &Covariance{Omega: r.Omega}, r.Params)
			near(t, fmt.Sprintf("%s, %s: objective", s, name), r.Objective, v.total, 1e-9)
			for i := 1; i < len(r.Trace); i++ {
				if r.Trace[i] > r.Trace[i-1] {
					t.Errorf("%s, %s: the objective rises to %v", s, name, r.Trace[i])
				}
			}
			again := mustFit(t, registry[name], problem, Params{Lambda1: 0.1}, Options{Tolerance: 1e-5, Workers: 3})
			if !mat.Equal(again.W, r.W) {
				t.Errorf("%s, %s: W depends on the workers", s, name)
			}
		}
	}
}

// TestProximal compares with points around the minimum, which are those of other S, and
// with spectrum where c is 0.
func TestProximal(t *testing.T) {
	const m = 6
	random := data.Stream(14, "proximal")
	draw := func() []float64 {
		e, err := Eigen(gramOf(normals(random, m*(m-1)), m, m-1))
		if err != nil {
			t.Fatal(err)
		}
		clip(e.Values)
		return e.Values
	}
	for _, name := range []string{"cmtl", "snr1", "snr2", "mtrl", "ssnr2"} {
		model := registry[name].(proximal)
		p, err := Complete(model, Params{Lambda1: 0.1})
		if err != nil {
			t.Fatal(err)
		}
		mu, other := make([]float64, m), make([]float64, m)
		for range 100 {
			s, c := draw(), math.Exp(2*random.NormFloat64()-1)
			value := func(mu []float64) float64 {
				sum := p.Lambda2 * model.value(mu, p)
				if p.Lambda2 == 0 {
					sum = model.value(mu, p) // 0 or +Inf
				}
				for i, v := range s {
					sum += p.Lambda1 / 2 * v / (mu[i] + c)
				}
				return sum
			}
			model.proximal(mu, s, c, p)
			least := value(mu)
			model.spectrum(other, draw(), p)
			for i := range other {
				other[i] = mu[i] + 1e-2*(other[i]-mu[i])
			}
			if v := value(other); !(least <= v+1e-12*math.Abs(v)) {
				t.Errorf("%s, c = %g: %v at %v and %v at %v", name, c, least, mu, v, other)
			}
			model.proximal(mu, s, 0, p)
			model.spectrum(other, s, p)
			nearMatrix(t, name, mat.NewVecDense(m, mu), mat.NewVecDense(m, other), 1e-9)
		}
	}
}
