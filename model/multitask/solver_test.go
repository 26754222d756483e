package multitask

import (
	"context"
	"errors"
	"math"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"

	"gonum.org/v1/gonum/mat"
)

// TestNestings: with one task, or Omega = I/m, every covariance of trace 1 is STL.
func TestNestings(t *testing.T) {
	s := shape{1, 4, 14, Logistic, false}
	problem := mustProblem(t, s.loss, samples(s, 2))
	opt := Options{Tolerance: 1e-13}
	want := mustFit(t, registry["stl"], problem, Params{Lambda1: 0.05}, opt)
	for _, name := range []string{"mtrl", "ssnr2", "cmtl", "spats"} {
		model := datatest.Must(Lookup(name))(t)
		got := mustFit(t, model, problem, Params{Lambda1: 0.05}, opt)
		nearMatrix(t, name+": W with one task", got.W, want.W, 1e-6)
	}
	s.m = 4
	problem = mustProblem(t, s.loss, samples(s, 2))
	want = mustFit(t, registry["stl"], problem, Params{Lambda1: 0.05}, opt)
	got := datatest.Must(FitFixed(context.Background(), identity(4, 0.25), problem, 0.05, opt))(t)
	nearMatrix(t, "W for Omega = I/m", got.W, want.W, 1e-9)
	tight := mustFit(t, registry["cmtl"], problem, Params{Lambda1: 0.05, Hyper: map[string]float64{"low": 1, "high": 1}}, opt)
	nearMatrix(t, "W of CMTL with b = c", tight.W, want.W, 1e-6)
}

// TestStepsAtEveryScale runs every Omega step on well and badly scaled, rank
// deficient and zero S, and compares with mixtures of the model's covariances.
func TestStepsAtEveryScale(t *testing.T) {
	datatest.Long(t)
	for _, name := range Names() {
		model := datatest.Must(Lookup(name))(t)
		p := datatest.Must(Complete(model, batteryParams(model)))(t)
		const d = 4
		for _, m := range []int{1, 2, 3, 6} {
			random := data.Stream(uint64(m), "steps")
			for _, rank := range []int{0, 1, m} {
				s := gramOf(datatest.Normals[float64](random, m*rank), m, rank)
				other := datatest.Must(model.Step(gramOf(datatest.Normals[float64](random, m*9), m, 9), d, p, Hint{}))(t)
				for _, size := range []float64{1e-10, 1e-5, 1, 1e5, 1e10} {
					var scaled mat.SymDense
					scaled.ScaleSym(size, s)
					c, err := model.Step(&scaled, d, p, Hint{})
					if err != nil {
						t.Errorf("%s, m=%d, rank %d, scale %g: %v", name, m, rank, size, err)
						continue
					}
					value := stepValue(t, model, &scaled, c, d, p)
					datatest.Holds(t, !math.IsNaN(value) && !math.IsInf(value, 0),
						"%s, m=%d, rank %d, scale %g: the objective is %v", name, m, rank, size, value)
					if c.A != nil || name == "glmtl" {
						continue // convex in A or in the inverse, not in Omega
					}
					for _, mix := range []float64{1e-4, 1e-2, 0.5} {
						blend := mat.NewSymDense(m, nil)
						blend.ScaleSym(1-mix, c.Omega)
						addSym(blend, mix, other.Omega)
						if v := stepValue(t, model, &scaled, &Covariance{Omega: blend}, d, p); v < value-c.Gap-1e-9*math.Abs(value) {
							t.Errorf("%s, m=%d, rank %d, scale %g: a mixture has the objective %v, the step %v with gap %g", name, m, rank, size, v, value, c.Gap)
						}
					}
				}
			}
		}
	}
}

func gramOf(x []float64, m, d int) *mat.SymDense {
	if d == 0 {
		return mat.NewSymDense(m, nil)
	}
	return gram(x, m)
}

func stepValue(t *testing.T, model Model, s *mat.SymDense, c *Covariance, d int, p Params) float64 {
	t.Helper()
	v := p.Lambda1 / 2 * datatest.Must(traceTerm(s, c, p.Get("floor")))(t)
	if g := model.G(c, d, p); g != 0 {
		v += p.Lambda2 * g
	}
	return v
}

// TestGraphicalLassoCertificate: the gap is that of primal and dual, on singular
// and badly scaled input too.
func TestGraphicalLassoCertificate(t *testing.T) {
	random := data.Stream(5, "glasso")
	for _, m := range []int{2, 5, 8} {
		for _, alpha := range []float64{1e-3, 0.1, 10} {
			c := gramOf(datatest.Normals[float64](random, m*2), m, 2)
			for i := range m {
				for j := i; j < m; j++ {
					c.SetSym(i, j, c.At(i, j)*math.Pow(10, float64(i+j)-float64(m)))
				}
			}
			omega, gap, err := graphicalLasso(c, alpha, 0)
			datatest.Check(t, err)
			precision, _, _ := inverted(omega)
			if least := dot(c, precision) + alpha*norm1(precision) - float64(m); gap > 1e-6*float64(m) || least > gap*(1+1e-9) {
				t.Errorf("m=%d alpha=%g: gap %g, which is %g by the definition", m, alpha, gap, least)
			}
			for i := range m {
				for j := range m {
					if diff := math.Abs(omega.At(i, j) - c.At(i, j)); diff > alpha*(1+1e-9)+1e-9*math.Abs(c.At(i, j)) {
						t.Errorf("m=%d alpha=%g: Omega - C is %g at (%d, %d)", m, alpha, diff, i, j)
					}
				}
			}
		}
	}
}

// TestGraphicalLassoOfASingularMatrix: a penalty below the rounding errors of C is
// as good as none, and no panic.
func TestGraphicalLassoOfASingularMatrix(t *testing.T) {
	c := gramOf(datatest.Normals[float64](data.Stream(8, "glasso"), 5*2), 5, 2)
	omega, _, err := graphicalLasso(c, 1e-30, 0)
	datatest.Check(t, err)
	nearMatrix(t, "Omega", omega, c, 1e-9)
}

// TestBadInput wants typed errors that name the task and the field.
func TestBadInput(t *testing.T) {
	good := func() []data.Samples { return samples(shape{2, 3, 6, Logistic, false}, 1) }
	names := []string{"cats", "dogs"}
	for _, c := range []struct {
		what string
		bend func(tasks []data.Samples)
		want []string
	}{
		{"NaN label", func(s []data.Samples) { s[1].Y[2] = math.NaN() }, []string{"dogs", "y", "row 2"}},
		{"wrong label", func(s []data.Samples) { s[1].Y[2] = 0.5 }, []string{"dogs", "y", "row 2"}},
		{"one class", func(s []data.Samples) {
			for _, t := range s {
				for i := range t.Y {
					t.Y[i] = 1
				}
			}
		}, []string{"all 12 training rows", "y", "have the same label"}},
		{"infinite feature", func(s []data.Samples) {
			s[1].X = matrixOf([]float32{1, 2, float32(math.Inf(1))}, 1, 3, false)
			s[1].Y = s[1].Y[:1]
		}, []string{"dogs", "features", "row 0"}},
		{"no features", func(s []data.Samples) { s[0].X = nil }, []string{"cats", "features"}},
		{"short y", func(s []data.Samples) { s[0].Y = s[0].Y[:3] }, []string{"cats", "y"}},
		{"other features", func(s []data.Samples) { s[1].X = matrixOf(make([]float32, 24), 6, 4, false) }, []string{"dogs", "4 features"}},
	} {
		tasks := good()
		c.bend(tasks)
		_, err := Training(problemOf(Logistic, tasks, names))
		if !errors.Is(err, ErrInvalidData) {
			t.Errorf("%s: %v is not ErrInvalidData", c.what, err)
			continue
		}
		for _, w := range c.want {
			datatest.Says(t, err, nil, w)
		}
	}

	problem := mustProblem(t, Logistic, good())
	for _, p := range []Params{{}, {Lambda1: -1}, {Lambda1: math.NaN()}, {Lambda1: math.Inf(1)}, {Lambda1: 1, Lambda2: -1}, {Lambda1: 1, Hyper: map[string]float64{"nonsense": 1}}} {
		_, err := Fit(context.Background(), registry["snr1"], problem, p, Options{})
		datatest.Holds(t, errors.Is(err, ErrInvalidParams), "%+v: %v is not ErrInvalidParams", p, err)
	}
	indefinite := mat.NewSymDense(2, []float64{1, 2, 2, 1})
	for _, omega := range []*mat.SymDense{nil, mat.NewSymDense(2, nil), identity(3, 1), indefinite, mat.NewSymDense(2, []float64{1, math.NaN(), math.NaN(), 1})} {
		_, err := FitFixed(context.Background(), omega, problem, 1, Options{})
		datatest.Holds(t, errors.Is(err, ErrInvalidOmega), "Omega %v: %v is not ErrInvalidOmega", omega, err)
	}
	datatest.Refused(Lookup("mtrl2"))(t, ErrUnknownModel, "ssnr2")
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	datatest.Refused(Fit(canceled, registry["stl"], problem, Params{Lambda1: 1}, Options{}))(t, context.Canceled)
}

// TestIterationLimit is a status, with the gap.
func TestIterationLimit(t *testing.T) {
	s := shape{4, 20, 9, Logistic, true}
	r := mustFit(t, registry["snr1"], mustProblem(t, s.loss, samples(s, 3)), Params{Lambda1: 1e-4}, Options{MaxIterations: 2})
	datatest.Holds(t, r.Status == IterationLimit && r.Gap > 0 && r.Iterations == 2,
		"status %q, gap %g, %d iterations", r.Status, r.Gap, r.Iterations)
}

// A problem that is empty or nil is refused in a sentence.
func TestTrainingOfNothing(t *testing.T) {
	x := matrixOf([]float32{1, 2}, 2, 1, false)
	for what, p := range map[string]*data.ProblemData{
		"nil":          nil,
		"no tasks":     {},
		"a nil task":   {Tasks: []data.TaskData{{TrainSet: data.Samples{X: x, Y: []float64{1, -1}}}}},
		"no features":  {Tasks: []data.TaskData{{Task: &data.Task{Name: "a", Kind: data.Regression}}}},
		"empty second": {Tasks: []data.TaskData{{Task: &data.Task{Name: "a", Kind: data.Regression}, TrainSet: data.Samples{X: x, Y: []float64{1, 2}}}, {}}},
	} {
		set, err := Training(p)
		datatest.Holds(t, err != nil && set == nil, "%s: %v, %v", what, set, err)
	}
}
