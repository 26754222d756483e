package multitask

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// central is a Model whose fits follow the central path.
type central interface {
	Model
	// start returns a first center for m tasks.
	start(m int) *center
}

// along minimises problem (1) to the tolerance along the central path. A step
// that went nearly all the way leaves the fit near the center for its mu, so
// that the next one may aim at a lower mu.
func (s *solver) along(ctx context.Context, opt Options, r *Result) (*candidate, error) {
	best := newCandidate()
	aim := max(opt.Tolerance, thorough)
	for r.Iterations < opt.MaxIterations {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("multitask: fitting %q: %w", r.Model, err)
		}
		// The dual point is as far off as the gradient in the directions in which
		// Omega vanishes, where small errors of Z are large ones of W Omega^-1.
		near, forcing := s.near(aim), 0.1
		if near {
			forcing = 0.01
		}
		above, moved, err := s.advance(forcing, 0)
		if err != nil {
			return nil, err
		}
		r.Iterations++
		r.Trace = append(r.Trace, s.objective())
		if near = s.near(aim); near || !moved {
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
			if s.near(1e-4 * aim) {
				r.Status = Stalled
				return best, nil
			}
		}
		if !moved || s.full && (!near || above < max(1e-6*s.floor, 1e-15*s.scale())) {
			s.floor *= 0.1
		}
		if !moved {
			if err := s.relate(); err != nil {
				return nil, err
			}
		}
	}
	return best, nil
}

// near says that mu is low enough for a tolerance.
func (s *solver) near(tolerance float64) bool {
	return s.rel.center.gap() <= 0.5*tolerance*s.scale()
}

// searchCentral steps along the central path: Z moves by dz and Omega as it follows, with
// W Omega^-1 on a straight line. As Omega becomes singular, so does W.
func (s *solver) searchCentral(dz []float64) (bool, error) {
	x := s.rel.center
	cross := products(dz, s.z, s.m, s.d)
	d := mat.NewDense(s.m, s.m, nil)
	d.Add(cross, cross.T())
	d.Sub(s.drift, x.curve()(d))
	e, err := Eigen(symmetrised(d, 1))
	if err != nil {
		return false, err
	}
	// Z + t dz is (I + t D) (Z + t dy) but for t^2, and W' the root times this.
	dy, bend := s.cg[2][:len(s.z)], s.cg[3][:len(s.z)]
	rotate(dy, d, s.z, s.d)
	scale(-1, dy)
	add(1, dz, dy)
	rotate(s.t1, d, dy, s.d)
	rotate(bend, x.root, s.t1, s.d)
	before := s.loss + x.with(s.floor)
	for t := farthest(e); t > 1e-6; t /= 2 {
		copy(s.trial.w, s.w)
		add(t, s.step.w, s.trial.w)
		add(t*t, bend, s.trial.w)
		copy(s.trial.b, s.b)
		s.moveTo(&s.trial)
		copy(s.t1, s.z)
		add(t, dy, s.t1)
		next, err := x.moved(e, t, gram(s.t1, s.m, s.d), 0.5)
		if err != nil {
			return false, err
		}
		next.mu = s.floor
		if err := next.settle(); err != nil {
			return false, err
		}
		if rel := next.relation(); s.trial.loss+rel.value < before+1e-11*math.Abs(before) {
			s.point, s.trial = s.trial, s.point
			s.rel, s.full = rel, t > 0.9
			return true, nil
		}
	}
	return false, nil
}
