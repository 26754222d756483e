package mixed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
)

// shape says what a random problem looks like.
type shape struct {
	name       string
	rows       []int // of every task
	wide       []int // features of every component
	components []Component
	loadings   []float64 // ones where nil
	loss       Loss
	noiseRows  float64
	covariance []float64 // of the own weights of correlated components
	twins      bool      // tasks of as many rows as the one before have its rows
}

// both is a component with common and own weights.
func both(common, own float64) Component { return Component{Common: common, Own: own} }

// fanned is a component whose own weight correlates with others.
func fanned(common, own float64) Component {
	return Component{Common: common, Own: own, Correlated: true}
}

// shapes have tasks of no row, of one, of fewer rows than features and of so many more that
// they are compressed, and components that lack weights of a kind.
var shapes = []shape{
	{name: "few rows", rows: []int{3, 2, 4, 1, 0}, wide: []int{1, 6}, components: []Component{both(2, .5), both(.3, .2)}},
	{name: "many rows", rows: []int{40, 30, 25}, wide: []int{1, 3, 2}, components: []Component{both(2, .5), both(.3, .2), both(.7, .1)}},
	{name: "rows of all numbers", rows: []int{0, 1, 30, 5, 6, 7, 60}, wide: []int{1, 4}, components: []Component{both(1, .5), both(.3, .4)}},
	{name: "nothing common", rows: []int{3, 20, 1}, wide: []int{1, 3}, components: []Component{both(0, .5), both(0, .4)}},
	{name: "nothing own", rows: []int{3, 20, 1}, wide: []int{1, 3}, components: []Component{both(.5, 0), both(.4, 0)}},
	{name: "one of each", rows: []int{3, 20, 1}, wide: []int{1, 3}, components: []Component{both(.5, 0), both(0, .4)}},
	{name: "loadings", rows: []int{8, 3, 30, 2}, wide: []int{1, 4}, components: []Component{both(1, .3), both(.6, .2)}, loadings: []float64{1, -.5, 1.4, 0}},
	{name: "fewer rows than features", rows: []int{2, 1, 0, 4}, wide: []int{1, 20, 3, 9}, components: []Component{both(1, .3), both(.02, .05), both(.2, .1), both(.1, 0)}},
	{name: "correlated", rows: append(slices.Repeat([]int{4}, 20), 40, 0), wide: []int{1, 1, 3, 1}, components: []Component{fanned(2, 1.5), fanned(.3, .4), both(.2, .1), fanned(.1, .2)},
		covariance: []float64{1.5, .6, .1, .6, .4, -.1, .1, -.1, .2}},
	{name: "twins", rows: []int{4, 4, 4, 0, 0, 30, 30}, wide: []int{1, 4}, components: []Component{both(1, .3), both(.6, .2)}, loadings: []float64{1, -.5, 1.4, 1, 1, 0, 0}, twins: true},
	{name: "twins of few rows", rows: []int{5, 5, 5, 2, 2}, wide: []int{1, 12}, components: []Component{both(1, .3), both(.05, .04)}, twins: true},
	{name: "correlated twins", rows: []int{6, 6, 6, 9, 9}, wide: []int{1, 1}, components: []Component{fanned(2, 1.5), fanned(.3, .4)}, twins: true, covariance: []float64{1.5, .3, .3, .4}},
	{name: "one task", rows: []int{9}, wide: []int{1, 3}, components: []Component{both(1, .3), both(.6, .2)}},
}

// many is a shape of more tasks than a product takes.
var many = shape{rows: slices.Repeat([]int{1}, tasksStacked+12), wide: []int{1, 130}, components: []Component{both(1, .3), both(.02, .01)}}

// firstNoise is the noise where searches begin.
const firstNoise = 0.3

// problem draws rows and targets of a shape. Targets follow the model at its variances.
func (s shape) problem(r *rand.Rand) Problem {
	p := Problem{Components: slices.Clone(s.components), Loss: s.loss, Noise: firstNoise, NoiseRows: s.noiseRows}
	for k, wide := range s.wide {
		p.Part = append(p.Part, slices.Repeat([]int{k}, wide)...)
	}
	d := len(p.Part)
	if q := int(math.Sqrt(float64(len(s.covariance)))); q > 0 {
		p.Covariance = mat.NewSymDense(q, s.covariance)
	}
	common := make([]float64, d)
	for j := range common {
		common[j] = r.NormFloat64() * math.Sqrt(p.Components[p.Part[j]].Common)
	}
	for i, n := range s.rows {
		t := Task{Loading: 1}
		if s.loadings != nil {
			t.Loading = s.loadings[i]
		}
		w := make([]float64, d)
		for j := range w {
			w[j] = t.Loading*common[j] + r.NormFloat64()*math.Sqrt(p.Components[p.Part[j]].Own)
		}
		for j := range n {
			row := features(r, d)
			if s.twins && i > 0 && n == s.rows[i-1] {
				row = p.Tasks[i-1].Features[j*d:][:d]
			}
			t.Features = append(t.Features, row...)
			t.Y = append(t.Y, target(r, s.loss, floats.Dot(row, w)))
		}
		p.Tasks = append(p.Tasks, t)
	}
	return p
}

// features of a random row, the first of which is 1.
func features(r *rand.Rand, d int) []float64 {
	row := datatest.Normals[float64](r, d)
	row[0] = 1
	return row
}

// target draws a target about f.
func target(r *rand.Rand, loss Loss, f float64) float64 {
	switch loss.(type) {
	case Logistic:
		if r.Float64() < 1/(1+math.Exp(-f)) {
			return 1
		}
		return -1
	case Poisson:
		count := -1.0
		for left := math.Exp(f); left > 0; count++ {
			left -= r.ExpFloat64()
		}
		return max(0, count)
	case Huber:
		return f + r.NormFloat64()
	}
	return f + math.Sqrt(0.3)*r.NormFloat64()
}

// dense is a problem as one Gaussian process over all rows, whose covariance is
//
//	l_s l_t phi' A phi + [s = t] phi' C phi + noise
type dense struct {
	Problem
	noise float64
	own   *mat.SymDense
	phi   *mat.Dense // rows of all tasks
	task  []int      // of every row
	y     *mat.VecDense
	c     mat.Cholesky
}

func newDense(p Problem, noise float64) *dense {
	g := &dense{Problem: p, noise: noise, own: own(p)}
	var rows, targets []float64
	for i, t := range p.Tasks {
		rows = append(rows, t.Features...)
		targets = append(targets, t.Y...)
		g.task = append(g.task, slices.Repeat([]int{i}, len(t.Y))...)
	}
	n := len(targets)
	g.phi = mat.NewDense(n, len(p.Part), rows)
	g.y = mat.NewVecDense(n, targets)
	c := mat.NewSymDense(n, nil)
	for i, s := range g.task {
		for j, t := range g.task[:i+1] {
			c.SetSym(i, j, g.kernel(s, t, g.phi.RawRowView(i), g.phi.RawRowView(j)))
		}
		c.SetSym(i, i, c.At(i, i)+noise)
	}
	if !g.c.Factorize(c) {
		panic("the covariance of the rows is not positive definite")
	}
	return g
}

// newTask is the number of a task without rows, whose loading is 1.
const newTask = -1

func (g *dense) loading(t int) float64 {
	if t == newTask {
		return 1
	}
	return g.Tasks[t].Loading
}

// kernel is the prior covariance of f of two rows.
func (g *dense) kernel(s, t int, x, z []float64) (sum float64) {
	for j, k := range g.Part {
		sum += g.loading(s) * g.loading(t) * g.Components[k].Common * x[j] * z[j]
	}
	if s == t {
		sum += mat.Inner(mat.NewVecDense(len(x), x), g.own, mat.NewVecDense(len(z), z))
	}
	return sum
}

// predict is the posterior mean and variance of f of a row of a task.
func (g *dense) predict(t int, x []float64) (mean, variance float64) {
	k := mat.NewVecDense(len(g.task), nil)
	for i, s := range g.task {
		k.SetVec(i, g.kernel(s, t, g.phi.RawRowView(i), x))
	}
	var solved mat.VecDense
	if err := g.c.SolveVecTo(&solved, k); err != nil {
		panic(err)
	}
	return mat.Dot(&solved, g.y), g.kernel(t, t, x, x) - mat.Dot(&solved, k)
}

// common is the posterior covariance of w: A - A F'C^-1 F A.
func (g *dense) common() *mat.Dense {
	d := len(g.Part)
	fa := mat.DenseCopyOf(g.phi)
	fa.Apply(func(i, j int, v float64) float64 {
		return v * g.loading(g.task[i]) * g.Components[g.Part[j]].Common
	}, fa)
	var solved, cov mat.Dense
	if err := g.c.SolveTo(&solved, fa); err != nil {
		panic(err)
	}
	cov.Mul(fa.T(), &solved)
	cov.Scale(-1, &cov)
	for j := range d {
		cov.Set(j, j, cov.At(j, j)+g.Components[g.Part[j]].Common)
	}
	return &cov
}

// evidence is the logarithm of the marginal likelihood of the targets, and of the prior of the
// variances.
func (g *dense) evidence(prior float64) float64 {
	var solved mat.VecDense
	if err := g.c.SolveVecTo(&solved, g.y); err != nil {
		panic(err)
	}
	sum := -0.5 * (mat.Dot(&solved, g.y) + g.c.LogDet() + float64(len(g.task))*math.Log(2*math.Pi))
	sum -= g.NoiseRows / 2 * (math.Log(g.noise) + firstNoise/g.noise)
	if g.Covariance != nil {
		var root mat.Cholesky
		root.Factorize(g.Covariance)
		sum += independent / 2 * root.LogDet()
	}
	for _, c := range g.Components {
		if c.Correlated {
			sum -= independent / 2 * math.Log(c.Own)
		}
		sum -= prior / 2 * c.Size * c.Own
		if !c.Fixed {
			sum -= prior / 2 * c.Size * c.Common
		}
	}
	return sum
}

// near fails a test whose number is not what an independent way found.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	datatest.Holds(t, math.Abs(got-want) <= tolerance*(1+math.Abs(want)),
		"%s: %.10g; it should be %.10g", what, got, want)
}

func fit(t *testing.T, p Problem, o Options) *Fit {
	t.Helper()
	return datatest.Must(New(t.Context(), p, o))(t)
}

// source is a random stream, whose seed the test prints.
func source(t *testing.T, seed uint64) *rand.Rand {
	t.Logf("seed %d", seed)
	return data.Stream(seed, t.Name())
}

// TestPosteriorIsThatOfOneGaussianProcess compares what blocks say with one matrix of all rows.
func TestPosteriorIsThatOfOneGaussianProcess(t *testing.T) {
	datatest.Long(t)
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			for seed := range uint64(3) {
				comparePosteriors(t, source(t, seed), s)
			}
		})
	}
	comparePosteriors(t, source(t, 0), many)
}

func comparePosteriors(t *testing.T, r *rand.Rand, s shape) {
	p := s.problem(r)
	d := len(p.Part)
	f := fit(t, p, Options{Given: true})
	g := newDense(p, p.Noise)
	for i := newTask; i < len(p.Tasks); i++ {
		for range 3 {
			x := features(r, d)
			want, _ := g.predict(i, x)
			got := g.loading(i) * floats.Dot(x, f.Common)
			if i != newTask {
				got += floats.Dot(x, f.Own[i])
			}
			near(t, fmt.Sprintf("prediction of task %d", i), got, want, 1e-7)
		}
	}
	cov := mat.NewDense(d, d, nil)
	for row := range slices.Chunk(f.Root, d) {
		cov.RankOne(cov, 1, mat.NewVecDense(d, row), mat.NewVecDense(d, row))
	}
	want := g.common()
	for i := range d {
		for j := range d {
			near(t, fmt.Sprintf("covariance %d, %d of w", i, j), cov.At(i, j), want.At(i, j), 1e-7)
		}
	}
	explained := make([]float64, len(p.Components))
	row := 0
	for i, task := range p.Tasks {
		after, before := 0.0, 0.0
		for range task.Y {
			x := g.phi.RawRowView(row)
			_, variance := g.predict(i, x)
			after += variance
			before += task.Loading * task.Loading * mat.Inner(mat.NewVecDense(d, x), want, mat.NewVecDense(d, x))
			before += mat.Inner(mat.NewVecDense(d, x), g.own, mat.NewVecDense(d, x))
			parts := make([]float64, len(explained))
			for j, v := range x {
				parts[p.Part[j]] += task.Loading * v * f.Common[j]
			}
			floats.Mul(parts, parts)
			floats.Add(explained, parts)
			row++
		}
		left := 1.0
		if len(task.Y) > 0 {
			left = min(1, after/before)
		}
		near(t, fmt.Sprintf("what is left of task %d", i), f.Left[i], left, 1e-7)
	}
	for k, squares := range explained {
		near(t, fmt.Sprintf("the mean square of component %d", k), f.Explained[k], squares/float64(row), 1e-7)
	}
}

// TestWorkersDoNotChangeAFit compares the bits of fits by one worker and by three.
func TestWorkersDoNotChangeAFit(t *testing.T) {
	for _, s := range shapes {
		for _, loss := range []Loss{nil, Logistic{}} {
			s.loss = loss
			p := s.problem(source(t, 1))
			one := fit(t, p, Options{Workers: 1})
			three := fit(t, p, Options{Workers: 3})
			datatest.Holds(t, reflect.DeepEqual(one, three),
				"%s, loss %T: three workers find another fit than one", s.name, loss)
		}
	}
}

// TestVariancesMaximiseTheEvidence takes central differences of the evidence of all rows at the
// variances where steps end. A variance of 0 has an evidence that falls from there.
func TestVariancesMaximiseTheEvidence(t *testing.T) {
	datatest.Long(t)
	fixed := Component{Common: 100, Own: .5, Fixed: true}
	all := append(slices.Clone(shapes), shape{
		name: "a fixed level", rows: []int{3, 2, 9, 20, 1}, wide: []int{1, 3}, components: []Component{fixed, both(.3, .2)},
	}, shape{
		name: "noise has a prior", rows: []int{3, 2, 9, 20, 1}, wide: []int{1, 3}, components: []Component{fixed, both(.3, .2)}, noiseRows: 7,
	})
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			for seed := range uint64(2) {
				compareEvidence(t, s.problem(source(t, seed)))
			}
		})
	}
}

func compareEvidence(t *testing.T, p Problem) {
	s := newSearch(p, Options{Workers: 1})
	s.posterior(1)
	start := clone(s)
	for range 1500 {
		moved := s.move()
		s.posterior(1)
		if moved < 1e-10 {
			break
		}
	}
	end := clone(s)
	evidence := func() float64 {
		return newDense(end, s.Noise).evidence(weak)
	}
	best := evidence()
	logNoise := fd.Derivative(func(v float64) float64 {
		return newDense(end, math.Exp(v)).evidence(weak)
	}, math.Log(s.Noise), &fd.Settings{Formula: fd.Central, Step: 1e-4})
	near(t, "slope of the evidence along the logarithm of the noise", logNoise, 0, 1e-3)
	for k := range end.Components {
		c := &end.Components[k]
		if !c.Fixed {
			compareSlope(t, fmt.Sprintf("common variance %d", k), &c.Common, start.Components[k].Common, evidence)
		}
		if !c.Correlated {
			compareSlope(t, fmt.Sprintf("own variance %d", k), &c.Own, start.Components[k].Own, evidence)
		}
	}
	compareCovariance(t, end, s.Noise)
	first := newDense(start, p.Noise).evidence(weak)
	datatest.Holds(t, best >= first-1e-9, "the evidence fell from %g to %g", first, best)
	f := fit(t, p, Options{})
	p.Components = f.Components
	p.Covariance = f.Covariance
	found := newDense(p, f.Noise).evidence(weak)
	datatest.Holds(t, found >= best-0.5, "the evidence of the fit is %g; %g can be had", found, best)
}

// clone is the problem of a search at its present variances.
func clone(s *search) Problem {
	p := s.Problem
	p.Components = slices.Clone(p.Components)
	return p
}

// compareSlope checks the slope of the evidence along a variance that began at start.
func compareSlope(t *testing.T, what string, v *float64, start float64, evidence func() float64) {
	t.Helper()
	value := *v
	defer func() { *v = value }()
	at := func(x float64) float64 {
		*v = x
		return evidence()
	}
	switch {
	case start == 0 && value != 0:
		t.Errorf("%s: it was left out, and is %g", what, value)
	case start == 0:
	case value == 0:
		step := 1e-4
		datatest.Holds(t, at(step) <= at(0)+1e-9, "%s: it is 0, and the evidence rises from there", what)
	default:
		slope := fd.Derivative(func(x float64) float64 { return at(math.Exp(x)) }, math.Log(value), &fd.Settings{Formula: fd.Central, Step: 1e-4})
		near(t, "slope of the evidence along the logarithm of "+what, slope, 0, 1e-3)
	}
}
