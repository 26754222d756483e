// Package generated draws problems of which the truth is known: the weights of the
// tasks are drawn with a covariance of a family,
//
//	W = Z U,  U'U = Omega,  Z of independent normal entries, d x m,
//
// rows with an expected square of their length of 1, and labels
//
//	y = x'w_i + noise * e,  for classes its sign.
//
// So Omega is what the best covariance of such a problem has to be like.
package generated

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

// Family is a way in which tasks are related.
type Family struct {
	Name string
	// Omega draws the covariance of m tasks, with 1 on its diagonal.
	Omega func(r *rand.Rand, m int) *mat.SymDense
	// Noise is the standard deviation of what W does not say of labels, that of
	// what it says being 1.
	Noise float64
}

const (
	correlation = 0.9 // of tasks that are related
	noise       = 0.3
)

// Families are those that there are.
func Families() []Family {
	return []Family{
		{"alike", grouped(func(*rand.Rand, int, int) (int, float64) { return 0, 1 }), noise},
		{"clusters", grouped(clusters), noise},
		{"opposite signs", grouped(func(r *rand.Rand, _, _ int) (int, float64) { return 0, float64(2*r.IntN(2) - 1) }), noise},
		{"outliers", grouped(outliers), noise},
		{"low rank", lowRank, noise},
		{"heavy noise", grouped(clusters), 1},
		{"unrelated", grouped(func(_ *rand.Rand, i, _ int) (int, float64) { return i, 1 }), noise},
	}
}

// grouped has tasks in groups, each with a sign: those of one group are related.
func grouped(of func(r *rand.Rand, i, m int) (group int, sign float64)) func(*rand.Rand, int) *mat.SymDense {
	return func(r *rand.Rand, m int) *mat.SymDense {
		group, sign := make([]int, m), make([]float64, m)
		for i := range m {
			group[i], sign[i] = of(r, i, m)
		}
		return ones(m, func(i, j int) float64 {
			if group[i] != group[j] {
				return 0
			}
			return correlation * sign[i] * sign[j]
		})
	}
}

func clusters(r *rand.Rand, _, m int) (int, float64) { return r.IntN(max(2, m/3)), 1 }

// outliers are about one task in four, related to none.
func outliers(r *rand.Rand, i, _ int) (int, float64) {
	if r.IntN(4) == 0 {
		return 1 + i, 1
	}
	return 0, 1
}

// lowRank has tasks that are mixtures of two.
func lowRank(r *rand.Rand, m int) *mat.SymDense {
	angle := make([]float64, m)
	for i := range angle {
		angle[i] = 2 * math.Pi * r.Float64()
	}
	return ones(m, func(i, j int) float64 { return correlation * math.Cos(angle[i]-angle[j]) })
}

// ones is a covariance with 1 on its diagonal.
func ones(m int, off func(i, j int) float64) *mat.SymDense {
	omega := mat.NewSymDense(m, nil)
	for i := range m {
		omega.SetSym(i, i, 1)
		for j := range i {
			omega.SetSym(i, j, off(i, j))
		}
	}
	return omega
}

// Config says which problems Problems draws.
type Config struct {
	Kind               data.Kind
	Problems           int // of the families in turn
	MinTasks, MaxTasks int // of a problem
	// Rows are those of a task to learn from, two at least, and TestRows those to test on.
	Rows, TestRows, Features int
	Seed                     uint64
}

// Problems draws problems, with the covariances of their tasks.
func Problems(c Config) (problems []*data.ProblemData, truth []*mat.SymDense, err error) {
	families := Families()
	for i := range c.Problems {
		p, omega, err := c.draw(families[i%len(families)], i)
		if err != nil {
			return nil, nil, err
		}
		problems, truth = append(problems, p), append(truth, omega)
	}
	return problems, truth, nil
}

// draw draws a problem.
func (c Config) draw(f Family, number int) (*data.ProblemData, *mat.SymDense, error) {
	r := data.Stream(c.Seed, "family "+f.Name, uint64(number))
	m := c.MinTasks + r.IntN(c.MaxTasks-c.MinTasks+1)
	omega := f.Omega(r, m)
	var l mat.Cholesky
	if !l.Factorize(omega) {
		return nil, nil, fmt.Errorf("family %q: its covariance is not positive definite", f.Name)
	}
	w := mat.NewDense(c.Features, m, nil)
	w.Apply(func(_, _ int, _ float64) float64 { return r.NormFloat64() }, w)
	w.Mul(w, l.RawU())
	p := &data.ProblemData{Problem: &data.Problem{Name: fmt.Sprintf("%s %d", f.Name, number+1)}}
	for i := range m {
		t := data.TaskData{Task: &data.Task{Name: fmt.Sprintf("%s, task %d", p.Name, i+1), Kind: c.Kind}}
		if c.Kind == data.Classification {
			t.Positive, t.Negative = "yes", "no"
		}
		wi := mat.Col(nil, i, w)
		train, err := c.rows(r, f, wi, c.Rows)
		if err != nil {
			return nil, nil, err
		}
		test, err := c.rows(r, f, wi, c.TestRows)
		if err != nil {
			return nil, nil, err
		}
		t.TrainSet, t.ValidationSet, t.TestSet = train, data.Samples{X: train.X.Take(nil)}, test
		p.Problem.Tasks, p.Tasks = append(p.Problem.Tasks, t.Task), append(p.Tasks, t)
	}
	return p, omega, nil
}

// rows draws rows of a task, which have both classes.
func (c Config) rows(r *rand.Rand, f Family, w []float64, n int) (s data.Samples, err error) {
	var value []float32
	for range n {
		y := f.Noise * r.NormFloat64()
		product := 0.0
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
