package multitask

import (
	"cmp"
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/view"
)

// Options control a fit. The zero value asks for the default accuracy.
type Options struct {
	// Tolerance is the gap to stop at, relative to the objective. 0 means 1e-8.
	Tolerance float64
	// MaxIterations limits the steps of Newton's method where Omega is given, the sweeps of
	// four steps where a model is convex in W and Omega together, and the rounds of ten turns
	// of W and Omega where it is not. 0 means 500.
	MaxIterations int
	// Workers is the number of goroutines that share the tasks of one fit; the
	// result does not depend on it. 0 means 1, which is best when many fits
	// run side by side.
	Workers int
	// Start is a result of as many tasks and features to start from, such as the fit of a
	// nearby Lambda1. Nil starts from zero.
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
	// W is d x m, with the weights of one task in every column. Of tasks of more
	// than two classes it has such a block for each of the C classes, one below
	// the other: it is C d x m.
	W *mat.Dense
	// B holds the m biases, or C for every task, -Inf for a class that it
	// cannot have.
	B []float64
	// Omega is the covariance as the model has it, not normalised.
	Omega *mat.SymDense
	// A is AMTL's transfer matrix, nil in other models.
	A *mat.Dense
	// Objective is the value of problem (1).
	Objective float64
	// Iterations is the count that MaxIterations limits.
	Iterations int
	// Status says how the fit ended.
	Status Status
	// Gap bounds Objective minus its minimum: over everything for models that
	// are convex in W and Omega together, else over W and b given Omega plus
	// over Omega given W. It is never negative: rounding below 0 is 0, and more is an error.
	Gap float64

	set *TrainingSet // the rows, as the fit saw them
	a   []float64    // Omega^-1 W' there, where Omega was held
}

// Scores are the fit's predictions for rows of one of its tasks: the targets of a
// regression, and for two classes numbers that are positive where the class is +1.
// Of more classes every row has a score for each, which stand row by row.
func (r *Result) Scores(task int, x data.Matrix) []float64 {
	return LinearOf(r.W, r.B, task).Scores(x)
}

// Linear predicts the rows of a task: X W + 1 b'.
type Linear struct {
	// W is d x k, row-major; there is a column for every class, or k = 1.
	W []float64
	// B has k entries.
	B []float64
}

// LinearOf takes the column of a task out of W, and its biases out of all.
func LinearOf(w *mat.Dense, b []float64, task int) Linear {
	rows, m := w.Dims()
	k := len(b) / m
	column := mat.NewDense(k, rows/k, mat.Col(nil, task, w))
	return Linear{
		W: rowsOf(column),
		B: b[task*k:][:k],
	}
}

// Scores returns X W + 1 b', row by row.
func (l Linear) Scores(x data.Matrix) []float64 {
	k := len(l.B)
	f := make([]float64, x.Rows()*k)
	x.Mul(f, l.W, k)
	for j := range f {
		f[j] += l.B[j%k]
	}
	return f
}

// Fit solves problem (1) for a model, by the solver that suits it.
func Fit(ctx context.Context, model Model, problem *TrainingSet, p Params, opt Options) (*Result, error) {
	p, err := Complete(model, p)
	if err != nil {
		return nil, err
	}
	opt.Tolerance = cmp.Or(opt.Tolerance, 1e-8)
	opt.MaxIterations = cmp.Or(opt.MaxIterations, 500)
	set := problem.fewer()
	if model, ok := model.(held); ok {
		omega := model.omega(set.Tasks(), p)
		m := omega.SymmetricDim()
		if m != set.Tasks() {
			return nil, ErrInvalidOmega.Errorf("Omega: it is for %d tasks; there are %d",
				m, set.Tasks())
		}
		return solveHeld(ctx, set, model.info.Name, omega, p, opt)
	}
	if model, ok := isConvex(model, p); ok {
		return solveJoint(ctx, set, model, p, opt)
	}
	return solveLocal(ctx, set, model, p, opt)
}

// FitFixed solves problem (1) over W and b for a given Omega, as Fit does for its model Given.
func FitFixed(ctx context.Context, omega *mat.SymDense, problem *TrainingSet,
	lambda1 float64, opt Options) (*Result, error) {
	model, err := Given(omega)
	if err != nil {
		return nil, err
	}
	return Fit(ctx, model, problem, Params{Lambda1: lambda1}, opt)
}

// Normalised returns Omega divided by its trace, itself if that is 1 already.
func Normalised(omega *mat.SymDense) *mat.SymDense {
	if math.Abs(mat.Trace(omega)-1) < 1e-15*float64(omega.SymmetricDim()) {
		return omega
	}
	n := mat.NewSymDense(omega.SymmetricDim(), nil)
	n.ScaleSym(1/mat.Trace(omega), omega)
	return n
}

// Restored returns a fit of metric.Problem(problem) as one of the problem.
func (r *Result) Restored(metric *view.Metric) *Result {
	s := *r
	s.W = metric.Pull(r.W)
	s.set = nil
	s.a = nil
	return &s
}
