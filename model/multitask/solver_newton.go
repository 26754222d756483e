package multitask

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// solver minimises over W and b the function that is left of problem (1) when
// Omega follows W. It works in Z with W' = Q Z and Omega = Q Q', in which the
// penalty for a fixed Omega is Lambda1/2 ||Z||^2, and truncates Newton's
// method by conjugate gradients. The biases are always optimal for W.
type solver struct {
	problem *TrainingSet
	model   Model
	params  Params
	workers int
	m, d    int         // W is d x m
	across  bool        // Omega is worked with on the features' side of W
	cols    int         // features; d is several times as many where tasks have several classes
	floor   float64     // added to the diagonal of W'W
	enough  float64     // accuracy of the Omega steps
	from    *Covariance // start of the first Omega step, or nil
	last    *relation   // that of the start, or nil

	point
	rel *relation
	z   []float64 // Z, k x d
	// follow is how the inverse of Omega follows S at the current point, in the
	// coordinates of Z, nil where it is held or that is not known.
	follow func(dc *mat.Dense) *mat.Dense
	// misses counts the Newton matrices in a row that were not positive definite,
	// and wait the steps to hold Omega before trying the next.
	misses, wait int
	shorts       int  // steps in a row that follow and had to be cut short
	between      bool // steps that follow: a step that holds Omega, but could
	// long says that conjugate gradients took many iterations when Omega followed.
	long bool
	// drift is how Omega follows mu on the central path, and full says that the
	// last step there went nearly all the way.
	drift  *mat.SymDense
	full   bool
	data   []float64 // gradient of the losses with respect to W', m x d
	trial  point
	step   point          // the direction dW' and its scores
	thin   *thin          // replaces the root and follow in wide problems of low rank
	root   *root          // replaces all of them where Omega is held and tasks are many
	pre    preconditioner // of conjugate gradients, nil where there is none
	mean   []float64      // the rows' sum with the weights h, m x d
	total  []float64      // the sums of these weights
	t1     []float64      // scratch, m x d
	t2, t3 []float64
	cg     [5][]float64
}

// preconditioner is a matrix near the Newton matrix that is easily inverted.
type preconditioner interface {
	// solve sets dst to its inverse times x.
	solve(dst, x []float64)
}

// point is W with all that a fit needs to know there.
type point struct {
	w     []float64     // W', m x d
	s     *mat.SymDense // W'W, or WW' across
	b     []float64
	score [][]float64 // X_i w_i
	r, h  [][]float64 // first and second derivatives of the loss, over n_i
	loss  float64
}

func newSolver(problem *TrainingSet, model Model, params Params, workers int) *solver {
	m, d := problem.Tasks(), problem.classes*problem.cols
	s := &solver{problem: problem, model: model, params: params, workers: workers, m: m, d: d, cols: problem.cols}
	_, spectral := model.(spectral)
	s.across = spectral && d < m
	for _, p := range []*point{&s.point, &s.trial, &s.step} {
		*p = s.newPoint()
	}
	s.mean, s.total = make([]float64, m*d), make([]float64, len(problem.tasks))
	s.data, s.t1, s.t2, s.t3 = make([]float64, m*d), make([]float64, m*d), make([]float64, m*d), make([]float64, m*d)
	s.z = make([]float64, m*d)
	for i := range s.cg {
		s.cg[i] = make([]float64, m*d)
	}
	return s
}

func (s *solver) newPoint() point {
	return point{
		w: make([]float64, s.m*s.d), b: make([]float64, len(s.problem.tasks)),
		score: s.newScores(), r: s.newScores(), h: s.newScores(),
	}
}

func (s *solver) newScores() [][]float64 {
	v := make([][]float64, len(s.problem.tasks))
	for i, t := range s.problem.tasks {
		v[i] = make([]float64, len(t.y))
	}
	return v
}

// of is the part of W', or of a gradient with respect to it, that belongs to
// task i of the problem.
func (s *solver) of(i int, w []float64) []float64 { return w[i*s.cols:][:s.cols] }

// moveTo moves a point to the weights it holds.
func (s *solver) moveTo(p *point) {
	p.s = s.gram(p.w)
	s.scores(p)
}

// scores computes what of a point does not depend on Omega.
func (s *solver) scores(p *point) {
	s.problem.each(s.workers, func(i int, t *task) {
		t.x.Mul(p.score[i], s.of(i, p.w), 1)
	})
	s.losses(p)
}

// losses finds the biases of a point for its scores, and the losses there.
func (s *solver) losses(p *point) {
	loss := make([]float64, len(s.problem.tasks))
	s.problem.each(s.workers, func(i int, t *task) {
		p.b[i] = s.problem.loss.bias(p.r[i], p.h[i], p.score[i], t.y, p.b[i])
		loss[i] = s.problem.loss.mean(p.score[i], t.y, p.b[i])
	})
	p.loss = 0
	for _, l := range loss {
		p.loss += l
	}
}

// gradient computes the gradient of the losses with respect to W', and what
// hessian needs.
func (s *solver) gradient() {
	clear(s.data)
	clear(s.mean)
	s.problem.each(s.workers, func(i int, t *task) {
		t.x.AddMulT(s.of(i, s.data), s.r[i], 1)
		t.x.AddMulT(s.of(i, s.mean), s.h[i], 1)
		s.total[i] = max(floats.Sum(s.h[i]), math.SmallestNonzeroFloat64)
	})
}

// hessian adds to dst the Hessian of the losses, with the biases following W,
// times V (m x d).
func (s *solver) hessian(dst, v []float64) {
	s.problem.each(s.workers, func(i int, t *task) {
		out := s.of(i, dst)
		sum := t.x.AddGram(out, s.of(i, v), s.h[i])
		add(-sum/s.total[i], s.of(i, s.mean), out)
	})
}

// multiply sets dst to the Hessian in Z times v, both k x d.
func (s *solver) multiply(dst, v []float64, root, rootT *mat.Dense) {
	w, g := s.t1, s.t2
	if s.root != nil {
		s.root.multiply(w, v, s.d)
		clear(g)
		s.hessian(g, w)
		s.root.multiply(dst, g, s.d)
		add(s.params.Lambda1, v, dst)
		return
	}
	if s.thin != nil {
		s.thin.rotate(w, v)
		clear(g)
		s.hessian(g, w)
		s.thin.addCurvature(g, w, s.params.Lambda1)
		s.thin.rotate(dst, g)
		add(s.params.Lambda1, v, dst)
		return
	}
	s.rotate(w, root, v)
	clear(g)
	s.hessian(g, w)
	s.rotate(dst, rootT, g)
	add(s.params.Lambda1, v, dst)
	if s.follow != nil {
		s.addCurvature(dst, v)
	}
}

// addCurvature adds to g the change that Omega^-1, following Z along dz, makes to
// the gradient Lambda1 Z.
func (s *solver) addCurvature(g, dz []float64) {
	cross := s.products(dz, s.z)
	k, _ := cross.Dims()
	dc := mat.NewDense(k, k, nil)
	dc.Add(cross, cross.T())
	change := s.t3[:len(s.z)]
	s.rotate(change, s.follow(dc), s.z)
	add(s.params.Lambda1, change, g)
}

// objective is the function that the solver minimises, with the floor.
func (s *solver) objective() float64 { return s.loss + s.rel.value }

// relate runs the Omega step at the current point.
func (s *solver) relate() (err error) {
	gramian := s.s
	if x := s.frame(); x != nil {
		s.z = s.z[:s.m*s.d]
		rotate(s.z, x.inverse, s.w, s.d)
		gramian = gram(s.z, s.m, s.d)
	}
	if s.rel, err = s.omega(gramian); err != nil {
		return err
	}
	return s.rel.open()
}

// frame returns the center in whose coordinates Omega steps are made, nil where
// the model has none.
func (s *solver) frame() *center {
	if s.rel != nil {
		return s.rel.center
	}
	if s.from != nil && s.from.center != nil {
		return s.from.center
	}
	if model, ok := s.model.(central); ok {
		return model.start(s.m)
	}
	return nil
}

// omega runs the Omega step at S, which is in the coordinates of the frame if
// there is one.
func (s *solver) omega(gramian *mat.SymDense) (*relation, error) {
	if x := s.frame(); x != nil {
		at, err := x.at(gramian, s.floor, s.params)
		if err != nil {
			return nil, err
		}
		return at.relation(), nil
	}
	return s.relateTo(gramian, s.floor)
}

// relateTo runs the Omega step at S with a floor.
func (s *solver) relateTo(gramian *mat.SymDense, floor float64) (*relation, error) {
	if model, ok := s.model.(spectral); ok {
		return relateSpectrum(model, gramian, s.m, floor, s.params)
	}
	return relate(s.model, lifted(gramian, floor), s.problem.features, s.params, s.hint())
}

// hint starts an Omega step where the last one ended.
func (s *solver) hint() hint {
	h := hint{from: s.from, last: s.last, enough: s.enough}
	if s.rel != nil {
		h.from, h.last = s.rel.cov, s.rel
	}
	return h
}

// advance takes one Newton step. It returns an estimate of how far the
// objective is above its minimum and whether the step lowered it.
func (s *solver) advance(forcing, enough float64) (above float64, moved bool, err error) {
	root, l1 := s.rel.root, s.params.Lambda1
	s.follow, s.thin, s.pre = nil, nil, nil
	s.between = s.wait > 0 && s.misses == 0
	if s.rel.curve != nil {
		if s.thin = s.newThin(); s.thin == nil && s.wait == 0 {
			s.follow = s.rel.curve()
		}
		s.wait = max(0, s.wait-1)
	}
	rootT := mat.DenseCopyOf(root.T())
	_, k := root.Dims()
	size := k * s.m * s.d / s.side()
	s.z = s.z[:size]
	hv, x, dir, res := s.cg[0][:size], s.cg[1][:size], s.cg[2][:size], s.cg[3][:size]
	s.gradient()
	s.rotate(s.z, s.rel.inverse, s.w)
	if s.thin != nil {
		// Here k = m and Z is not the one of the root.
		rotate(s.t1, mat.DenseCopyOf(s.rel.inverse.T()), s.z, s.d)
		scale(l1, s.t1)
		add(1, s.data, s.t1)
		s.thin.rotate(res, s.t1)
	} else {
		s.rotate(res, rootT, s.data)
		add(l1, s.z, res)
	}
	if s.rel.center != nil {
		s.drift = s.rel.center.toward(s.floor)
		rotate(s.t3, mat.DenseCopyOf(s.drift), s.z, s.d)
		add(-l1, s.t3, res)
	}
	norm := inner(res, res)
	if norm == 0 && s.rel.center == nil {
		return 0, false, nil
	}
	// Here the gradient is at most sqrt(2 Lambda1 enough) in length, which
	// bounds the distance to the minimum by enough for a fixed Omega.
	target := max(forcing*forcing*norm, 0.1*2*l1*enough)
	convex := true
	if s.across {
		s.preconditionAcross(rootT)
	} else if s.follow != nil {
		convex = s.precondition()
	}
	gradient := slices.Clone(res)
	slope := 0.0
	if convex {
		slope, convex = s.conjugate(x, dir, res, hv, root, rootT, norm, target)
	}
	if !convex && s.follow != nil {
		// The Newton step may be of little use. The one that holds Omega
		// lowers the objective for certain, and so will a few more.
		if s.follow = nil; !s.across {
			s.pre = nil
		}
		s.misses++
		s.wait = min(1<<s.misses, 8)
		copy(res, gradient)
		if forcing == 0.1 {
			target = max(target, 0.1*norm)
		}
		slope, _ = s.conjugate(x, dir, res, hv, root, rootT, norm, target)
	}
	if s.follow != nil {
		s.misses = 0
	}
	if s.thin != nil {
		s.thin.rotate(s.step.w, x)
	} else {
		s.rotate(s.step.w, root, x)
	}
	above = -slope / 2
	if s.rel.center != nil {
		moved, err = s.searchCentral(x)
		return above, moved, err
	}
	moved, err = s.search(slope)
	return above, moved, err
}

// conjugate runs conjugate gradients on H x = -res, preconditioned if there is a
// span, leaves x, and returns the slope <gradient, x>, and whether H was
// positive definite as far as it saw.
// hv is scratch.
func (s *solver) conjugate(x, dir, res, hv []float64, root, rootT *mat.Dense, norm, target float64) (slope float64, convex bool) {
	clear(x)
	scale(-1, res)
	near, limit := res, 1000
	if s.follow != nil && s.thin == nil && !s.across {
		// More than these pay less than the next step does.
		limit = 100
	}
	if s.pre != nil {
		// Preconditioned, only a nearly singular H takes as many.
		limit = 100
		near = s.cg[4][:len(res)]
		s.pre.solve(near, res)
	}
	copy(dir, near)
	product := inner(res, near)
	for it := 0; it < limit && (norm > target || it == 0); it++ {
		s.multiply(hv, dir, root, rootT)
		curvature := inner(dir, hv)
		if !(curvature > 1e-14*s.params.Lambda1*inner(dir, dir)) {
			return slope, false
		}
		a := product / curvature
		add(a, dir, x)
		slope -= a * product
		add(-a, hv, res)
		norm = inner(res, res)
		next := norm
		if s.pre != nil {
			s.pre.solve(near, res)
			next = inner(res, near)
		}
		scale(next/product, dir)
		add(1, near, dir)
		product = next
		s.long = s.long || s.follow != nil && it == 30
	}
	return slope, true
}

// search moves along the direction in step until the objective is lower by a
// fair part of what the slope promises. A direction that holds Omega does not
// know what Omega gains by following: it goes on while that pays.
func (s *solver) search(slope float64) (bool, error) {
	s.stepScores()
	cross, square := s.products(s.step.w, s.w), s.products(s.step.w, s.step.w)
	before := s.objective()
	shortest := 1e-5
	if s.follow != nil {
		shortest = 1e-2 // holding Omega is better than such a short step
	}
	t := 1.0
	rel, after, err := s.try(t, cross, square)
	if err != nil {
		return false, err
	}
	for held := s.follow == nil && s.rel.curve != nil && s.thin == nil; held && after < before+0.5*slope*t; {
		farther, next, err := s.try(2*t, cross, square)
		if err != nil {
			return false, err
		}
		if next > after+0.5*(after-before) {
			if rel, after, err = s.try(t, cross, square); err != nil {
				return false, err
			}
			break
		}
		t, rel, after = 2*t, farther, next
	}
	for ; !(after <= before+1e-4*t*slope+1e-15*math.Abs(before)); t /= 2 {
		if t <= shortest {
			return false, nil
		}
		if rel, after, err = s.try(t/2, cross, square); err != nil {
			return false, err
		}
	}
	if s.follow != nil && t < 0.5 {
		// Far from the minimum steps that hold Omega bring more.
		s.shorts++
		s.wait = min(1<<(s.shorts-1), 8)
	} else if s.follow != nil {
		s.shorts = 0
	}
	copy(s.trial.w, s.w)
	add(t, s.step.w, s.trial.w)
	s.point, s.trial = s.trial, s.point
	s.rel = rel
	return true, rel.open()
}

// stepScores computes how scores and biases follow the direction in step.
func (s *solver) stepScores() {
	s.problem.each(s.workers, func(i int, t *task) {
		t.x.Mul(s.step.score[i], s.of(i, s.step.w), 1)
		s.step.b[i] = -inner(s.h[i], s.step.score[i]) / s.total[i]
	})
}

// tryScores computes what of the point after a step of length t does not depend on Omega.
func (s *solver) tryScores(t float64) {
	for i, step := range s.step.score {
		for j, u := range step {
			s.trial.score[i][j] = s.score[i][j] + t*u
		}
	}
	copy(s.trial.b, s.b)
	add(t, s.step.b, s.trial.b)
	s.losses(&s.trial)
}

// try returns the Omega step and the objective after a step of length t.
func (s *solver) try(t float64, cross, square *mat.Dense) (*relation, float64, error) {
	if s.trial.s == nil {
		s.trial.s = mat.NewSymDense(s.side(), nil)
	}
	for i := range s.side() {
		for j := i; j < s.side(); j++ {
			s.trial.s.SetSym(i, j, s.s.At(i, j)+t*(cross.At(i, j)+cross.At(j, i))+t*t*square.At(i, j))
		}
	}
	s.tryScores(t)
	rel, err := s.omega(s.trial.s)
	if err != nil {
		return nil, 0, err
	}
	return rel, s.trial.loss + rel.value, nil
}

// lower returns a lower bound of problem (1) by duality, -Inf if the model is
// not convex. With the slopes r of the losses scaled by some c in (0, 1] as the
// dual point, it is c (losses - <W, G>) - Support(c^2 G'G / (2 Lambda1)), G being
// the gradient of the losses: a Fenchel conjugate of a loss is convex and 0 at 0.
func (s *solver) lower(p *point) float64 {
	if _, ok := s.model.(Convex); !ok {
		return math.Inf(-1)
	}
	g := s.t1
	clear(g)
	s.problem.each(s.workers, func(i int, t *task) {
		t.x.AddMulT(s.of(i, g), p.r[i], 1)
	})
	free := p.loss - inner(p.w, g)
	t := s.gram(g)
	support := s.support(t)
	at := support(1)
	if math.IsNaN(at) {
		return math.Inf(-1)
	}
	if !math.IsInf(at, 1) {
		return free - at
	}
	// The support is finite for smaller T, and c^2 makes T small enough.
	c := 1.0
	if b, ok := s.model.(bounded); ok {
		var whole mat.SymDense
		whole.ScaleSym(1/(2*s.params.Lambda1), t)
		c = math.Sqrt(b.domain(&whole, s.params)) * (1 - 1e-14)
	}
	return c*free - support(c)
}

// support returns the support of c^2 T / (2 Lambda1) as a function of c.
func (s *solver) support(t *mat.SymDense) func(c float64) float64 {
	if model, ok := s.model.(spectral); ok {
		values := append(make([]float64, s.m-s.side()), eigenvalues(t)...)
		return func(c float64) float64 {
			scaled := slices.Clone(values)
			scale(c*c/(2*s.params.Lambda1), scaled)
			return model.support(scaled, s.params)
		}
	}
	return func(c float64) float64 {
		var scaled mat.SymDense
		scaled.ScaleSym(c*c/(2*s.params.Lambda1), t)
		return s.model.(Convex).Support(&scaled, s.rel.cov, s.params)
	}
}
