package solve

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/infer"
	"l2mt/model/multitask"
)

// Prior is what is known of a covariance before any held-out row is looked at:
//
//	Weight m/2 ||Omega - Omega_0||^2
//
// in relative errors, those of single-task learning being 1. It is f of a network
// up to a constant where f has its minimum Omega_0 inside of the covariances, and
// Weight is n_0 over the number of held-out rows.
type Prior struct {
	// Omega is Omega_0, of trace 1.
	Omega *mat.SymDense
	// Weight is how much it counts; 0 leaves everything to the evidence.
	Weight float64
}

// value is the prior's part of what Search minimises.
func (p Prior) value(omega *mat.SymDense) float64 {
	var d mat.Dense
	d.Sub(omega, p.Omega)
	n := mat.Norm(&d, 2)
	return p.Weight * float64(omega.SymmetricDim()) / 2 * n * n
}

// Searched is a covariance with its fit and what speaks for it.
type Searched struct {
	// Omega has trace 1.
	Omega *mat.SymDense
	// Tuned is the fit on all rows of the evidence, with the Lambda1 that it chose.
	Tuned *multitask.Tuned
	// Objective is the relative soft error of the rows held out and the prior's part.
	Objective float64
	// Step is the number of steps that led here, 0 being Omega_0.
	Step int
}

// shortest is the length, relative to the trace of Omega, of the steps that
// Search does not take any more.
const shortest = 1e-3

// search is what the steps of a Search share.
type search struct {
	problem  *data.ProblemData
	evidence multitask.Evidence
	prior    Prior
	unit     float64 // the soft error of single-task learning
	tune     multitask.TuneOptions
}

// Search minimises prior and evidence,
//
//	soft(Omega) / soft(I/m) + Weight m/2 ||Omega - Omega_0||^2,
//
// over the covariances of trace 1, by steps from Omega_0. A step minimises
//
//	<slope, Omega> + Weight m/2 ||Omega - Omega_0||^2 + 1/(2 t) ||Omega - Omega_k||^2
//
// which is the problem that a network poses too, so the same closed form solves
// it. After a step that does not lower the objective, which is not taken, t is
// half as large, and after one that does half as large again. Lambda1 is held on
// the way and chosen at both ends: a multiple of Omega is a Lambda1.
func Search(ctx context.Context, p *data.ProblemData, e multitask.Evidence, prior Prior, steps int, tune multitask.TuneOptions) (*Searched, error) {
	tune.Evidence = e
	s := &search{problem: p, evidence: e, prior: prior, tune: tune}
	stl, err := multitask.Refit(ctx, uniform(len(p.Tasks)), p, tune)
	if err != nil {
		return nil, fmt.Errorf("solve: problem %q: %w", p.Name, err)
	}
	if s.unit = stl.HeldOut.Soft; s.unit == 0 {
		s.unit = 1
	}
	best, err := s.refit(ctx, prior.Omega, tune)
	if err != nil {
		return nil, err
	}
	return s.descend(ctx, best, steps)
}

// uniform is I/m, which shares nothing.
func uniform(m int) *mat.SymDense {
	o := mat.NewSymDense(m, nil)
	for i := range m {
		o.SetSym(i, i, 1/float64(m))
	}
	return o
}

func (s *search) refit(ctx context.Context, omega *mat.SymDense, tune multitask.TuneOptions) (*Searched, error) {
	tuned, err := multitask.Refit(ctx, omega, s.problem, tune)
	if err != nil {
		return nil, fmt.Errorf("solve: problem %q: %w", s.problem.Name, err)
	}
	return &Searched{Omega: tuned.Omega, Tuned: tuned, Objective: tuned.HeldOut.Soft/s.unit + s.prior.value(tuned.Omega)}, nil
}

// descend takes the steps.
func (s *search) descend(ctx context.Context, at *Searched, steps int) (*Searched, error) {
	var slope *mat.SymDense
	var t float64
	for k := 1; k <= steps; k++ {
		if slope == nil {
			var err error
			if slope, err = at.Tuned.HeldOut.Slope(); err != nil {
				return nil, fmt.Errorf("solve: problem %q: %w", s.problem.Name, err)
			}
			slope.ScaleSym(1/s.unit, slope)
			length := lengthAlong(slope)
			if length == 0 {
				break
			}
			if t == 0 {
				t = stride / length
			}
			if t*length < shortest {
				break
			}
		}
		phi, rho := infer.Proximal(slope, at.Omega, t)
		pull := s.prior.Weight * float64(len(s.problem.Tasks))
		var toward mat.SymDense
		toward.ScaleSym(-pull, s.prior.Omega)
		phi.AddSym(phi, &toward)
		found, err := infer.Omega(phi, rho+pull/2)
		if err != nil {
			return nil, fmt.Errorf("solve: problem %q: %w", s.problem.Name, err)
		}
		held := s.tune
		held.Lambda1 = []float64{at.Tuned.Params.Lambda1}
		held.Fit.Tolerance, held.Fit.Start = 1e-6, at.Tuned.Result
		next, err := s.refit(ctx, found.Omega, held)
		if err != nil {
			return nil, err
		}
		if next.Objective < at.Objective {
			next.Step = k
			at, slope, t = next, nil, 1.5*t
		} else if t /= 2; t*lengthAlong(slope) < shortest {
			break
		}
	}
	final := s.tune
	final.Lambda1 = spread(at.Tuned.Params.Lambda1)
	last, err := s.refit(ctx, at.Omega, final)
	if err != nil {
		return nil, err
	}
	last.Step = at.Step
	return last, nil
}

// lengthAlong is the length of a slope along covariances of one trace.
func lengthAlong(slope *mat.SymDense) float64 {
	m := slope.SymmetricDim()
	level, n := mat.Trace(slope)/float64(m), mat.Norm(slope, 2)
	return math.Sqrt(max(0, n*n-float64(m)*level*level))
}

// spread is the grid of Lambda1 in the neighbourhood of the last choice.
func spread(lambda1 float64) []float64 {
	grid := make([]float64, 7)
	for i := range grid {
		grid[i] = lambda1 * math.Pow(10, float64(i-3)/2)
	}
	return grid
}
