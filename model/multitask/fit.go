package multitask

import (
	"context"
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/mat"
)

// Options control a fit. The zero value asks for the default accuracy.
type Options struct {
	// Tolerance is the gap to stop at, relative to the objective. 0 means 1e-8.
	Tolerance float64
	// MaxIterations limits the Newton iterations. 0 means 500.
	MaxIterations int
	// Workers is the number of goroutines that share the tasks of one fit; the
	// result does not depend on it. 0 means 1, which is best when many fits
	// run side by side.
	Workers int
	// Start is a result to start from, such as that of a nearby Lambda1. Nil
	// starts from zero.
	Start *Result
}

// Status says how a fit ended.
type Status string

// The ways in which a fit ends.
const (
	// Converged means that the gap is within the tolerance.
	Converged Status = "converged"
	// IterationLimit means that the iterations ran out before that.
	IterationLimit Status = "iteration limit"
	// Stalled means that rounding errors left no further progress to be made.
	Stalled Status = "stalled"
)

// Result is a fitted model.
type Result struct {
	// Model is the name of the model, "fixed" for a given Omega.
	Model string
	// Params are the hyperparameters, complete.
	Params Params
	// W is d x m, with the weights of one task in every column.
	W *mat.Dense
	// B holds the m biases.
	B []float64
	// Omega is the covariance as the model has it, not normalised.
	Omega *mat.SymDense
	// A is AMTL's transfer matrix, nil in other models.
	A *mat.Dense
	// Objective is the value of problem (1).
	Objective float64
	// Trace is the objective after every iteration, with the floor of that
	// iteration; it never rises.
	Trace []float64
	// Iterations counts the Newton iterations.
	Iterations int
	// Status says how the fit ended.
	Status Status
	// Gap bounds Objective minus its minimum: over everything for models that
	// are convex in W and Omega together, else over W and b given Omega plus
	// over Omega given W.
	Gap float64
	// Seconds is the wall time.
	Seconds float64

	cov *Covariance // a start for the Omega step of the next fit
}

// Fit solves problem (1) for a model.
func Fit(ctx context.Context, model Model, problem *Problem, p Params, opt Options) (*Result, error) {
	p, err := Complete(model, p)
	if err != nil {
		return nil, err
	}
	if err := opt.complete(problem); err != nil {
		return nil, err
	}
	begin := time.Now()
	s := newSolver(problem, model, p, opt.Workers)
	r, err := s.run(ctx, opt)
	if err != nil {
		return nil, err
	}
	r.Seconds = time.Since(begin).Seconds()
	return r, nil
}

// FitFixed solves problem (1) over W and b for a given Omega, which may be
// singular.
func FitFixed(ctx context.Context, omega *mat.SymDense, problem *Problem, lambda1 float64, opt Options) (*Result, error) {
	if err := checkOmega(omega, len(problem.tasks)); err != nil {
		return nil, err
	}
	return Fit(ctx, fixed{omega}, problem, Params{Lambda1: lambda1}, opt)
}

// checkOmega reports what keeps a matrix from being the covariance of m tasks.
func checkOmega(omega *mat.SymDense, m int) error {
	e, err := Eigen(omega)
	if err != nil {
		return err
	}
	if n := len(e.Values); n != m {
		return fmt.Errorf("multitask: Omega: %w: it is %d x %d; the problem has %d tasks", ErrInvalidOmega, n, n, m)
	}
	if low, high := e.Values[0], e.Values[m-1]; !(high > 0) || low < -1e-9*high {
		return fmt.Errorf("multitask: Omega: %w: its eigenvalues reach from %v to %v; they must not be negative, nor all zero", ErrInvalidOmega, low, high)
	}
	return nil
}

// complete checks the options and fills in the defaults.
func (o *Options) complete(problem *Problem) error {
	if o.Tolerance < 0 || math.IsNaN(o.Tolerance) || o.MaxIterations < 0 {
		return fmt.Errorf("multitask: options: %w: Tolerance %v and MaxIterations %d must not be negative", ErrInvalidParams, o.Tolerance, o.MaxIterations)
	}
	if o.Tolerance == 0 {
		o.Tolerance = 1e-8
	}
	if o.MaxIterations == 0 {
		o.MaxIterations = 500
	}
	if o.Start != nil {
		if d, m := o.Start.W.Dims(); d != problem.d || m != len(problem.tasks) {
			return fmt.Errorf("multitask: options, Start: %w: it is for %d features and %d tasks; the problem has %d and %d", ErrInvalidParams, d, m, problem.d, len(problem.tasks))
		}
	}
	return nil
}

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
