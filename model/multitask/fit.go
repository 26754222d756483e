package multitask

import (
	"context"

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
}

// Fit solves problem (1) for a model.
func Fit(ctx context.Context, model Model, problem *Problem, p Params, opt Options) (*Result, error) {
	return nil, nil
}

// FitFixed solves problem (1) over W and b for a given Omega, which may be
// singular.
func FitFixed(ctx context.Context, omega *mat.SymDense, problem *Problem, lambda1 float64, opt Options) (*Result, error) {
	return nil, nil
}
