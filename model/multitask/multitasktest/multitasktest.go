// Package multitasktest proves a registered model of package multitask right. A test of one's
// own model is one line,
//
//	func TestMine(t *testing.T) { multitasktest.Check(t, "mine") }
package multitasktest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/model/multitask"
)

const (
	seeds    = 4 // of classification and regression in turn
	tasks    = 3
	features = 4
	rows     = 15
	draws    = 8 // of rivals

	tolerance = 1e-7 // relative to 1 + the size of the numbers
)

// Check holds the Omega steps of a model against other covariances, and fits against points
// around them and their certificates, which take Support.
func Check(t *testing.T, name string) {
	t.Helper()
	model := datatest.Must(multitask.Lookup(name))(t)
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprintf("%s/seed=%d", name, seed), func(t *testing.T) {
			t.Parallel()
			newSuite(t, model, seed).run(t)
		})
	}
}

// suite is a model with a problem, and some of its covariances.
type suite struct {
	model  multitask.Model
	convex bool // at these hyperparameters
	params multitask.Params
	random *rand.Rand
	set    *multitask.TrainingSet
	rivals []*multitask.Covariance
}

func newSuite(t *testing.T, model multitask.Model, seed uint64) *suite {
	t.Helper()
	s := &suite{
		model:  model,
		random: data.Stream(seed, "multitasktest"),
	}
	s.params = multitask.Params{Lambda1: 0.05}
	for _, r := range model.Info().Ranges {
		if r.Name == multitask.Lambda2 {
			s.params.Lambda2 = 0.1
		}
	}
	s.params = datatest.Must(multitask.Complete(model, s.params))(t)
	c, ok := model.(multitask.Convex)
	if ok {
		s.convex = !math.IsNaN(
			c.Support(mat.NewSymDense(1, nil), nil, s.params))
	}
	p := &data.ProblemData{}
	for range tasks {
		task := data.TaskData{Task: &data.Task{Kind: data.Regression}}
		value := datatest.Normals[float32](s.random, rows*features)
		task.TrainSet.X = datatest.Must(data.NewDense(rows, features, value))(t)
		for i := range rows {
			y := float64(value[i*features]) + s.random.NormFloat64()
			if seed%2 == 0 {
				task.Kind = data.Classification
				y = float64(2*(i%2) - 1)
			}
			task.TrainSet.Y = append(task.TrainSet.Y, y)
		}
		p.Tasks = append(p.Tasks, task)
	}
	s.set = datatest.Must(multitask.Training(p))(t)
	for range draws {
		s.rivals = append(s.rivals, s.step(t, s.weights(1), multitask.Hint{}))
	}
	return s
}

func (s *suite) run(t *testing.T) {
	t.Run("an Omega step takes every S", s.singular)
	t.Run("no covariance is better than the step", s.least)
	t.Run("a fit is within its gap of the least, whatever its tolerance", s.certificate)
	t.Run("no point nearby is better than a fit", s.nearby)
}

// weights are d x m.
func (s *suite) weights(size float64) *mat.Dense {
	w := mat.NewDense(features, tasks, nil)
	w.Apply(func(int, int, float64) float64 {
		return size * s.random.NormFloat64()
	}, w)
	return w
}

func (s *suite) step(t *testing.T, w *mat.Dense, h multitask.Hint) *multitask.Covariance {
	t.Helper()
	var products mat.SymDense
	products.SymOuterK(1, w.T())
	return datatest.Must(s.model.Step(&products, features, s.params, h))(t)
}

func (s *suite) singular(t *testing.T) {
	one := s.weights(1)
	one.SetCol(1, mat.Col(nil, 0, one))
	for _, w := range []*mat.Dense{s.weights(0), one} {
		c := s.step(t, w, multitask.Hint{})
		var e mat.EigenSym
		e.Factorize(c.Omega, false)
		smallest := e.Values(nil)[0]
		g := s.g(c)
		datatest.Holds(t, !math.IsInf(g, 0) &&
			smallest >= -1e-12*mat.Trace(c.Omega),
			"the step has the eigenvalue %v, and g is %v", smallest, g)
	}
}

func (s *suite) g(c *multitask.Covariance) float64 {
	return s.model.G(c, features, s.params)
}

// least compares the step for a random S with the covariances of others, and with mixtures.
func (s *suite) least(t *testing.T) {
	zero := make([]float64, tasks)
	shifts := []float64{0}
	if s.convex {
		shifts = append(shifts, 0.3)
	}
	for _, shift := range shifts {
		w := s.weights(1)
		best := s.step(t, w, multitask.Hint{Shift: shift})
		value := func(c *multitask.Covariance) float64 {
			moved := c
			if shift > 0 {
				moved = &multitask.Covariance{Omega: mat.NewSymDense(tasks, nil)}
				moved.Omega.CopySym(c.Omega)
				for i := range tasks {
					moved.Omega.SetSym(i, i, c.Omega.At(i, i)+shift)
				}
			}
			v := s.value(t, w, zero, moved)
			return s.params.Lambda1/2*v.Trace + s.params.Lambda2*s.g(c)
		}
		low := value(best) - best.Gap
		for _, rival := range s.around(best) {
			v := value(rival)
			if !(low <= v+tolerance*(1+math.Abs(v))) {
				t.Errorf("with a shift of %v the step has %v, and another has %v", shift, low, v)
			}
		}
	}
}

// around are the rivals of a covariance, and mixtures with them where A does not stand for Omega.
func (s *suite) around(c *multitask.Covariance) []*multitask.Covariance {
	covariances := slices.Clone(s.rivals)
	for _, share := range []float64{0.001, 0.1} {
		for _, r := range s.rivals {
			if c.A == nil {
				mixed := mat.NewSymDense(tasks, nil)
				mixed.ScaleSym(share, r.Omega)
				var rest mat.SymDense
				rest.ScaleSym(1-share, c.Omega)
				mixed.AddSym(mixed, &rest)
				covariances = append(covariances,
					&multitask.Covariance{Omega: mixed})
			}
		}
	}
	return covariances
}

func (s *suite) value(t *testing.T,
	w *mat.Dense, b []float64, c *multitask.Covariance) multitask.Value {
	t.Helper()
	return datatest.Must(s.set.Evaluate(s.model, s.params, w, b, c))(t)
}

func (s *suite) fit(t *testing.T, tolerance float64) *multitask.Result {
	t.Helper()
	opt := multitask.Options{Tolerance: tolerance}
	r, err := multitask.Fit(t.Context(), s.model, s.set, s.params, opt)
	return datatest.Must(r, err)(t)
}

func (s *suite) certificate(t *testing.T) {
	above := math.Inf(1)
	below := math.Inf(-1)
	for _, accuracy := range []float64{1e-2, 1e-5, 1e-8} {
		r := s.fit(t, accuracy)
		c := &multitask.Covariance{
			Omega: r.Omega,
			A:     r.A,
		}
		v := s.value(t, r.W, r.B, c).Objective
		if math.Abs(v-r.Objective) > 1e-6*(1+math.Abs(v)) {
			t.Errorf("the fit says %v, and (1) is %v there", r.Objective, v)
		}
		if !s.convex {
			continue // gaps bound something else
		}
		if r.Status != multitask.Converged {
			t.Errorf("to %g it is %s with a gap of %g", accuracy,
				r.Status, r.Gap)
		}
		above = min(above, r.Objective)
		below = max(below, r.Objective-r.Gap)
	}
	if below > above+1e-10*(1+math.Abs(above)) {
		t.Errorf("one fit reaches %.12g, and another proves that %.12g is the least", above, below)
	}
}

// nearby moves W within the range of Omega, and b; and Omega, alone.
func (s *suite) nearby(t *testing.T) {
	r := s.fit(t, 1e-8)
	if r.Status == multitask.IterationLimit {
		t.Skip("the fit has not converged, and says so")
	}
	c := &multitask.Covariance{
		Omega: r.Omega,
		A:     r.A,
	}
	check := func(what string, w *mat.Dense, b []float64, c *multitask.Covariance) {
		v := s.value(t, w, b, c).Objective
		if v < r.Objective-r.Gap-tolerance*(1+math.Abs(v)) {
			t.Errorf("with another %s it is %v; a fit with a gap of %g has %v",
				what, v, r.Gap, r.Objective)
		}
	}
	for k := range draws {
		size := math.Pow(10, -float64(k)/2)
		var w mat.Dense
		w.Mul(s.weights(size), r.Omega)
		w.Add(&w, r.W)
		b := slices.Clone(r.B)
		floats.AddScaled(b, size, datatest.Normals[float64](s.random, len(b)))
		check("W and b", &w, b, c)
	}
	for _, rival := range s.around(c) {
		check("Omega", r.W, r.B, rival)
	}
}
