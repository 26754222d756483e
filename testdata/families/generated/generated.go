// Package generated draws problems of which the truth is known: the weights of the
// tasks are drawn with the same correlation of any two,
//
//	W = Z U,  U'U = Omega,  Z of independent normal entries, d x m,
//
// rows with an expected square of their length of 1, and labels
//
//	y = x'w_i + 0.3 e,  for classes its sign.
//
// So Omega is what the best covariance of such a problem has to be like.
package generated

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

// Family is how the tasks of a problem are related.
type Family string

// The families.
const (
	Alike     Family = "alike"
	Unrelated Family = "unrelated"
)

// correlations are those of two tasks.
var correlations = map[Family]float64{Alike: 0.9, Unrelated: 0}

const noise = 0.3

// Config says what a problem is like.
type Config struct {
	Kind   data.Kind
	Family Family
	// MinTasks and MaxTasks bound the number of tasks.
	MinTasks, MaxTasks int
	// Rows are those of a task to learn from, two at least, and TestRows those to test on.
	Rows, TestRows, Features int
	// Seed and Number tell problems apart.
	Seed, Number uint64
}

// Problem draws a problem, with the covariance of its tasks.
func Problem(c Config) (*data.ProblemData, *mat.SymDense, error) {
	r := data.Stream(c.Seed, "family "+string(c.Family), c.Number)
	m := c.MinTasks + r.IntN(c.MaxTasks-c.MinTasks+1)
	omega := mat.NewSymDense(m, nil)
	for i := range m {
		omega.SetSym(i, i, 1)
		for j := range i {
			omega.SetSym(i, j, correlations[c.Family])
		}
	}
	var l mat.Cholesky
	if !l.Factorize(omega) {
		return nil, nil, fmt.Errorf("family %q: its covariance is not positive definite", c.Family)
	}
	w := mat.NewDense(c.Features, m, nil)
	w.Apply(func(_, _ int, _ float64) float64 { return r.NormFloat64() }, w)
	w.Mul(w, l.RawU())
	p := &data.ProblemData{Problem: &data.Problem{Name: "generated"}}
	for i := range m {
		t := data.TaskData{Task: &data.Task{Name: fmt.Sprintf("task %d", i+1), Kind: c.Kind}}
		if c.Kind == data.Classification {
			t.Positive, t.Negative = "yes", "no"
		}
		wi := mat.Col(nil, i, w)
		var err1, err2 error
		t.TrainSet, err1 = c.rows(r, wi, c.Rows)
		t.TestSet, err2 = c.rows(r, wi, c.TestRows)
		if err := errors.Join(err1, err2); err != nil {
			return nil, nil, err
		}
		t.ValidationSet = data.Samples{X: t.TrainSet.X.Take(nil)}
		p.Problem.Tasks, p.Tasks = append(p.Problem.Tasks, t.Task), append(p.Tasks, t)
	}
	return p, omega, nil
}

// rows draws rows of a task, which have both classes.
func (c Config) rows(r *rand.Rand, w []float64, n int) (s data.Samples, err error) {
	var value []float32
	for range n {
		y, product := noise*r.NormFloat64(), 0.0
		for _, v := range w {
			x := r.NormFloat64() / math.Sqrt(float64(len(w)))
			value, product = append(value, float32(x)), product+x*v
		}
		y += product
		if c.Kind == data.Classification {
			y = math.Copysign(1, y)
		}
		s.Y = append(s.Y, y)
	}
	if c.Kind == data.Classification && !slices.Contains(s.Y, -s.Y[0]) {
		s.Y[0] = -s.Y[0]
	}
	s.X, err = data.NewDense(n, c.Features, value)
	return s, err
}
