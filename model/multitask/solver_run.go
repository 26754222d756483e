package multitask

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// run minimises problem (1) to the tolerance: Newton steps under a floor until
// they bring little, then the certificate, then a lower floor.
func (s *solver) run(ctx context.Context, opt Options) (*Result, error) {
	r := &Result{Model: s.model.Info().Name, Params: s.params, Status: IterationLimit}
	if opt.Start != nil {
		s.from = opt.Start.cov
	}
	if err := s.start(opt.Start); err != nil {
		return nil, err
	}
	best := &candidate{gap: math.Inf(1)}
	little, lowest := 1e-3, s.floor*1e-11
	for r.Iterations < opt.MaxIterations {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("multitask: fitting %q: %w", r.Model, err)
		}
		scale := s.scale()
		enough := little * scale
		s.enough = 0.1 * enough
		precision := opt.Tolerance
		if _, convex := s.model.(Convex); convex && s.rel.curve != nil {
			// The dual point is as far off as the gradient, not its square.
			precision *= opt.Tolerance
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
		if moved && above > enough {
			continue
		}
		s.enough = 0.01 * opt.Tolerance * scale
		c, err := s.certify()
		if err != nil {
			return nil, err
		}
		if c.objective <= best.objective || math.IsInf(best.gap, 1) {
			best = c
		}
		if best.gap <= opt.Tolerance*max(math.Abs(best.objective), best.loss) {
			r.Status = Converged
			break
		}
		if !moved && s.floor <= lowest {
			r.Status = Stalled
			break
		}
		little = max(little*0.1, 1e-20)
		if s.floor > lowest && (!moved || above <= 0.01*c.gap) {
			// The floor, not the accuracy of the minimum under it, holds the gap.
			s.floor *= 0.01
			if err := s.relate(); err != nil {
				return nil, err
			}
		}
	}
	if best.point.w == nil {
		c, err := s.certify()
		if err != nil {
			return nil, err
		}
		best = c
	}
	best.fill(r, s)
	return r, nil
}

// scale is what tolerances are relative to: the objective, which may be zero
// or negative where g is, and then the losses.
func (s *solver) scale() float64 { return max(math.Abs(s.objective()), s.loss) }

// start places the solver at a start and sets the first floor.
func (s *solver) start(from *Result) error {
	if from != nil {
		copy(s.w, rowsOf(from.W))
		copy(s.b, from.B)
	}
	s.place(&s.point)
	if mat.Trace(s.s) == 0 {
		// The floor has no scale yet. One step with all tasks apart gives it.
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
		e, err := Eigen(s.s)
		if err != nil {
			return err
		}
		s.floor = 1e-2 * e.Values[s.m-1]
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
	rel            *relation
	objective, gap float64
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
	if s.floor > 0 {
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
	whole.gap = whole.objective - bound
	if math.IsInf(bound, -1) {
		whole.gap = s.blockGap(whole)
	}
	return whole, nil
}

// evaluate returns a copy of a point as a candidate.
func (s *solver) evaluate(p point) (*candidate, error) {
	c := &candidate{point: s.newPoint()}
	copy(c.w, p.w)
	copy(c.b, p.b)
	s.place(&c.point)
	return c, s.complete(c)
}

// complete runs the Omega step of a candidate without the floor.
func (s *solver) complete(c *candidate) (err error) {
	near := s.hint()
	near.floor = s.floor
	c.rel, err = relate(s.model, c.s, s.d, s.params, near)
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
	e, err := Eigen(s.s)
	if err != nil {
		return nil, false, err
	}
	keep := make([]float64, s.m)
	small := false
	for i, v := range e.Values {
		rounding := 1e-13 * e.Values[s.m-1]
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
	projector := mat.NewDense(s.m, s.m, nil)
	projector.Copy(e.Rebuild(keep))
	rotate(c.w, projector, s.w, s.d)
	copy(c.b, s.b)
	s.place(&c.point)
	return c, must, s.complete(c)
}

// blockGap bounds the two gaps of a model that is not convex: over W and b
// given Omega by the length of the gradient, which strong convexity in Z
// allows, and over Omega given W by the certificate of the step.
func (s *solver) blockGap(c *candidate) float64 {
	rel := c.rel
	k, _ := rel.inverse.Dims()
	z, g := make([]float64, k*s.d), make([]float64, k*s.d)
	clear(s.t1)
	s.problem.each(s.workers, func(i int, t *task) {
		t.x.AddMulT(s.t1[i*s.d:][:s.d], c.r[i], 1)
	})
	rotate(z, rel.inverse, c.w, s.d)
	rotate(g, mat.DenseCopyOf(rel.root.T()), s.t1, s.d)
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
	r.B, r.Omega, r.A, r.cov = c.b, cov.Omega, cov.A, cov
	r.Objective, r.Gap = c.objective, max(c.gap, 0)
}
