package infer

import (
	"context"
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/model/multitask"
)

// Scales are the multiples of rho that Fit tries by default, from the network's
// own estimate of how much to share to single-task learning. Covariances that
// share more than the network says have never paid.
var Scales = []float64{1, 2, 4, 8, 16, math.Inf(1)}

// FitOptions control Fit. The zero value means the defaults.
type FitOptions struct {
	// Scales are the multiples of rho to choose from by validation error;
	// default Scales. Of equal errors the largest multiple is taken, which
	// shares least. Infinity stands for Omega = I/m.
	Scales []float64
	// Tune controls the choice of Lambda1.
	Tune multitask.TuneOptions
}

// Fitted is a problem solved with the covariance that a network found.
type Fitted struct {
	*Found
	// Scale is the multiple of rho that the validation rows chose.
	Scale float64
	// Tuned has W, b, Lambda1 and the errors.
	Tuned *multitask.Tuned
	// Finding and Fitting are the seconds of the two phases.
	Finding, Fitting float64
}

// Fit finds the best covariance for a problem, and W and b with Lambda1 tuned
// on the validation rows. How much of the covariance's sharing to use, a
// multiple of rho, is chosen on the validation rows too: the network knows
// which tasks are alike better than how much that is worth here.
func (n *Network) Fit(ctx context.Context, p *data.ProblemData, o FitOptions) (*Fitted, error) {
	if o.Scales == nil {
		o.Scales = Scales
	}
	begin := time.Now()
	estimate, err := n.estimate(p)
	if err != nil {
		return nil, err
	}
	f := &Fitted{Finding: time.Since(begin).Seconds()}
	for _, scale := range o.Scales {
		found, err := n.solve(p.Name, estimate, scale)
		if err != nil {
			return nil, err
		}
		tuned, err := multitask.Refit(ctx, found.Omega, p, o.Tune)
		if err != nil {
			return nil, fmt.Errorf("infer: problem %q: %w", p.Name, err)
		}
		if f.Tuned == nil || tuned.Validation.Mean <= f.Tuned.Validation.Mean {
			f.Found, f.Scale, f.Tuned = found, scale, tuned
		}
	}
	f.Fitting = time.Since(begin).Seconds() - f.Finding
	return f, nil
}

// Estimated is the relative error that the network expects of a covariance on
// a problem.
func (n *Network) Estimated(p *data.ProblemData, omega *mat.SymDense) (float64, error) {
	if m := omega.SymmetricDim(); m != len(p.Tasks) {
		return 0, fmt.Errorf("infer: problem %q: %w: a covariance of %d tasks for a problem of %d", p.Name, ErrInvalid, m, len(p.Tasks))
	}
	e, err := n.estimate(p)
	if err != nil {
		return 0, err
	}
	unit := mat.NewSymDense(omega.SymmetricDim(), nil)
	unit.ScaleSym(1/mat.Trace(omega), omega)
	return n.of.RelativeError(e.Value(unit)), nil
}
