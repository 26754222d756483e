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
						datatest.Holds(t, r.Status == Converged && r.Gap <= 1e-6*r.Objective,
							"%s: %s with gap %g of %g after %d iterations", at, r.Status, r.Gap, r.Objective, r.Iterations)
						lowest, highest = max(lowest, r.Objective-r.Gap), min(highest, r.Objective)
						if problem.classes == 1 {
							v := objective(t, registry[name], problem, r.W, r.B, &Covariance{Omega: r.Omega}, r.Params)
							near(t, at+": objective", v.Objective, r.Objective, 1e-8)
						}
						if start == nil && lambda1 == 0.05 {
							again := mustFit(t, registry[name], problem, p, Options{Tolerance: 1e-6, Workers: 3})
							datatest.Holds(t, mat.Equal(again.W, r.W), "%s: W depends on the workers", at)
						}
					}
					datatest.Holds(t, lowest <= highest*(1+1e-12),
						"%s, Lambda1 = %g: one fit reaches %v, the other proves %v", name, lambda1, highest, lowest)
				}
			}
		})
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
		r := mustFit(t, skewed{Convex: model}, problem, Params{Lambda1: 0.05}, Options{})
		datatest.Holds(t, r.Status == Converged && r.Gap >= 0, "%s as it is: %s with gap %g", name, r.Status, r.Gap)
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
		shifted := gramOf(datatest.Normals[float64](random, m), m, 1)
		addSym(shifted, 0.3, identity(m, 1))
		for i, model := range []Model{fixed(gramOf(datatest.Normals[float64](random, m*m), m, m), 0), fixed(gramOf(datatest.Normals[float64](random, m), m, 1), 0), fixed(shifted, 0), registry["stl"], registry["rmtl"]} {
			p := datatest.Must(Complete(model, batteryParams(model)))(t)
			opt := Options{Tolerance: 1e-12, MaxIterations: 100}
			want := mustFit(t, model, problem, p, opt)
			for _, workers := range []int{1, 3} {
				for _, start := range []*Result{nil, mustFit(t, registry["mtrl"], problem, batteryParams(registry["mtrl"]), Options{}), want} {
					opt.Start, opt.Workers = start, workers
					got := mustFit(t, model, problem, p, opt)
					at := fmt.Sprintf("%s, model %d, %d workers, from %t", what, i, workers, start != nil)
					datatest.Holds(t, got.Status == Converged && got.Gap <= 1e-12*got.Objective,
						"%s: %s with gap %g of %g", at, got.Status, got.Gap, got.Objective)
					near(t, at+": objective", got.Objective, want.Objective, 1e-10)
					nearMatrix(t, at+": W", got.W, want.W, 1e-5)
					datatest.Holds(t, start != nil || mat.Equal(got.W, want.W), "%s: W depends on the workers", at)
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
			datatest.Holds(t, got.Status == Converged && got.Gap >= 0,
				"%s: %s with gap %g", what, got.Status, got.Gap)
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

// TestAMTLStepAgainstSupports compares the step with the least value over all
// patterns of zeros and signs, on singular W'W: fewer features than tasks, and
// columns that repeat. A minimum with independent columns always exists.
func TestAMTLStepAgainstSupports(t *testing.T) {
	datatest.Long(t)
	check := func(what string, w *mat.Dense, p Params) {
		t.Helper()
		d, m := w.Dims()
		p = datatest.Must(Complete(registry["amtl"], p))(t)
		s := gram(rowsOf(w), m)
		c := datatest.Must(registry["amtl"].Step(s, d, p, Hint{}))(t)
		got, want := p.Lambda2*norm1(c.A), 0.0
		var rest mat.Dense
		rest.Mul(w, c.A)
		rest.Sub(w, &rest)
		got += p.Lambda1 / 2 * math.Pow(mat.Norm(&rest, 2), 2)
		for j := range m {
			want += leastLasso(s, j, p)
		}
		near(t, what, got, want, 1e-9)
	}
	check("W = [1 2 3]", mat.NewDense(1, 3, []float64{1, 2, 3}), Params{Lambda1: 1, Lambda2: 1e-4})
	random := data.Stream(1, "lasso")
	for range 100 {
		m := 2 + random.IntN(3)
		d := 1 + random.IntN(m)
		w := mat.NewDense(d, m, datatest.Normals[float64](random, d*m))
		w.SetCol(random.IntN(m), mat.Col(nil, random.IntN(m), w))
		check("a random singular step", w, Params{Lambda1: 1, Lambda2: math.Pow(10, -6*random.Float64())})
	}
}

// leastLasso is the least of Lambda1/2 ||w_j - W a||^2 + Lambda2 ||a||_1 over the
// solutions of the stationary equations for every pattern of zeros and signs.
func leastLasso(s *mat.SymDense, j int, p Params) float64 {
	m := s.SymmetricDim()
	least := p.Lambda1 / 2 * s.At(j, j)
	for pattern := range int(math.Pow(3, float64(m))) {
		sign := make([]float64, m)
		for i, left := 0, pattern; i < m; i, left = i+1, left/3 {
			sign[i] = float64(left%3 - 1)
		}
		var active []int
		for i, v := range sign {
			if v != 0 {
				active = append(active, i)
			}
		}
		if sign[j] != 0 || len(active) == 0 {
			continue
		}
		sub := mat.NewSymDense(len(active), nil)
		for a, i := range active {
			for b, k := range active[:a+1] {
				sub.SetSym(a, b, s.At(i, k))
			}
		}
		var chol mat.Cholesky
		if !chol.Factorize(sub) || chol.Cond() > 1e12 {
			continue
		}
		right := mat.NewVecDense(len(active), nil)
		for k, i := range active {
			right.SetVec(k, s.At(i, j)-p.Lambda2/p.Lambda1*sign[i])
		}
		if err := chol.SolveVecTo(right, right); err != nil {
			continue
		}
		a := mat.NewVecDense(m, nil)
		for k, i := range active {
			a.SetVec(i, right.AtVec(k))
		}
		norm := mat.Norm(a, 1)
		a.ScaleVec(-1, a)
		a.SetVec(j, 1)
		least = min(least, p.Lambda1/2*mat.Inner(a, s, a)+p.Lambda2*norm)
	}
	return least
}
