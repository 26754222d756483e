package multitask

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// run fits the model.
func (s *solver) run(ctx context.Context, opt Options) (*Result, error) {
	if model, ok := s.model.(holding); ok && s.m >= manyTasks {
		return s.hold(ctx, model, opt)
	}
	r := &Result{Model: s.model.Info().Name, Params: s.params, Status: IterationLimit}
	if opt.Start != nil {
		s.from, s.last = opt.Start.cov, opt.Start.rel
	}
	best, err := s.minimise(ctx, opt, r)
	if err != nil {
		return nil, err
	}
	if best.w == nil {
		if best, err = s.certify(); err != nil {
			return nil, err
		}
	}
	if err := best.rel.open(); err != nil {
		return nil, err
	}
	if s.across {
		if best.rel, err = relate(s.model, gram(best.w, s.m, s.d), s.problem.features, s.params, s.hint()); err != nil {
			return nil, err
		}
	}
	best.fill(r, s)
	return r, nil
}

// minimise minimises problem (1) in the way that suits the model and the tasks.
func (s *solver) minimise(ctx context.Context, opt Options, r *Result) (*candidate, error) {
	if model, ok := s.splits(); ok {
		if opt.Start != nil {
			s.begin(opt.Start)
		}
		return s.split(ctx, model, opt, r)
	}
	if err := s.start(opt.Start); err != nil {
		return nil, err
	}
	if s.rel.center != nil {
		return s.along(ctx, opt, r)
	}
	return s.descend(ctx, opt, r)
}

// thorough is the tolerance that a fit reaches first when it is asked for less,
// so that asking for more never ends with less.
const thorough = 1e-8

// descend minimises problem (1) to the tolerance: Newton steps under a floor
// until they bring little, then the certificate, then a lower floor.
func (s *solver) descend(ctx context.Context, opt Options, r *Result) (*candidate, error) {
	best := newCandidate()
	aim := max(opt.Tolerance, thorough)
	little, lowest := 1e-3, s.floor*1e-11
	for r.Iterations < opt.MaxIterations {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("multitask: fitting %q: %w", r.Model, err)
		}
		scale := s.scale()
		enough := little * scale
		s.enough = 0.1 * enough
		precision := aim
		if _, convex := s.model.(Convex); convex && s.rel.curve != nil {
			// The dual point is as far off as the gradient, not its square.
			precision *= aim
		}
		// A step that Omega follows is rough until the floor is low. Close steps
		// pay where Omega is fixed, and in the end, when the objective no
		// longer tells what lowers it.
		forcing := min(0.1, 1e4*little)
		if s.rel.curve == nil {
			forcing = min(forcing, math.Sqrt(little))
		}
		above, moved, err := s.advance(forcing, 0.01*precision*scale)
		if err != nil {
			return nil, err
		}
		if !moved && s.rel.curve != nil {
			// Where a pattern of zeros is about to change the curvature
			// misleads; a step that holds Omega always descends.
			s.rel.curve = nil
			if above, moved, err = s.advance(forcing, 0.01*precision*scale); err != nil {
				return nil, err
			}
		}
		r.Iterations++
		r.Trace = append(r.Trace, s.objective())
		if moved && (above > enough || s.between) {
			continue
		}
		s.enough = 0.01 * aim * scale
		c, err := s.certify()
		if err != nil {
			return nil, err
		}
		best = best.better(c)
		for ; best.within(aim); aim = max(opt.Tolerance, aim/100) {
			if aim <= opt.Tolerance {
				r.Status = Converged
				return best, nil
			}
		}
		if !moved && s.floor <= lowest {
			r.Status = Stalled
			return best, nil
		}
		little = max(little*0.1, 1e-20)
		if s.floor > lowest && (!moved || above <= 0.1*c.gap) {
			// The floor, not the accuracy of the minimum under it, holds the gap.
			s.floor *= 0.01
			if err := s.relate(); err != nil {
				return nil, err
			}
		}
	}
	return best, nil
}

// scale is what tolerances are relative to: the objective, which may be zero
// or negative where g is, and then the losses.
func (s *solver) scale() float64 { return max(math.Abs(s.objective()), s.loss) }

// project takes from W what lies outside of the range of Omega, where the objective is
// infinite: the fit to start from may have had another covariance.
func (s *solver) project(omega *mat.SymDense) error {
	e, err := Eigen(omega)
	if err != nil {
		return err
	}
	d := len(s.w) / s.m
	w := mat.NewDense(s.m, d, s.w)
	for k, mu := range e.Values {
		if mu > rankTolerance*e.Values[s.m-1] {
			break // they ascend
		}
		u := e.Vectors.ColView(k)
		var share mat.VecDense
		share.MulVec(w.T(), u)
		w.RankOne(w, -1, u, &share)
	}
	return nil
}

// begin takes W and b from another fit.
func (s *solver) begin(from *Result) {
	copy(s.w, rowsOf(from.W))
	for i, b := range from.B {
		if !math.IsInf(b, 0) { // of a class that a task lacked
			s.b[i] = b
		}
	}
}

// start puts the solver at a start and sets the first floor.
func (s *solver) start(from *Result) error {
	if from != nil {
		s.begin(from)
		if given, ok := s.model.(fixed); ok && !s.last.holds(given.omega) {
			if err := s.project(given.omega); err != nil {
				return err
			}
		}
	}
	s.moveTo(&s.point)
	if s.frame() != nil {
		s.floor = 0.1 * (s.loss + s.params.Lambda2) / float64(s.m*s.m)
		return s.relate()
	}
	if mat.Trace(s.s) == 0 {
		// The floor has no scale yet. One step of single-task learning gives it.
		s.floor = 1
		if err := s.relate(); err != nil {
			return err
		}
		s.rel.curve = nil
		if _, _, err := s.advance(0.1, 0); err != nil {
			return err
		}
	}
	s.floor = 0
	if s.model.Info().Singular {
		s.floor = 1e-2 * largest(s.s)
		if from != nil {
			s.floor *= 1e-2
		}
		if s.floor == 0 {
			s.floor = 1e-2
		}
	}
	return s.relate()
}

// candidate is a point with its true objective, that is without the floor.
type candidate struct {
	point
	rel       *relation
	objective float64
	// bound is a lower bound of problem (1), -Inf where the model is not convex.
	bound, gap float64
}

// newCandidate returns a candidate that every other one is better than.
func newCandidate() *candidate {
	return &candidate{objective: math.Inf(1), bound: math.Inf(-1), gap: math.Inf(1)}
}

// better returns the candidate with the lower objective, with the higher bound.
func (c *candidate) better(than *candidate) *candidate {
	bound := max(c.bound, than.bound)
	if than.objective <= c.objective {
		c = than
	}
	if c.bound = bound; !math.IsInf(bound, -1) {
		c.gap = c.objective - bound
	}
	return c
}

// within says whether the gap is within a tolerance.
func (c *candidate) within(tolerance float64) bool {
	return !math.IsInf(c.gap, 1) && c.gap <= tolerance*max(math.Abs(c.objective), c.loss)
}

// certify evaluates the current point without the floor, and bounds how far it
// is above the minimum. Directions of W that the floor keeps alive are
// cut off where that lowers the objective.
func (s *solver) certify() (*candidate, error) {
	whole, err := s.evaluate(s.point)
	if err != nil {
		return nil, err
	}
	bound := s.lower(&s.point)
	if s.floor > 0 && s.rel.center == nil {
		cut, must, err := s.cut()
		if err != nil {
			return nil, err
		}
		if cut != nil {
			bound = max(bound, s.lower(&cut.point))
			if must || cut.objective <= whole.objective {
				whole = cut
			}
		}
	}
	whole.bound, whole.gap = bound, whole.objective-bound
	if math.IsInf(bound, -1) {
		if err := whole.rel.open(); err != nil {
			return nil, err
		}
		whole.gap = s.blockGap(whole)
	}
	return whole, nil
}

// evaluate returns a copy of a point as a candidate.
func (s *solver) evaluate(p point) (*candidate, error) {
	c := &candidate{point: s.newPoint()}
	copy(c.w, p.w)
	copy(c.b, p.b)
	s.moveTo(&c.point)
	return c, s.complete(c)
}

// complete runs the Omega step of a candidate without the floor.
func (s *solver) complete(c *candidate) (err error) {
	if s.rel != nil && s.rel.center != nil {
		plain, _ := s.rel.center.value()
		c.rel, c.objective = s.rel, c.loss+plain
		return nil
	}
	c.rel, err = s.relateTo(c.s, 0)
	if err != nil {
		return err
	}
	c.objective = c.loss + c.rel.value
	return nil
}

// cut returns the point without the directions of W that are as small as the
// floor, or nil if there are none. Where a direction is at rounding level the
// cut is a must: the Omega step takes it for zero.
func (s *solver) cut() (c *candidate, must bool, err error) {
	e, err := s.spectrum()
	if err != nil {
		return nil, false, err
	}
	keep := make([]float64, s.side())
	small := false
	for i, v := range e.Values {
		rounding := 1e-13 * e.Values[s.side()-1]
		if v > max(100*s.floor, rounding) {
			keep[i] = 1
		} else {
			small = true
		}
		must = must || v <= rounding
	}
	if !small {
		return nil, false, nil
	}
	c = &candidate{point: s.newPoint()}
	s.rotate(c.w, mat.DenseCopyOf(e.Rebuild(keep)), s.w)
	copy(c.b, s.b)
	s.moveTo(&c.point)
	return c, must, s.complete(c)
}

// spectrum returns the eigenvalues of S without the floor, and their vectors.
func (s *solver) spectrum() (*Spectrum, error) {
	if _, ok := s.model.(spectral); !ok {
		return Eigen(s.s)
	}
	values := slices.Clone(s.rel.s[s.m-s.side():])
	floats.AddConst(-s.floor, values)
	return &Spectrum{Values: values, Vectors: s.rel.omega.Vectors}, nil
}

// blockGap bounds the two gaps of a model that is not convex: over W and b
// given Omega by the length of the gradient, which strong convexity in Z
// allows, and over Omega given W by the certificate of the step.
func (s *solver) blockGap(c *candidate) float64 {
	rel := c.rel
	k, side := rel.inverse.Dims()
	z, g := make([]float64, k*s.m*s.d/side), make([]float64, k*s.m*s.d/side)
	clear(s.t1)
	s.problem.each(s.workers, func(i int, t *task) {
		t.x.AddMulT(s.of(i, s.t1), c.r[i], 1)
	})
	s.rotate(z, rel.inverse, c.w)
	s.rotate(g, mat.DenseCopyOf(rel.root.T()), s.t1)
	add(s.params.Lambda1, z, g)
	return inner(g, g)/(2*s.params.Lambda1) + rel.covariance().Gap
}

// fill writes a candidate into a result.
func (c *candidate) fill(r *Result, s *solver) {
	r.W = mat.NewDense(s.d, s.m, nil)
	for i := range s.m {
		r.W.SetCol(i, c.w[i*s.d:][:s.d])
	}
	cov := c.rel.covariance()
	for i, t := range s.problem.tasks {
		if len(t.y) == 0 {
			c.b[i] = math.Inf(-1)
		}
	}
	r.B, r.Omega, r.A, r.cov = c.b, cov.Omega, cov.A, cov
	r.rel = c.rel
	r.Objective, r.Gap = c.objective, max(c.gap, 0)
}
