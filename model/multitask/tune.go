package multitask

import (
	"context"

	"l2mt/data"
	"l2mt/data/progress"

	"gonum.org/v1/gonum/mat"
)

// TuneOptions control the search for hyperparameters. The zero value searches
// a grid of default size.
type TuneOptions struct {
	// Lambda1 is the grid of Lambda1. Nil means LambdaGrid of the problem.
	Lambda1 []float64
	// Points is the number of grid points along every other hyperparameter
	// that the model searches. 0 means 4.
	Points int
	// Samples asks for that many random draws of the other hyperparameters
	// instead of a grid, uniform in their ranges. 0 means the grid.
	Samples int
	// Seed is the seed of the draws.
	Seed uint64
	// Loss is the training loss. Empty means the one that suits the tasks.
	Loss Loss
	// Tolerance is the accuracy of the fits that only compare
	// hyperparameters. 0 means 1e-5. The one chosen is fitted to Fit.Tolerance.
	Tolerance float64
	// Workers is the number of goroutines; the result does not depend on it. 0
	// means 1.
	Workers int
	// Fit controls the final fit.
	Fit Options
	// STL is single-task learning tuned on the same problem, which relative
	// errors refer to. Nil leaves them NaN.
	STL *Tuned
	// Progress hears of every fit. Nil means nobody.
	Progress progress.Reporter
}

// Tuned is a model with the hyperparameters that the validation rows chose.
type Tuned struct {
	// Model is the name of the model, "fixed" for a given Omega.
	Model string
	// Params are the hyperparameters chosen.
	Params Params
	// Result is the fit with them.
	Result *Result
	// Omega is the covariance of the fit divided by its trace.
	Omega *mat.SymDense
	// Validation and Test are the errors on these rows. The test rows take no
	// part in any choice.
	Validation, Test Errors
	// Relative is the mean test error divided by that of STL, NaN if unknown.
	Relative float64
	// Trials lists what was tried, in a fixed order.
	Trials []Trial
	// Seconds is the wall time.
	Seconds float64
}

// Trial is one setting of the hyperparameters that was tried.
type Trial struct {
	Params Params
	// Validation is the mean error on the validation rows.
	Validation float64
	// Status is how the fit ended.
	Status Status
}

// Errors are the errors of a fit on one split of every task.
type Errors struct {
	// Task is the error of every task: the rate of misclassified rows, or for
	// regression the mean squared error divided by the variance of the
	// targets (nMSE).
	Task []float64 `json:"task"`
	// RMSE is the root mean squared error of every task, for regression only.
	RMSE []float64 `json:"rmse,omitempty"`
	// Mean is the mean of Task.
	Mean float64 `json:"mean"`
}

// Tune chooses the hyperparameters of a model by its validation error, fits it
// with them and reports its errors.
func Tune(ctx context.Context, model Model, problem *data.ProblemData, opt TuneOptions) (*Tuned, error) {
	return nil, nil
}

// Refit fixes Omega, divided by its trace, chooses Lambda1 by the validation
// error and reports the errors: the error of a covariance, whatever
// model it comes from.
func Refit(ctx context.Context, omega *mat.SymDense, problem *data.ProblemData, opt TuneOptions) (*Tuned, error) {
	return nil, nil
}

// LambdaGrid is the default grid of Lambda1 for a problem: twelve values a
// factor of sqrt(10) apart, in proportion to the mean squared length of the
// training rows.
func LambdaGrid(p *Problem) []float64 { return nil }

// Evaluate returns the errors of a fit on the given rows, one Samples a task.
func Evaluate(r *Result, kind data.Kind, tasks []data.Samples) (Errors, error) { return Errors{}, nil }
