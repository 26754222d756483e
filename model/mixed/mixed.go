// Package mixed fits mixed models: weights that all tasks have in common and weights of each
// task, with variances that the rows themselves choose.
//
//	f_t(x) = sum_j phi_j(x) (l_t w_j + u_tj),   w_j ~ N(0, a),   u_tj ~ N(0, c)
//
// The features phi are a constant, whose weights are the level b of all tasks and the levels b_t of
// each, the columns as they are, the bends of their curves, and coordinates of kernels. The
// features of a Component share one a and one c. So the weights of a component have the covariance
// a l l' + c I over the tasks: problem (1) with an Omega for every component. The loading l_t is 1
// unless tasks are targets of different meaning. The levels of tasks and their slopes
// along few columns have a covariance D in place of variances c.
//
// The variances maximise the marginal likelihood of the rows (the evidence). For counts it is
// Laplace's approximation, at the likeliest scores. For classes the loss is the mean over the
// distribution of the scores, as the likeliest level of a task of few rows is far nearer to 0 than
// its mean. Given w, tasks are independent. So a step costs n_t D (n_t + D) for each task and D^3
// once. Rows of a task are reduced to D at most, and features of a component to the number of rows.
package mixed

import (
	"cmp"
	"context"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/layers/linalg"
)

// Component is a group of features with the same variances.
type Component struct {
	// Name names the features.
	Name string
	// Common is the variance a of the common weights, Own the variance c of the tasks' own.
	// Where a search begins they are the variances that these weights give to f. 0 leaves
	// weights out.
	Common float64
	Own    float64
	// Fixed keeps the common variance at its start.
	Fixed bool
	// Correlated components have a feature each, whose own weights have one covariance.
	Correlated bool
	// Size is the mean over the rows of the sum of the squared features. Times Common or Own
	// it is the variance that the component gives to f. New measures it.
	Size float64
}

// Task holds the rows of a task.
type Task struct {
	// Features has D numbers for every row.
	Features []float64
	// Y holds the targets: numbers, counts, or -1 and +1.
	Y []float64
	// Loading is the task's share l_t of the common weights.
	Loading float64
	// Offset is a part of f in each row beside its features; nil means 0.
	Offset []float64
	// Weight is how much each row counts; nil means 1. The noise is of a row that counts 1.
	Weight []float64
}

// root is the square root of a row's weight.
func (t *Task) root(row int) float64 {
	if t.Weight == nil {
		return 1
	}
	return math.Sqrt(t.Weight[row])
}

// Problem holds the rows of all tasks and the components of their features.
type Problem struct {
	Tasks      []Task
	Components []Component
	// Part is the component of every feature.
	Part []int
	// Loss of a row; nil is the squared error over a variance, which is found too.
	Loss Loss
	// Covariance of the own weights of correlated components where the search begins; nil is
	// diagonal, of their variances.
	Covariance *mat.SymDense
	// Noise is that variance where the search begins; 0 means 0.5.
	Noise float64
	// NoiseRows is how many rows of this variance count beside the rows of the tasks. They keep
	// flexible features, such as a kernel's, from passing through every row.
	NoiseRows float64
}

// Twin says that a task has the rows of the one before, and the squared error: they differ in
// targets and loadings alone.
func (p *Problem) Twin(i int) bool {
	if p.Loss != nil || i == 0 || i == len(p.Tasks) {
		return false
	}
	t := p.Tasks[i]
	last := p.Tasks[i-1]
	return slices.Equal(t.Features, last.Features) &&
		slices.Equal(t.Weight, last.Weight)
}

// Options control a fit. The zero value means the defaults.
type Options struct {
	// Workers is the number of goroutines; the result does not depend on it. 0 means 1.
	Workers int
	// Given keeps the variances as they are.
	Given bool
}

// Fit is the posterior of a problem under the variances found.
type Fit struct {
	// Components have the variances.
	Components []Component
	// Noise is the variance of a target about f; 1 where there is a Loss.
	Noise float64
	// Common is the mean of w.
	Common []float64
	// Own is the mean of every task's u_t.
	Own [][]float64
	// Root has a matrix R of D columns, for which R'R is the covariance of w.
	Root []float64
	// Left is, for every task, how much of the variance that f has in a new task of its loading
	// its rows leave, in the mean over these rows.
	Left []float64
	// Explained is, for every component, the mean square over the rows of its common part of f.
	// Where weights are few they tell it better than their variance.
	Explained []float64
	// Covariance of the own weights of correlated components.
	Covariance *mat.SymDense
}

const (
	// mostSteps and tolerance end the search: variances that still move by a hundredth of
	// f's variance change predictions by less than rows can tell.
	mostSteps = 60
	tolerance = 1e-2
	// weak and weakClasses are the rates of the exponential prior of a component's variance,
	// in units of the targets' variance. It takes out components that bring nothing.
	weak        = 4.0
	weakClasses = 1.0
	// leastShare and mostShare bound a component's share of f's variance.
	leastShare = 1e-9
	mostShare  = 1e4
	leastNoise = 1e-6
	// littleNoise is the share of the targets' variance below which noise need not be exact.
	littleNoise = 0.0005
	// newtonSteps bounds the steps of Newton's method under the last variances, which end
	// where no score moves by closeEnough.
	newtonSteps = 30
	closeEnough = 1e-5
	// longestStep bounds how far a step moves a score.
	longestStep    = 3.0
	leastCurvature = 1e-4
	// jitter keeps products of rows that depend on each other positive definite.
	jitter = 1e-9
)

// New finds the variances of a problem, unless they are given, and the weights.
func New(ctx context.Context, p Problem, o Options) (*Fit, error) {
	o.Workers = max(1, o.Workers)
	n := narrow(p, o.Workers)
	s := newSearch(n.narrowed, o)
	newton := 3
	for step := 0; !o.Given && step < mostSteps && ctx.Err() == nil; step++ {
		s.posterior(newton)
		newton = 1
		if s.move() < tolerance && step > 0 {
			break
		}
	}
	err := ctx.Err()
	if err != nil {
		return nil, err
	}
	s.posterior(newtonSteps)
	return n.widen(s.fit()), nil
}

// search holds a problem while its variances are sought.
type search struct {
	Problem
	ker        linalg.Kernels
	workers    int
	d          int
	rows       int       // of all tasks
	a          []float64 // variance of every common weight
	c          []float64 // variance of every own weight
	shared     []int     // features with a > 0
	correlated []int     // features of correlated components
	common     []float64 // mean of w
	root       []float64 // covariance of w, of shared features: root' root
	stacked    []float64 // rows of some tasks, of shared features, times their loadings
	reach      []float64 // times root'
	blocks     []block
	first      float64 // noise where the search began
	rule       rule
}

// block is a task in a step, or q tasks that are twins. Its rows are divided by the root of their
// variance, and D rows stand for more than D.
type block struct {
	Task
	twins    []Task        // all q of them
	loadings []float64     // of the twins
	loading  float64       // root of their squares' sum
	score    []float64     // f of every row, less its offset
	doubts   []float64     // variances of the scores, given w
	rows     int           // k
	first    int           // row of its stack that its rows begin at
	f        []float64     // k x D, features
	z        []float64     // k x q, targets
	lost     float64       // squares of targets that no weights explain
	replaced int           // rows that the k rows stand for, beyond k
	inverse  []float64     // L^-1, where L L' = C = noise + f diag(c) f'
	r        []float64     // k x D, L^-1 f
	v        []float64     // k x q, L^-1 z
	move     []float64     // the step that the scores would take
	slope    []float64     // q x D, (z - l f w)' C^-1 f
	expected []float64     // of the squared slopes
	products *mat.SymDense // expectation of products of slopes, of correlated components
	alpha    float64       // squared length of C^-1 (z - l f w)
	trace    float64       // its expectation
	left     []float64     // q, of the variance of f
}

func newSearch(p Problem, o Options) *search {
	s := &search{
		Problem: p,
		ker:     linalg.Default(),
		workers: o.Workers,
		d:       len(p.Part),
	}
	s.Components = slices.Clone(p.Components)
	s.Noise = cmp.Or(p.Noise, 0.5)
	if p.Loss != nil {
		s.Noise = 1
		s.rule.set()
	}
	s.first = s.Noise
	s.common = make([]float64, s.d)
	for i, t := range p.Tasks {
		if t.Offset == nil {
			t.Offset = make([]float64, len(t.Y))
		}
		if !p.Twin(i) {
			b := block{
				Task:  t,
				score: make([]float64, len(t.Y)),
			}
			b.doubts = make([]float64, len(t.Y))
			s.blocks = append(s.blocks, b)
		}
		b := &s.blocks[len(s.blocks)-1]
		b.twins = append(b.twins, t)
		b.loadings = append(b.loadings, t.Loading)
		b.loading = math.Hypot(b.loading, t.Loading)
	}
	s.measure(o.Given)
	s.correlate()
	s.spread()
	if p.Loss == nil {
		s.each(s.blocks, s.linearise)
	}
	return s
}

// scratch has room for passing results of a task.
type scratch struct{ scaled, taken, rows, restored []float64 }

// work is done for a task.
type work func(b *block, t *scratch)

// each does work for every task, side by side.
func (s *search) each(blocks []block, do work) {
	s.ker.Threads = 1
	var group errgroup.Group
	group.SetLimit(s.workers)
	for chunk := range slices.Chunk(blocks, 1+len(blocks)/(8*s.workers)) {
		group.Go(func() error {
			var t scratch
			for i := range chunk {
				do(&chunk[i], &t)
			}
			return nil
		})
	}
	_ = group.Wait() // no work fails
	s.ker.Threads = s.workers
}

// measure finds the sizes of the components, and the variances of weights.
func (s *search) measure(given bool) {
	sums := make([]float64, len(s.Components))
	for _, t := range s.Tasks {
		s.rows += len(t.Y)
		for row := range slices.Chunk(t.Features, max(1, s.d)) {
			for j, v := range row {
				sums[s.Part[j]] += v * v
			}
		}
	}
	for k := range s.Components {
		c := &s.Components[k]
		c.Size = sums[k] / float64(max(1, s.rows))
		switch {
		case c.Size == 0:
			c.Common = 0
			c.Own = 0
		case !given:
			c.Common /= c.Size
			c.Own /= c.Size
		}
	}
}

// spread gives every feature the variances of its component.
func (s *search) spread() {
	s.a = make([]float64, s.d)
	s.c = make([]float64, s.d)
	s.shared = nil
	for j, k := range s.Part {
		s.a[j] = s.Components[k].Common
		if !s.Components[k].Correlated {
			s.c[j] = s.Components[k].Own
		}
		if s.a[j] > 0 {
			s.shared = append(s.shared, j)
		}
	}
}

// whiten takes rows of unit variance, and where there are more than D of them the D rows
//
//	L' w = L^-1 f'z,   L L' = f'f
//
// which say the same of the weights.
func (s *search) whiten(b *block, f, z []float64) {
	q := len(b.twins)
	n := len(z) / q
	d := s.d
	b.rows = n
	b.f = f
	b.z = z
	b.lost = 0
	b.replaced = 0
	if n <= d+d/4 {
		return
	}
	gram := s.atb(nil, f, d, f, d)
	root := s.rooted(gram, d)
	if root == nil {
		return
	}
	targets := s.atb(nil, f, d, z, q)
	b.z = s.ab(nil, gram, d, targets, q)
	b.lost = max(0, floats.Dot(z, z)-floats.Dot(b.z, b.z))
	b.rows = d
	b.f = mat.DenseCopyOf(root.T()).RawMatrix().Data
	b.replaced = n - d
}

// rooted returns L, where L L' are n x n products, and leaves L^-1 in their place. It is nil where
// products are not finite.
func (s *search) rooted(products []float64, n int) *mat.Dense {
	size := 0.0
	for i := range n {
		size += products[i*n+i] / float64(n)
	}
	for i := range n {
		products[i*n+i] += jitter*size + tiny
	}
	if !linalg.Cholesky(s.ker, n, products) {
		return nil
	}
	root := slices.Clone(products)
	for i := range n {
		clear(root[i*n+i+1 : (i+1)*n])
	}
	linalg.Invert(s.ker, n, products)
	return mat.NewDense(n, n, root)
}

// posterior finds w and u_t under the variances. Where there is a Loss it takes steps of Newton's
// method: fits of z = f - slope/curvature, with variances 1/curvature.
func (s *search) posterior(newton int) {
	for range newton {
		if s.Loss != nil {
			s.each(s.blocks, s.linearise)
		}
		s.each(s.blocks, s.factor)
		s.together()
		s.each(s.blocks, s.apart)
		if s.Loss == nil || s.rescore() < closeEnough {
			return
		}
	}
}

// linearise makes rows of unit variance of a loss about the scores and their doubts. Of the
// squared error they are the targets, whatever the scores.
func (s *search) linearise(b *block, _ *scratch) {
	z := b.z[:0]
	f := b.Features
	if s.Loss != nil || b.Weight != nil {
		f = append(b.f[:0], f...)
	}
	for i := range b.Y {
		root := b.root(i)
		for _, t := range b.twins {
			target := t.Y[i] - t.Offset[i]
			if s.Loss != nil {
				slope, curvature := s.slope(b, i)
				root *= math.Sqrt(curvature)
				target = b.score[i] - slope/curvature
			}
			z = append(z, root*target)
		}
		if root != 1 {
			floats.Scale(root, f[i*s.d:][:s.d])
		}
	}
	s.whiten(b, f, z)
}

// slope of a row's loss, and its curvature, at the score and its doubt.
func (s *search) slope(b *block, row int) (slope, curvature float64) {
	score := b.score[row] + b.Offset[row]
	_, averaged := s.Loss.(Logistic)
	if averaged {
		slope, curvature = s.rule.mean(score, b.doubts[row], b.Y[row])
	} else {
		_, slope, curvature = s.Loss.At(score, b.Y[row])
	}
	return slope, max(curvature, leastCurvature)
}

// factor makes L^-1, r and v of a task.
func (s *search) factor(b *block, t *scratch) {
	k := b.rows
	d := s.d
	t.scaled = s.covaried(t.scaled, b.f)
	b.inverse = s.abt(b.inverse, t.scaled, d, b.f, d)
	for i := range k {
		b.inverse[i*k+i] += s.Noise
	}
	linalg.Cholesky(s.ker, k, b.inverse)
	linalg.Invert(s.ker, k, b.inverse)
	b.r = s.ab(b.r, b.inverse, k, b.f, d)
	b.v = s.ab(b.v, b.inverse, k, b.z, len(b.twins))
}

// tasksStacked is the number of tasks whose rows are multiplied at a time. Products of one task's
// rows would spend their time on packing, and rows of all tasks would take room.
const tasksStacked = 128

// stacks gathers the rows r of some blocks after others, of shared features, times their loadings.
func (s *search) stacks(do func(blocks []block)) {
	for blocks := range slices.Chunk(s.blocks, tasksStacked) {
		stacked := 0
		for i := range blocks {
			blocks[i].first = stacked
			stacked += blocks[i].rows
		}
		p := len(s.shared)
		s.stacked = room(s.stacked, stacked*p)
		s.each(blocks, func(b *block, _ *scratch) {
			to := s.stacked[b.first*p:]
			for row := range slices.Chunk(b.r, s.d) {
				for i, j := range s.shared {
					to[i] = b.loading * row[j]
				}
				to = to[p:]
			}
		})
		do(blocks)
	}
}

// together finds the posterior of w, whose precision is I + A^1/2 (sum r'r) A^1/2 in units of
// A^1/2.
func (s *search) together() {
	p := len(s.shared)
	precision := make([]float64, p*p)
	q := make([]float64, p)
	s.stacks(func(blocks []block) {
		var v []float64
		for _, b := range blocks {
			for row := range slices.Chunk(b.v, len(b.twins)) {
				v = append(v, floats.Dot(row, b.loadings)/(b.loading+tiny))
			}
		}
		floats.Add(precision, s.atb(nil, s.stacked, p, s.stacked, p))
		floats.Add(q, s.atb(nil, s.stacked, p, v, 1))
	})
	for i, ji := range s.shared {
		q[i] *= math.Sqrt(s.a[ji])
		for k, jk := range s.shared {
			precision[i*p+k] *= math.Sqrt(s.a[ji] * s.a[jk])
		}
		precision[i*p+i]++
	}
	linalg.Cholesky(s.ker, p, precision)
	linalg.Invert(s.ker, p, precision)
	w := s.ab(nil, precision, p, q, 1)
	w = s.atb(nil, precision, p, w, 1)
	clear(s.common)
	for i, j := range s.shared {
		s.common[j] = w[i] * math.Sqrt(s.a[j])
		for k := range p {
			precision[k*p+i] *= math.Sqrt(s.a[j])
		}
	}
	s.root = precision
}

// reached finds the rows of stacks times root', and does work for their tasks.
func (s *search) reached(do work) {
	p := len(s.shared)
	s.stacks(func(blocks []block) {
		s.reach = s.abt(s.reach, s.stacked, p, s.root, p)
		s.each(blocks, do)
	})
}

// apart finds the part of tasks that the common weights leave.
func (s *search) apart(b *block, t *scratch) {
	d := s.d
	k := b.rows
	q := len(b.twins)
	t.taken = s.ab(t.taken, b.r, d, s.common, 1)
	rest := append(t.rows[:0], b.v...)
	t.rows = rest
	for row, v := range t.taken {
		floats.AddScaled(rest[row*q:][:q], -v, b.loadings)
	}
	b.slope = s.atb(b.slope, rest, q, b.r, d)
	t.restored = s.atb(t.restored, b.inverse, k, rest, q)
	b.alpha = floats.Dot(t.restored, t.restored) + b.lost/(s.Noise*s.Noise)
	if s.Loss == nil {
		return
	}
	t.restored = s.covaried(t.restored, b.slope)
	floats.AddScaled(t.restored, b.Loading, s.common)
	b.move = s.ab(b.move, b.Features, d, t.restored, 1)
	floats.Sub(b.move, b.score)
	_, averaged := s.Loss.(Logistic)
	if averaged {
		s.doubt(b, t)
	}
}

// doubt finds the variance of each score, phi' diag(c) phi - |r diag(c) phi|^2.
func (s *search) doubt(b *block, t *scratch) {
	d := s.d
	t.scaled = s.covaried(t.scaled, b.Features)
	t.rows = s.abt(t.rows, t.scaled, d, b.r, d)
	for i := range b.doubts {
		features := b.Features[i*d:][:d]
		variance := floats.Dot(features, t.scaled[i*d:][:d])
		row := t.rows[i*b.rows:][:b.rows]
		b.doubts[i] = max(0, variance-floats.Dot(row, row))
	}
}

// rescore moves the scores to the weights, and returns how far the farthest one wants to move.
func (s *search) rescore() float64 {
	distance := 0.0
	for _, b := range s.blocks {
		distance = max(distance, floats.Norm(b.move, math.Inf(1)))
	}
	step := min(1, longestStep/max(distance, closeEnough))
	_, steady := s.Loss.(Huber)
	if steady { // each whole step goes down
		step = 1
	}
	for _, b := range s.blocks {
		floats.AddScaled(b.score, step, b.move)
	}
	return distance
}

// expect finds the squared slopes and alpha of a block that chance alone would make. The common
// weights take the part that all rows say.
func (s *search) expect(b *block, t *scratch) {
	d := s.d
	k := b.rows
	p := len(s.shared)
	q := float64(len(b.twins))
	t.taken = room(t.taken, k*k)
	clear(t.taken)
	reach := s.reach[b.first*p:][:k*p]
	if p > 0 {
		t.taken = s.abt(t.taken, reach, p, reach, p)
	}
	t.rows = s.ab(t.rows, t.taken, k, b.r, d)
	floats.AddScaled(t.rows, -q, b.r)
	b.expected = make([]float64, d)
	for i := range k {
		for j, r := range b.r[i*d:][:d] {
			b.expected[j] -= r * t.rows[i*d+j]
		}
	}
	s.expectProducts(b, t.rows)
	t.restored = s.ab(t.restored, t.taken, k, b.inverse, k)
	floats.AddScaled(t.restored, -q, b.inverse)
	b.trace = q*float64(b.replaced)/s.Noise - floats.Dot(b.inverse, t.restored)
}

// move takes a step of the variances towards the maximum of the evidence,
//
//	s <- s slope / (its expectation + prior)
//
// where slope is the squared slope of the log likelihood along weights of unit variance (MacKay
// 1992, "Bayesian interpolation"). At the root of that ratio no step would lower the evidence
// (Zhou and others 2019, "MM algorithms for variance components models"), but twice as many would
// be needed. It returns how far the variances moved, relative to all of them.
func (s *search) move() (moved float64) {
	s.reached(s.expect)
	slopes := make([]float64, len(s.Components))
	expected := make([]float64, len(s.Components))
	alpha := 0.0
	trace := 0.0
	for _, b := range s.blocks {
		for i, slope := range b.slope {
			slopes[s.Part[i%s.d]] += slope * slope
		}
		for j, v := range b.expected {
			expected[s.Part[j]] += v
		}
		alpha += b.alpha
		trace += b.trace
	}
	commonSlopes, commonExpected := s.commonSlopes()
	prior := weak
	total := 0.0
	if s.Loss != nil {
		prior = weakClasses
	}
	for _, c := range s.Components {
		total += c.Own * c.Size
		if !c.Fixed {
			total += c.Common * c.Size
		}
	}
	next := func(v, slope, expected, size float64) float64 {
		to := v * slope / (expected + prior*size) * size
		if to < leastShare {
			to = 0
		}
		to = min(to, mostShare)
		moved = max(moved, math.Abs(to-v*size)/total)
		return to / size
	}
	for k := range s.Components {
		c := &s.Components[k]
		if c.Common > 0 && !c.Fixed {
			c.Common = next(c.Common,
				commonSlopes[k], commonExpected[k], c.Size)
		}
		if c.Own > 0 && !c.Correlated {
			c.Own = next(c.Own, slopes[k], expected[k], c.Size)
		}
	}
	if s.Loss == nil && trace > 0 {
		squares := s.Noise*s.Noise*alpha + s.NoiseRows*s.first
		noise := max(leastNoise, squares/(s.Noise*trace+s.NoiseRows))
		moved = max(moved, math.Abs(noise-s.Noise)/(s.Noise+littleNoise))
		s.Noise = noise
	}
	moved = max(moved, s.moveCovariance(prior)/total)
	s.spread()
	return moved
}

// commonSlopes are the squared slopes of the common weights by component, and their expectations.
func (s *search) commonSlopes() (slopes, expected []float64) {
	slopes = make([]float64, len(s.Components))
	expected = make([]float64, len(s.Components))
	variance := make([]float64, len(s.shared))
	for i, v := range s.root {
		variance[i%len(s.shared)] += v * v
	}
	for i, j := range s.shared {
		k := s.Part[j]
		a := s.a[j]
		slopes[k] += s.common[j] * s.common[j] / (a * a)
		expected[k] += (a - variance[i]) / (a * a)
	}
	return slopes, expected
}

// fit is the result of the search.
func (s *search) fit() *Fit {
	f := &Fit{
		Components: s.Components,
		Noise:      s.Noise,
		Common:     s.common,
	}
	p := len(s.shared)
	f.Root = make([]float64, p*s.d)
	for i := range p {
		for to, j := range s.shared {
			f.Root[i*s.d+j] = s.root[i*p+to]
		}
	}
	f.Covariance = s.Covariance
	f.Explained = s.explained()
	for i := range s.blocks {
		s.blocks[i].r = s.blocks[i].f
	}
	s.reached(s.remain)
	for _, b := range s.blocks {
		for i := range b.twins {
			slope := b.slope[i*s.d:][:s.d]
			f.Own = append(f.Own, s.covaried(nil, slope))
		}
		f.Left = append(f.Left, b.left...)
	}
	return f
}

// explained are the mean squares of each component's common part of f.
func (s *search) explained() []float64 {
	squares := make([]float64, len(s.Components))
	for _, b := range s.blocks {
		for row := range slices.Chunk(b.Features, max(1, s.d)) {
			parts := make([]float64, len(squares))
			for j, v := range row {
				parts[s.Part[j]] += b.loading * v * s.common[j]
			}
			floats.Mul(parts, parts)
			floats.Add(squares, parts)
		}
	}
	floats.Scale(1/float64(max(1, s.rows)), squares)
	return squares
}

// remain finds the variance of f on the rows of a task over the variance before they were seen,
//
//	tr(noise - noise^2 C^-1) + |noise C^-1 l f root'|^2   over   tr(f (diag(c) + l^2 root'root) f')
//
// which rows of unit variance say as well as the task's rows.
func (s *search) remain(b *block, t *scratch) {
	k := b.rows
	p := len(s.shared)
	reach := s.reach[b.first*p:][:k*p]
	t.scaled = s.covaried(t.scaled, b.f)
	specific := floats.Dot(b.f, t.scaled)
	t.restored = s.ab(t.restored, b.inverse, k, reach, p)
	t.taken = s.atb(t.taken, b.inverse, k, t.restored, p)
	specificLeft := float64(k) - s.Noise*floats.Dot(b.inverse, b.inverse)
	common := floats.Dot(reach, reach)
	commonLeft := s.Noise * floats.Dot(t.taken, t.taken)
	for _, loading := range b.loadings {
		share := loading / (b.loading + tiny)
		share *= share
		former := specific + share*common
		left := 1.0
		if former > 0 {
			left = s.Noise * (specificLeft + share*commonLeft) / former
		}
		b.left = append(b.left, min(1, max(0, left)))
	}
}

// room is a slice of n numbers to be written, in the place of another if it is long enough.
func room(place []float64, n int) []float64 {
	return slices.Grow(place[:0], n)[:n]
}

// ab, atb and abt are the products A B, A'B and A B' of matrices with so many columns, in the
// place of dst. Vectors are multiplied as rows.
func (s *search) ab(dst, a []float64, wide int, b []float64, cols int) []float64 {
	if cols == 1 {
		return s.abt(dst, a, wide, b, wide)
	}
	rows := len(a) / max(1, wide)
	return s.product(dst, linalg.NoTrans, linalg.NoTrans,
		rows, cols, wide, a, wide, b, cols)
}

func (s *search) atb(dst, a []float64, wide int, b []float64, cols int) []float64 {
	rows := len(a) / max(1, wide)
	if cols == 1 && rows > 0 {
		return s.ab(dst, b, rows, a, wide)
	}
	return s.product(dst, linalg.Trans, linalg.NoTrans,
		wide, cols, rows, a, wide, b, cols)
}

func (s *search) abt(dst, a []float64, wide int, b []float64, cols int) []float64 {
	m := len(a) / max(1, wide)
	n := len(b) / max(1, cols)
	return s.product(dst, linalg.NoTrans, linalg.Trans,
		m, n, wide, a, wide, b, cols)
}

// smallProduct is the number of multiplications below which the kernels would spend their time on
// packing, and gonum multiplies.
const smallProduct = 1 << 15

// product is the m x n matrix of sums over k, of matrices with so many columns as they are stored.
func (s *search) product(dst []float64, ta, tb linalg.Transpose, m, n, k int,
	a []float64, wide int, b []float64, cols int) []float64 {
	c := room(dst, m*n)
	ker := s.ker
	if m*n*k <= smallProduct {
		ker = linalg.Kernels{}
	}
	linalg.Gemm(ker, ta, tb, m, n, k,
		1, a, max(1, wide), b, max(1, cols),
		0, c, max(1, n))
	return c
}
