package solve

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/progress"
	"l2mt/infer"
	"l2mt/model/multitask"
)

// Scales are the multiples of rho that Fit tries by default, from sharing more
// than the network says to single-task learning.
var Scales = []float64{0.5, 1, 2, 4, 8, math.Inf(1)}

// FitOptions control Fit. The zero value means the defaults.
type FitOptions struct {
	// Scales are the multiples of rho to choose from by validation error;
	// default Scales. Of equal errors the largest multiple is taken, which
	// shares least. Infinity stands for Omega = I/m.
	Scales []float64
	// Steps is the number of steps that refine the covariance chosen; 0 means
	// Refinements, and a negative number none.
	Steps int
	// Tune controls the choice of Lambda1. Its Workers share the multiples.
	Tune multitask.TuneOptions
}

// Candidate is a covariance with its fit.
type Candidate struct {
	*Found
	// Scale is the multiple of rho that it started from.
	Scale float64
	// Step is the step of refinement that led to it, 0 for what the network
	// says.
	Step int
	// Tuned has W, b, Lambda1 and the errors.
	Tuned *multitask.Tuned
	// Soft is multitask.SoftError of the fit, by which steps are judged.
	Soft float64
}

// Seconds is the time for the candidate.
func (c Candidate) Seconds() float64 { return c.Found.Seconds + c.Tuned.Seconds }

// Fitted is a problem solved with the covariance that a network found.
type Fitted struct {
	// Candidate is the one that the validation rows chose.
	Candidate
	// Start is the multiple of rho that they chose, from which refinement starts.
	Start Candidate
	// Tried lists all of them, by Scale and then by Step.
	Tried []Candidate
	// Fitting is the time for all fits in seconds.
	Fitting float64
}

// Fit finds the best covariance for a problem, and W and b with Lambda1 tuned
// on the validation rows. It is Embed with Embedding.Fit.
func (n *Network) Fit(ctx context.Context, p *data.ProblemData, o FitOptions) (*Fitted, error) {
	e, err := n.Embed(p)
	if err != nil {
		return nil, err
	}
	return e.Fit(ctx, o)
}

// Fit finds the best covariance, and W and b with Lambda1 tuned on the
// validation rows. How much of the covariance's sharing to use, a multiple of
// rho, is chosen on the validation rows too: the network knows which tasks are
// alike better than how much that is worth here. From there steps of refinement
// follow what the validation rows say of every pair of tasks.
func (e *Embedding) Fit(ctx context.Context, o FitOptions) (*Fitted, error) {
	for _, t := range e.problem.Tasks {
		if len(t.ValidationSet.Y) == 0 {
			return nil, fmt.Errorf("solve: problem %q, task %q: %w: it has no validation rows, on which hyperparameters are chosen", e.problem.Name, t.Name, infer.ErrInvalid)
		}
	}
	begin := time.Now()
	if o.Scales == nil {
		o.Scales = Scales
	}
	o.Scales = slices.Sorted(slices.Values(o.Scales))
	o.Steps = max(cmp.Or(o.Steps, Refinements), 0)
	report := cmp.Or(o.Tune.Progress, progress.Silent())
	o.Tune.Progress = nil // its stages would run side by side
	report.Start("fitting", len(o.Scales)+o.Steps)
	defer report.Finish()
	f := &Fitted{}
	var err error
	if f.Tried, err = e.scale(ctx, o, report); err != nil {
		return nil, err
	}
	for _, c := range f.Tried {
		if f.Start.Tuned == nil || c.Tuned.Validation.Mean <= f.Start.Tuned.Validation.Mean {
			f.Start = c
		}
	}
	f.Candidate = f.Start
	refined, err := e.refine(ctx, f.Start, o, report)
	if err != nil {
		return nil, err
	}
	for _, c := range refined {
		if c.Soft < f.Soft {
			f.Candidate = c
		}
	}
	f.Tried = append(f.Tried, refined...)
	f.Fitting = time.Since(begin).Seconds()
	return f, nil
}

// scale fits with the covariances of all multiples of rho.
func (e *Embedding) scale(ctx context.Context, o FitOptions, report progress.Reporter) ([]Candidate, error) {
	tried := make([]Candidate, len(o.Scales))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, o.Tune.Workers))
	for i, scale := range o.Scales {
		group.Go(func() error {
			found, err := e.Omega(scale)
			if err != nil {
				return err
			}
			if tried[i], err = e.refit(ctx, Candidate{Found: found, Scale: scale}, o.Tune); err != nil {
				return err
			}
			report.Advance(1, "")
			return nil
		})
	}
	return tried, group.Wait()
}

// refit completes a candidate with the fit.
func (e *Embedding) refit(ctx context.Context, c Candidate, o multitask.TuneOptions) (_ Candidate, err error) {
	if c.Tuned, err = multitask.Refit(ctx, c.Omega, e.problem, o); err == nil {
		c.Soft, err = multitask.SoftError(c.Tuned.Result, e.problem)
	}
	if err != nil {
		return c, fmt.Errorf("solve: problem %q: %w", e.problem.Name, err)
	}
	return c, nil
}

// Score returns what a fit predicts for rows of one of its tasks: the targets
// of regression, and for classification numbers that are positive where the
// class is +1.
func Score(r *multitask.Result, task int, x data.Matrix) []float64 {
	scores := make([]float64, x.Rows())
	x.Mul(scores, mat.Col(nil, task, r.W), 1)
	for i := range scores {
		scores[i] += r.B[task]
	}
	return scores
}
