package train

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/model"
	"l2mt/model/multitask"
)

// What a body can learn of its features by gradients from some hundred outcomes is
// little beside what the training tasks know of them: the weights that all of their
// rows give. The start from experience is a linear map from what the readout makes of
// the few training rows of tasks, A, to these weights, W, in closed form:
//
//	B = argmin |A B - W|^2 + rho |B|^2 = A' (A A' + rho I)^-1 W,  M = B V
//
// V being the leading right singular vectors of A B. Inner products of A M are those
// that the map expects of the weights, of tasks that it has not seen too.

// lessons are the rows of A and W (tasks x d), all of length one.
type lessons struct {
	means, weights *mat.Dense
	problem        []int // that a row belongs to, ascending
}

// enough is the number of tasks that a map is learnt from. Its time grows with the cube.
const enough = 1000

// teach gives the body a map to begin with, if it takes one.
func (t *trainer) teach(ctx context.Context, source Source) error {
	teach := t.network.Teacher()
	if teach == nil {
		return nil
	}
	l, err := t.lessons(ctx, source)
	if err != nil || len(l.problem) == 0 {
		return err
	}
	m, err := l.mapping(t.config.Model.Hidden / 2)
	if err != nil {
		return fmt.Errorf("train: start: %w", err)
	}
	teach(m)
	return nil
}

// lessons asks the training problems, but for those of several classes: their tasks
// have no one vector of weights.
func (t *trainer) lessons(ctx context.Context, source Source) (*lessons, error) {
	report := t.options.Progress
	report.Start("lessons", len(t.training))
	defer report.Finish()
	l := &lessons{}
	var means, weights []float64
	for k, p := range t.training {
		if len(l.problem) >= enough {
			break
		}
		e, err := source.Example(p.at)
		if err != nil {
			return nil, err
		}
		if e.Problem.Several() > 0 {
			continue
		}
		if e.Problem, err = t.network.Features(e.Problem); err != nil {
			return nil, err
		}
		a, err := model.Means(t.config.Model, e.Problem)
		if err != nil {
			return nil, err
		}
		w, err := whole(ctx, e)
		if err != nil {
			return nil, fmt.Errorf("train: start: problem %q: %w", p.name, err)
		}
		for i := range e.Problem.Tasks {
			means = append(means, unit(a.RawRowView(i))...)
			weights = append(weights, unit(mat.Col(nil, i, w))...)
			l.problem = append(l.problem, k)
		}
		report.Advance(1, p.name)
	}
	if n := len(l.problem); n > 0 {
		l.means, l.weights = mat.NewDense(n, len(means)/n, means), mat.NewDense(n, len(means)/n, weights)
	}
	return l, nil
}

// whole is W of every task of a problem on its own, fitted to all of its rows with the
// Lambda1 of the best tuple.
func whole(ctx context.Context, e Example) (*mat.Dense, error) {
	p, err := e.Problem.Labelled()
	if err != nil {
		return nil, err
	}
	if p, err = p.Tested().Labelled(); err != nil {
		return nil, err
	}
	problem, err := multitask.Training(p, "")
	if err != nil {
		return nil, err
	}
	lambda1, least := 1e-2, math.Inf(1)
	for _, t := range e.Tuples {
		if t.Lambda1 > 0 && t.O < least {
			lambda1, least = t.Lambda1, t.O
		}
	}
	r, err := multitask.FitFixed(ctx, multitask.Uniform(len(p.Tasks)), problem, lambda1, multitask.Options{Tolerance: 1e-4})
	if err != nil {
		return nil, err
	}
	return r.W, nil
}

// unit scales a vector to length one, if it has any.
func unit(v []float64) []float64 {
	if length := floats.Norm(v, 2); length > 0 {
		floats.Scale(1/length, v)
	}
	return v
}

// mapping is M (d x k), with fewer columns where the rank of A B is lower.
func (l *lessons) mapping(k int) (*mat.Dense, error) {
	r, err := newRidge(l)
	if err != nil {
		return nil, err
	}
	rho := r.choose()
	fitted := r.times(func(v float64) float64 { return v / (v + rho) }) // A B
	n, _ := fitted.Dims()
	var gram mat.SymDense
	gram.SymOuterK(1, fitted)
	e, err := multitask.Eigen(&gram)
	if err != nil {
		return nil, err
	}
	first := n - min(n, k)
	for first < n-1 && e.Values[first] < 1e-12*e.Values[n-1] {
		first++ // A B has a lower rank
	}
	var v, dual, m mat.Dense
	v.Mul(fitted.T(), e.Vectors.Slice(0, n, first, n)) // d x k
	for j := range n - first {
		v.SetCol(j, unit(mat.Col(nil, j, &v)))
	}
	dual.Mul(r.times(func(v float64) float64 { return 1 / (v + rho) }), &v) // n x k
	m.Mul(l.means.T(), &dual)
	return &m, nil
}

// ridge is the regression of W on A, for any rho.
type ridge struct {
	*lessons
	values  []float64  // of A A'
	vectors *mat.Dense // n x n
	turned  mat.Dense  // vectors' W, n x d
}

func newRidge(l *lessons) (*ridge, error) {
	var gram mat.SymDense
	gram.SymOuterK(1, l.means)
	e, err := multitask.Eigen(&gram)
	if err != nil {
		return nil, err
	}
	r := &ridge{lessons: l, values: e.Values, vectors: e.Vectors}
	for i, v := range r.values {
		r.values[i] = max(v, 0)
	}
	r.turned.Mul(e.Vectors.T(), l.weights)
	return r, nil
}

// times is f(A A') W.
func (r *ridge) times(f func(v float64) float64) *mat.Dense {
	var scaled, x mat.Dense
	scaled.Apply(func(i, _ int, w float64) float64 { return f(r.values[i]) * w }, &r.turned)
	x.Mul(r.vectors, &scaled)
	return &x
}

// choose is the rho that errs least on problems that the map was learnt without.
func (r *ridge) choose() float64 {
	mean := floats.Sum(r.values) / float64(len(r.values))
	best, least := mean, math.Inf(1)
	for at := 1e-2; at < 30; at *= math.Sqrt(10) {
		if left := r.leftOut(at * mean); left < least {
			best, least = at*mean, left
		}
	}
	return best
}

// leftOut is the sum of squares of what is left of the weights of every problem by the
// map learnt without it: (I - H)_pp^-1 (W - H W)_p, H being A A' (A A' + rho I)^-1.
func (r *ridge) leftOut(rho float64) (sum float64) {
	rest := func(v float64) float64 { return rho / (v + rho) }
	residual := r.times(rest)
	n, d := residual.Dims()
	for from, to := 0, 0; from < n; from = to {
		for to = from; to < n && r.problem[to] == r.problem[from]; to++ {
		}
		own := r.vectors.Slice(from, to, 0, n)
		var scaled, block, x mat.Dense
		scaled.Apply(func(_, j int, u float64) float64 { return u * rest(r.values[j]) }, own)
		block.Mul(&scaled, own.T())
		if err := x.Solve(&block, residual.Slice(from, to, 0, d)); err != nil {
			return math.Inf(1)
		}
		sum += math.Pow(mat.Norm(&x, 2), 2)
	}
	return sum
}
