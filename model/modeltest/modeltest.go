// Package modeltest proves registered bodies, readouts, estimators, links and objectives
// right. A test of one's own piece is one line,
//
//	func TestMyEstimator(t *testing.T) { modeltest.Check(t, "my-estimator") }
//
// which checks the properties that training and inference rely on.
package modeltest

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
	"l2mt/layers"
	"l2mt/model"
)

const (
	seeds    = 2 // the second with parameters above the embeddings negated
	features = 4
	tuples   = 3

	step              = 1e-5 // of the central differences
	gradientTolerance = 1e-5 // of the gradient against them, relative to 1 + |gradient|
	kinkTolerance     = 1e-4 // differences of two steps that disagree by more straddle a kink
	equalTolerance    = 1e-10

	largeFeatures = 16 // the size of features that a piece has to bear
)

// Check tests the combination of the named body, readout, estimator, link and objective.
// The default preset has the others. A name registered as several kinds of pieces is used for all
// of them.
func Check(t *testing.T, names ...string) {
	t.Helper()
	c := datatest.Must(model.Preset("default", features))(t)
	c.Layers = 3
	c.Hidden = 3
	c.Neighbours = 2
	c.DType = layers.Float64
	field := map[string]*string{
		"body": &c.Body, "readout": &c.Readout, "estimator": &c.Estimator, "link": &c.Link,
		"objective": &c.Objective,
	}
	for _, name := range names {
		known := false
		for kind, registered := range model.Pieces() {
			if slices.Contains(registered, name) {
				*field[kind] = name
				known = true
			}
		}
		datatest.Need(t, known,
			"nothing is registered as %q; there are %v", name, model.Pieces())
	}
	for seed := range uint64(seeds) {
		name := fmt.Sprintf("%s-%s-%s-%s/%s/seed=%d", c.Body,
			c.Readout, c.Estimator, c.Link, c.Objective, seed)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newSuite(t, c, seed).run(t)
		})
	}
}

// suite is a network with random parameters, and a problem with some tuples.
type suite struct {
	network  *model.Network
	problem  *data.ProblemData
	payload  *model.Payload
	tuples   []model.Tuple
	outcomes []float64
	graph    *model.TrainingGraph
}

func newSuite(t *testing.T, c model.Config, seed uint64) *suite {
	t.Helper()
	r := data.Stream(seed, "modeltest")
	s := &suite{problem: Problem(r, features, 9, 7, 8)}
	s.outcomes = []float64{0.7, 0.9, 1, 1.3}
	s.network = datatest.Must(model.NewNetwork(c, seed))(t)
	Perturb(r, c, s.network.Params, seed%2 == 1)
	s.payload = s.prepare(t, s.problem)
	for q := range tuples {
		s.tuples = append(s.tuples, model.Tuple{
			Omega: Covariance(r, len(s.problem.Tasks)), O: s.outcomes[q],
		})
	}
	s.graph = s.training(t)
	return s
}

func (s *suite) run(t *testing.T) {
	t.Run("the gradient is that of the loss", s.gradient)
	t.Run("the order of the tuples changes nothing", s.tupleOrder)
	t.Run("training and forward graphs agree", s.agreement)
	t.Run("problems of other shapes before change nothing", s.shapes)
	t.Run("many pairs of tasks are embedded in parts", s.parts)
	t.Run("the order of a task's rows changes nothing, and of the tasks permutes E and Phi", s.order)
	t.Run("features of scale 16 have finite results", s.large)
	t.Run("direction * v rises with o", s.direction)
}

func (s *suite) training(t *testing.T) *model.TrainingGraph {
	t.Helper()
	g := datatest.Must(model.NewTrainingGraph(s.network.Config, s.outcomes))(t)
	g.Measure = func(omega *mat.SymDense) (float64, *mat.SymDense, error) {
		slope := mat.NewSymDense(omega.SymmetricDim(), nil)
		value := 0.0
		for i := range omega.SymmetricDim() {
			for j := range omega.SymmetricDim() {
				weight := float64(1 + min(i, j))
				value += weight * omega.At(i, j)
				slope.SetSym(i, j, weight)
			}
		}
		return value, slope, nil
	}
	return g
}

// Perturb moves the parameters away from their start, where many are zero. Parameters above the
// embeddings are negated if wanted: a link may fall.
func Perturb(r *rand.Rand, c model.Config, p model.Params, negate bool) {
	for i, spec := range c.Specs() {
		for j := range p[i].Value {
			if negate && !spec.Embedding {
				p[i].Value[j] *= -1
			}
			p[i].Value[j] += 0.3 * r.NormFloat64()
		}
	}
}

// Problem returns a random classification problem of d dense features with
// tasks of the given numbers of training rows, at least two each. Both labels
// occur.
func Problem(r *rand.Rand, d int, rows ...int) *data.ProblemData {
	p := &data.ProblemData{Problem: &data.Problem{Name: "random"}}
	for j, n := range rows {
		value := datatest.Normals[float32](r, n*d)
		x, _ := data.NewDense(n, d, value) // has as many
		y := make([]float64, n)
		for i := range y {
			y[i] = float64(2*r.IntN(2) - 1)
		}
		y[0] = 1
		y[1] = -1
		p.Tasks = append(p.Tasks, data.TaskData{
			Task: &data.Task{
				Name: fmt.Sprint("task ", j),
				Kind: data.Classification,
			},
			TrainSet: data.Samples{
				X: x,
				Y: y,
			},
		})
	}
	return p
}

// Covariance returns a random m x m covariance with trace 1, row-major.
func Covariance(r *rand.Rand, m int) []float64 {
	a := mat.NewDense(m, m, datatest.Normals[float64](r, m*m))
	var omega mat.Dense
	omega.Mul(a, a.T())
	omega.Scale(1/mat.Trace(&omega), &omega)
	return omega.RawMatrix().Data
}

func (s *suite) prepare(t *testing.T, p *data.ProblemData) *model.Payload {
	t.Helper()
	return datatest.Must(model.Prepare(s.network.Config, p))(t)
}

func (s *suite) step(t *testing.T, tuples ...model.Tuple) model.Step {
	t.Helper()
	return datatest.Must(s.graph.Step(s.network.Params, s.payload, tuples))(t)
}

func (s *suite) estimate(
	t *testing.T, p *model.Payload, tuples ...model.Tuple) *model.Estimate {
	t.Helper()
	forward := model.NewForward(s.network)
	return datatest.Must(forward.Estimate(p, tuples...))(t)
}

func (s *suite) gradient(t *testing.T) {
	gradient := s.step(t, s.tuples...).Gradient.Clone()
	checked := 0
	kinks := 0
	for i, p := range s.network.Params {
		for j, x := range p.Value {
			difference := func(h float64) float64 {
				defer func() {
					p.Value[j] = x
				}()
				p.Value[j] = x + h
				up := s.step(t, s.tuples...).Loss
				p.Value[j] = x - h
				return (up - s.step(t, s.tuples...).Loss) / (2 * h)
			}
			checked++
			want := difference(step)
			got := gradient[i].Value[j]
			size := 1 + math.Abs(want)
			if math.Abs(got-want) <= gradientTolerance*size {
				continue
			}
			if math.Abs(difference(4*step)-want) > kinkTolerance*size {
				kinks++
				continue
			}
			t.Errorf("d loss / d %s[%d] is %v, by central differences %v",
				p.Name, j, got, want)
		}
	}
	datatest.Holds(t, kinks*10 <= checked,
		"%d of %d entries lie at a kink; the gradient is not proved", kinks, checked)
}

func (s *suite) tupleOrder(t *testing.T) {
	want := s.step(t, s.tuples...).Loss
	turned := slices.Clone(s.tuples)
	slices.Reverse(turned)
	near(t, "the loss of the tuples turned round",
		[]float64{s.step(t, turned...).Loss},
		[]float64{want})
}

// numbers are the loss of a step and its gradient.
func numbers(step model.Step) []float64 {
	row := []float64{step.Loss}
	for _, g := range step.Gradient {
		row = append(row, g.Value...)
	}
	return row
}

func (s *suite) agreement(t *testing.T) {
	training := s.step(t, s.tuples...)
	forward := s.estimate(t, s.payload)
	m := forward.Tasks
	for q, tuple := range s.tuples {
		f := floats.Dot(forward.Phi, tuple.Omega)
		f += forward.C * floats.Dot(tuple.Omega, tuple.Omega)
		near(t, "<Phi, Omega> + c tr(Omega^2)", []float64{f},
			training.F[q:][:1])
	}
	transposed := mat.DenseCopyOf(mat.NewDense(m, m, forward.Phi).T())
	near(t, "Phi transposed", transposed.RawMatrix().Data, forward.Phi)
}

// shapes compares the suite's graph, which has met nothing else, with one that has met a larger
// problem and a single task.
func (s *suite) shapes(t *testing.T) {
	used := *s
	used.graph = s.training(t)
	for seed, rows := range [][]int{{9, 12, 7, 8, 10}, {6}} {
		r := data.Stream(uint64(2+seed), "modeltest")
		used.payload = s.prepare(t, Problem(r, features, rows...))
		used.step(t, model.Tuple{
			Omega: Covariance(r, len(rows)),
			O:     1,
		})
	}
	used.payload = s.payload
	got := used.step(t, s.tuples...)
	want := s.step(t, s.tuples...)
	near(t, "the loss and its gradient after other problems",
		numbers(got), numbers(want))
}

// parts is for bodies of pairs, which a forward graph embeds some at a time where there
// are many, and a training graph at once.
func (s *suite) parts(t *testing.T) {
	const tasks = 66
	if !s.network.Config.FeatureFree() {
		t.Skip("the body is not of pairs")
	}
	r := data.Stream(4, "modeltest")
	large := *s
	rows := slices.Repeat([]int{3}, tasks)
	large.payload = s.prepare(t, Problem(r, features, rows...))
	tuple := model.Tuple{
		Omega: Covariance(r, tasks),
		O:     1,
	}
	parted := large.estimate(t, large.payload, tuple)
	near(t, "f of pairs embedded in parts", parted.F, large.step(t, tuple).F)
}

// changed is the problem with other training rows.
func (s *suite) changed(change func(rows *data.Samples)) *data.ProblemData {
	p := &data.ProblemData{
		Problem: s.problem.Problem,
		Tasks:   slices.Clone(s.problem.Tasks),
	}
	for j := range p.Tasks {
		change(&p.Tasks[j].TrainSet)
	}
	return p
}

// order turns the rows of every task round, and moves every task.
func (s *suite) order(t *testing.T) {
	turned := s.changed(func(rows *data.Samples) {
		var order []int
		for i := range slices.Backward(rows.Y) {
			order = append(order, i)
		}
		rows.X = rows.X.Take(order)
		rows.Y = data.Picked(rows.Y, order)
	})
	order := []int{1, 2, 0}
	turned.Tasks = data.Picked(turned.Tasks, order)
	got := s.estimate(t, s.prepare(t, turned))
	want := s.estimate(t, s.payload)
	m := want.Tasks
	tasks := func(v []float64) []float64 {
		parts := slices.Collect(slices.Chunk(v, len(v)/m))
		return slices.Concat(data.Picked(parts, order)...)
	}
	pairs := func(v []float64) (p []float64) {
		for row := range slices.Chunk(tasks(v), len(v)/m) {
			p = append(p, tasks(row)...)
		}
		return p
	}
	rows := tasks
	if s.network.Config.FeatureFree() {
		rows = pairs
	}
	near(t, "E", got.E, rows(want.E))
	near(t, "Phi", got.Phi, pairs(want.Phi))
	near(t, "c", []float64{got.C}, []float64{want.C})
}

// large has features that are not standardised. Errors name the operation.
func (s *suite) large(t *testing.T) {
	large := *s
	large.payload = s.prepare(t, s.changed(func(rows *data.Samples) {
		var value []float32
		for i := range rows.X.Rows() {
			for _, v := range rows.X.Row(i).Value {
				value = append(value, largeFeatures*v)
			}
		}
		rows.X = datatest.Must(data.NewDense(len(rows.Y), features, value))(t)
	}))
	large.step(t, s.tuples...)
}

// direction checks the link on a range of o's.
func (s *suite) direction(t *testing.T) {
	var probes []model.Tuple
	for o := 0.3; o < 2; o += 0.1 {
		probes = append(probes, model.Tuple{
			Omega: s.tuples[0].Omega,
			O:     o,
		})
	}
	v := s.estimate(t, s.payload, probes...).V
	direction := s.network.Direction()
	for q := range v[1:] {
		datatest.Holds(t, direction*(v[q+1]-v[q]) > 0,
			"v goes to %v as o rises to %v, against the direction %v", v[q+1],
			probes[q+1].O, direction)
	}
}

func near(t *testing.T, name string, got, want []float64) {
	t.Helper()
	datatest.Holds(t, floats.EqualApprox(got, want, equalTolerance),
		"%s: %v, want %v", name, got, want)
}
