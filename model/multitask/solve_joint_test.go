package multitask

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
)

// Fits of many tasks and of few, with more features than tasks and fewer, of several classes,
// from zero and from elsewhere, are certified, and all of a result fits together.
func TestJointFits(t *testing.T) {
	problems := map[string]*TrainingSet{}
	for seed, s := range append([]shape{
		{40, 46, 8, Logistic, true}, {46, 40, 8, Square, true},
		{9, 14, 12, Square, true}, {9, 14, 12, Logistic, true}, {12, 5, 8, Square, false}, {12, 5, 8, Logistic, false},
	}, shapes...) {
		problems[fmt.Sprintf("%s, seed %d", s, seed)] = mustProblem(t, s.loss, samples(s, uint64(seed)))
	}
	problems["classes"] = datatest.Must(Training(classesProblem(3, 20)))(t)
	for what, problem := range problems {
		if testing.Short() && what != "classes" { // with which the race detector is run
			continue
		}
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			for _, name := range []string{"cmtl", "snr1", "mtrl", "ssnr2", "ssnr"} {
				for _, lambda1 := range []float64{1e-3, 0.05, 10} {
					p := Params{Lambda1: lambda1}
					lowest, highest := math.Inf(-1), math.Inf(1)
					for _, start := range []*Result{nil, mustFit(t, registry["stl"], problem, Params{Lambda1: 0.1}, Options{})} {
						at := fmt.Sprintf("%s, Lambda1 = %g, from %t", name, lambda1, start != nil)
						r := mustFit(t, registry[name], problem, p, Options{Tolerance: 1e-6, Start: start})
						if r.Status != Converged || !(r.Gap <= 1e-6*r.Objective) {
							t.Errorf("%s: %s with gap %g of %g after %d iterations", at, r.Status, r.Gap, r.Objective, r.Iterations)
						}
						lowest, highest = max(lowest, r.Objective-r.Gap), min(highest, r.Objective)
						if problem.classes == 1 {
							v := objective(t, registry[name], problem, r.W, r.B, &Covariance{Omega: r.Omega}, r.Params)
							near(t, at+": objective", v.Objective, r.Objective, 1e-8)
						}
						if start == nil {
							again := mustFit(t, registry[name], problem, p, Options{Tolerance: 1e-6, Workers: 3})
							if !mat.Equal(again.W, r.W) {
								t.Errorf("%s: W depends on the workers", at)
							}
						}
					}
					if lowest > highest*(1+1e-12) {
						t.Errorf("%s, Lambda1 = %g: one fit reaches %v, the other proves %v", name, lambda1, highest, lowest)
					}
				}
			}
		})
	}
}

// Steps under a shift are minima: compared with points around them, which are those of
// other S, and with the step itself where the shift is small.
func TestShiftedSteps(t *testing.T) {
	datatest.Long(t)
	const m, d = 6, 4
	random := data.Stream(14, "shifted")
	draw := func() *mat.SymDense { return gramOf(normals(random, m*(m-1)), m, m-1) }
	for _, name := range []string{"cmtl", "snr1", "snr2", "mtrl", "ssnr2", "spats", "spats-literal"} {
		model := registry[name]
		p := datatest.Must(Complete(model, Params{Lambda1: 0.1}))(t)
		step := func(s *mat.SymDense, c float64) *Covariance {
			return datatest.Must(model.Step(s, d, p, Hint{Shift: c}))(t)
		}
		for range 30 {
			s, c := draw(), math.Exp(2*random.NormFloat64()-1)
			value := func(cov *Covariance) float64 {
				moved := identity(m, c)
				addSym(moved, 1, cov.Omega)
				v := p.Lambda1 / 2 * datatest.Must(traceTerm(s, &Covariance{Omega: moved}, 0))(t)
				if g := model.G(&Covariance{Omega: cov.Omega}, d, p); g != 0 {
					v += p.Lambda2 * g
				}
				return v
			}
			at := step(s, c)
			least, blend := value(at), identity(m, 0)
			addSym(blend, 0.99, at.Omega)
			addSym(blend, 0.01, step(draw(), c).Omega)
			if v := value(&Covariance{Omega: blend}); !(least-at.Gap <= v+1e-8*math.Abs(v)) {
				t.Errorf("%s, c = %g: %v at the step and %v beside it", name, c, least, v)
			}
			nearMatrix(t, name, step(s, 1e-9).Omega, step(s, 0).Omega, 1e-3)
		}
	}
}

// skewed is a model whose g or whose support is off by a constant, so that they contradict
// each other.
type skewed struct {
	Convex
	g, support float64
}

func (s skewed) G(c *Covariance, d int, p Params) float64 { return s.Convex.G(c, d, p) - s.g }

func (s skewed) Support(t *mat.SymDense, c *Covariance, p Params) float64 {
	return s.Convex.Support(t, c, p) - s.support
}

// A lower bound above the objective is no certificate.
func TestContradictionsAreNoCertificates(t *testing.T) {
	s := shape{4, 5, 15, Logistic, false}
	problem := mustProblem(t, s.loss, samples(s, 6))
	for _, name := range []string{"mtrl", "snr1", "ssnr2", "cmtl"} {
		model := registry[name].(Convex)
		for _, wrong := range []skewed{{model, 5, 0}, {model, 0.5, 0}, {model, 0, 0.5}, {model, 0, 1e-4}} {
			datatest.Refused(Fit(t.Context(), wrong, problem, Params{Lambda1: 0.05, Lambda2: 0.1}, Options{}))(t, nil, "contradict", name)
		}
		if r := mustFit(t, skewed{Convex: model}, problem, Params{Lambda1: 0.05}, Options{}); r.Status != Converged || !(r.Gap >= 0) {
			t.Errorf("%s as it is: %s with gap %g", name, r.Status, r.Gap)
		}
	}
}

// negative is a model whose Omega steps return what is no covariance.
type negative struct{ Model }

func (n negative) Step(s *mat.SymDense, _ int, _ Params, _ Hint) (*Covariance, error) {
	return &Covariance{Omega: identity(s.SymmetricDim(), -1)}, nil
}

// An Omega step that is not positive semidefinite is no certificate either.
func TestNegativeStepsAreNoCertificates(t *testing.T) {
	s := shape{4, 5, 15, Square, false}
	problem := mustProblem(t, s.loss, samples(s, 6))
	datatest.Refused(Fit(t.Context(), negative{registry["glmtl"]}, problem, Params{Lambda1: 0.05}, Options{}))(t, nil, "contradict")
}
