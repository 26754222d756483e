package solve

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"l2mt/data/progress"
	"l2mt/infer"
	"l2mt/model/multitask"
)

// Searched is a covariance with its fit and what speaks for it.
type Searched struct {
	// Omega has trace 1.
	Omega *mat.SymDense
	// Tuned is the fit on all rows of the evidence, with the Lambda1 that it chose.
	Tuned *multitask.Tuned
	// Objective is the soft error of the rows held out and the prior's part.
	Objective float64
	// Step is the number of steps that led here, 0 being what the network says.
	Step int
}

const (
	// stride is the length of the first step, relative to the trace of Omega.
	stride = 0.2
	// shortest is the length of the steps that are not taken any more.
	shortest = 1e-3
	// heard is what a step has to bring for another to follow it, in standard errors of
	// the soft error.
	heard = 1e-3
	// mostVariance is that of what rows say of classes.
	mostVariance = 0.25
)

// search minimises prior and evidence over the covariances of trace 1,
//
//	soft(Omega) + w m/2 ||Omega - Omega_0||^2,  w = sqrt(n_0/n) max(1, 4 v),
//
// n being the number of rows held out, whose noise falls with its root, and v the
// variance of what they say of Omega_0, which is at most 1/4 for classes and may be
// many times that for squared errors; by steps from Omega_0. The second term is f of
// a network, up to a constant and a factor, where f has its minimum Omega_0 inside of
// the covariances. A step minimises
//
//	<slope, Omega> + w m/2 ||Omega - Omega_0||^2 + 1/(2 t) ||Omega - Omega_k||^2,
//
// which is the problem that a network poses too, so the same closed form solves
// it. After a step that does not lower the objective, which is not taken, t is
// half as large, and after one that does half as large again. Lambda1 is chosen for
// Omega_0 and held: with a covariance that the same rows have found, they would
// choose one that is far too small.
type search struct {
	of      *Embedding
	*ground         // in the metric of 1, unless the search is euclidean or held-out rows speak for another
	rows    float64 // n_0
	tune    multitask.TuneOptions
	report  progress.Reporter

	without bool    // see FitOptions
	margin  float64 // of the directions

	prior *mat.SymDense // Omega_0
	pull  float64       // w m
	noise float64       // the standard error of the soft error

	doubt *doubt
}

// run fills in what comes of a prior.
func (s *search) run(ctx context.Context, f *Fitted, steps int) (err error) {
	n := 0
	for _, t := range s.problem.Tasks {
		n += len(t.TrainSet.Y)
	}
	s.prior = f.Prior.Omega
	if f.Start, err = s.fit(ctx, s.prior, s.tune); err != nil {
		return err
	}
	s.pull = math.Sqrt(s.rows/float64(n)) * float64(len(s.problem.Tasks)) * max(1, f.Start.Tuned.HeldOut.Variance/mostVariance)
	s.noise = math.Sqrt(f.Start.Tuned.HeldOut.Variance / float64(f.Start.Tuned.HeldOut.Rows))
	if f.Searched = f.Start; steps == 0 {
		return nil
	}
	if f.Trust, f.Searched, err = s.trust(ctx, f.Start); err != nil {
		return err
	}
	s.prior, f.Searched.Objective = f.Searched.Omega, f.Searched.Tuned.HeldOut.Soft
	end, err := s.descend(ctx, f.Searched, steps)
	if err != nil {
		return err
	}
	if end.Step == 0 {
		return nil
	}
	final := s.tune
	final.Lambda1 = []float64{end.Tuned.Params.Lambda1}
	if f.Searched, err = s.fit(ctx, end.Omega, final); err != nil {
		return err
	}
	f.Step = end.Step
	return nil
}

// fit completes a covariance with its fit.
func (s *search) fit(ctx context.Context, omega *mat.SymDense, tune multitask.TuneOptions) (*Searched, error) {
	tune.Evidence = s.evidence
	tuned, err := multitask.Refit(ctx, omega, s.problem, tune)
	if err != nil {
		return nil, err
	}
	s.report.Advance(1, "")
	var d mat.Dense
	d.Sub(omega, s.prior)
	distance := mat.Norm(&d, 2)
	return &Searched{Omega: omega, Tuned: tuned, Objective: tuned.HeldOut.Soft + s.pull/2*distance*distance}, nil
}

// descend takes the steps.
func (s *search) descend(ctx context.Context, at *Searched, steps int) (*Searched, error) {
	slope, err := at.Tuned.HeldOut.Slope()
	if err != nil {
		return nil, err
	}
	t := stride / length(slope)
	for k := 1; k <= steps && t*length(slope) > shortest; k++ {
		found, err := Omega(s.pose(slope, at.Omega, t))
		if err != nil {
			return nil, err
		}
		held := s.tune
		held.Lambda1 = []float64{at.Tuned.Params.Lambda1}
		held.Fit.Tolerance, held.Fit.Start = 1e-6, at.Tuned.Result
		next, err := s.fit(ctx, found.Omega, held)
		if err != nil {
			return nil, err
		}
		if !(next.Objective < at.Objective) {
			t /= 2
			continue
		}
		gain := at.Objective - next.Objective
		at, t = next, 1.5*t
		if at.Step = k; gain < heard*s.noise {
			break
		}
		if slope, err = at.Tuned.HeldOut.Slope(); err != nil {
			return nil, err
		}
	}
	return at, nil
}

// pose is a step as the problem that Omega solves.
func (s *search) pose(slope, from *mat.SymDense, t float64) (phi *mat.SymDense, rho float64) {
	phi, rho = infer.Proximal(slope, from, t)
	var toward mat.SymDense
	toward.ScaleSym(-s.pull, s.prior)
	phi.AddSym(phi, &toward)
	return phi, rho + s.pull/2
}

// length is that of a slope along covariances of one trace, at least the least
// positive number.
func length(slope *mat.SymDense) float64 {
	level, n := mat.Trace(slope)/float64(slope.SymmetricDim()), mat.Norm(slope, 2)
	return math.Sqrt(max(math.SmallestNonzeroFloat64, n*n-float64(slope.SymmetricDim())*level*level))
}
