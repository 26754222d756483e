package multitask

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"l2mt/data"
	"l2mt/data/progress"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// TuneOptions control the search for hyperparameters. The zero value searches
// a grid of default size.
type TuneOptions struct {
	// Lambda1 is the grid of Lambda1. Nil means LambdaGrid of the problem, and up
	// to six smaller values as long as each is better than all before.
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
	// Evidence replaces the validation rows. Its soft error chooses,
	// smoothed along Lambda1, and Lambda1 may lie between the grid's values:
	// nothing then hangs on which of few rows happen to be misclassified.
	Evidence Evidence
	// Smoothness is the standard deviation, in ln(Lambda1), of the Gaussian
	// that smooths the soft error. 0 means that of a factor of sqrt(10).
	Smoothness float64
	// Prior is what is known of Lambda1 beforehand, as if from other rows. Nil
	// is nothing. It takes Evidence.
	Prior *Lambda1Prior
	// Tolerance is the accuracy of the fits that only compare
	// hyperparameters. 0 means 1e-4, which is far below what a validation
	// error can distinguish. The setting chosen is fitted to Fit.Tolerance.
	Tolerance float64
	// Iterations limits the iterations of these fits. 0 means 10.
	Iterations int
	// Ridge is that of the data.Metric of their rows in which CrossValidate makes its
	// fits; 0 leaves the features as they are.
	Ridge float64
	// Directions of the features (d x r), where not nil, are those along which W is
	// expected too, as data.Metric.Along has it, in these fits.
	Directions *mat.Dense
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
	// Validation and Test are the errors on these rows, empty where no task has
	// such rows. The test rows take no part in any choice. Where other evidence
	// has chosen, Validation is the mean that it tells.
	Validation, Test Errors
	// HeldOut is what the evidence says of the fit, nil if none was given.
	HeldOut *HeldOut
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
	// Validation is the mean error on the validation rows, or the smoothed soft
	// error of other evidence with the prior's part.
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
// with them and reports its errors. Of settings with equal errors the one with
// the largest Lambda1 is taken. Models that are not convex keep the fit that
// was validated: a closer one may be another minimum.
func Tune(ctx context.Context, model Model, problem *data.ProblemData, opt TuneOptions) (*Tuned, error) {
	begin := time.Now()
	s, err := newSearch(model, problem, opt)
	if err != nil {
		return nil, err
	}
	tried, err := s.run(ctx)
	if err != nil {
		return nil, err
	}
	tuned := &Tuned{Model: model.Info().Name}
	var best *attempt
	params := Params{}
	for _, path := range tried {
		if s.opt.Evidence != nil {
			s.smooth(path)
		}
		for j := range path {
			t := &path[j]
			tuned.Trials = append(tuned.Trials, t.Trial)
			if best == nil || t.better(best) {
				best, params = t, t.Params
				if s.opt.Evidence != nil {
					params = params.With(Lambda1, between(path, j))
				}
			}
		}
	}
	tuned.Params, tuned.Result, tuned.HeldOut = best.Params, best.result, best.held
	if _, convex := model.(Convex); convex && !s.single() {
		final := s.opt.Fit
		final.Start = best.result
		if tuned.Result, err = Fit(ctx, model, s.train, params, final); err != nil {
			return nil, err
		}
		tuned.Params, tuned.HeldOut = tuned.Result.Params, nil
	}
	if s.opt.Evidence != nil && tuned.HeldOut == nil {
		if tuned.HeldOut, err = s.opt.Evidence.Measure(ctx, tuned.Result); err != nil {
			return nil, err
		}
	}
	if err := tuned.report(problem, opt.STL); err != nil {
		return nil, err
	}
	tuned.Seconds = time.Since(begin).Seconds()
	return tuned, nil
}

// Refit fixes Omega, divided by its trace, chooses Lambda1 by the validation
// error and reports the errors: the error of a covariance, whatever
// model it comes from.
func Refit(ctx context.Context, omega *mat.SymDense, problem *data.ProblemData, opt TuneOptions) (*Tuned, error) {
	if err := checkOmega(omega, len(problem.Tasks)); err != nil {
		return nil, err
	}
	return Tune(ctx, fixed(normalised(omega)), problem, opt)
}

// normalised returns Omega divided by its trace, itself if that is 1 already.
func normalised(omega *mat.SymDense) *mat.SymDense {
	if math.Abs(mat.Trace(omega)-1) < 1e-15*float64(omega.SymmetricDim()) {
		return omega
	}
	n := mat.NewSymDense(omega.SymmetricDim(), nil)
	n.ScaleSym(1/mat.Trace(omega), omega)
	return n
}

// report fills in what follows from the final fit.
func (t *Tuned) report(problem *data.ProblemData, stl *Tuned) (err error) {
	t.Omega = normalised(t.Result.Omega)
	kind := problem.Tasks[0].Kind
	validation, test := make([]data.Samples, len(problem.Tasks)), make([]data.Samples, len(problem.Tasks))
	for i, task := range problem.Tasks {
		validation[i], test[i] = task.ValidationSet, task.TestSet
	}
	if t.HeldOut != nil {
		t.Validation = Errors{Mean: t.HeldOut.Error} // validation rows may be among those trained on
	} else if t.Validation, err = evaluateAny(t.Result, kind, validation); err != nil {
		return fmt.Errorf("%w (validation rows)", err)
	}
	if t.Test, err = evaluateAny(t.Result, kind, test); err != nil {
		return fmt.Errorf("%w (test rows)", err)
	}
	t.Relative = math.NaN()
	if stl != nil && stl.Test.Mean > 0 && t.Test.Task != nil {
		t.Relative = t.Test.Mean / stl.Test.Mean
	}
	return nil
}

// search is what all fits of one Tune share.
type search struct {
	model      Model
	kind       data.Kind
	train      *TrainingSet
	validation []data.Samples
	settings   []Params // of everything but Lambda1
	beyond     int      // how many values may follow the grid's
	opt        TuneOptions
}

// attempt is a trial with its fit.
type attempt struct {
	Trial
	result *Result
	held   *HeldOut // what other evidence says of it
}

func (t *attempt) better(than *attempt) bool {
	if t.Validation != than.Validation {
		return t.Validation < than.Validation
	}
	return t.Params.Lambda1 > than.Params.Lambda1
}

func newSearch(model Model, problem *data.ProblemData, opt TuneOptions) (*search, error) {
	train, err := Training(problem, opt.Loss)
	if err != nil {
		return nil, err
	}
	if opt.Evidence != nil {
		train = opt.Evidence.Training()
	}
	if err := opt.Prior.check(opt.Evidence); err != nil {
		return nil, err
	}
	s := &search{model: model, kind: problem.Tasks[0].Kind, train: train, opt: opt}
	if s.opt.Lambda1 == nil {
		s.opt.Lambda1, s.beyond = LambdaGrid(train), 6
	}
	// Strong regularisation first: its fits are the cheapest, and each is a
	// good start for the next.
	s.opt.Lambda1 = slices.Clone(s.opt.Lambda1)
	slices.Sort(s.opt.Lambda1)
	slices.Reverse(s.opt.Lambda1)
	if s.opt.Tolerance == 0 {
		s.opt.Tolerance = 1e-4
	}
	if s.opt.Iterations == 0 {
		s.opt.Iterations = 10
	}
	for _, t := range problem.Tasks {
		s.validation = append(s.validation, t.ValidationSet)
	}
	s.settings = settings(model, opt)
	for _, p := range s.settings {
		for _, l := range s.opt.Lambda1 {
			if _, err := Complete(model, p.With(Lambda1, l)); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// settings lists the settings of the hyperparameters beside Lambda1.
func settings(model Model, opt TuneOptions) []Params {
	list := []Params{{}}
	var searched []Range
	for _, r := range model.Info().Ranges {
		if r.Name != Lambda1 && r.Low < r.High {
			searched = append(searched, r)
		}
	}
	if opt.Samples > 0 && len(searched) > 0 {
		list = make([]Params, opt.Samples)
		for i := range list {
			random := data.Stream(opt.Seed, "tune", uint64(i))
			for _, r := range searched {
				list[i] = list[i].With(r.Name, r.At(random.Float64()))
			}
		}
		return list
	}
	points := opt.Points
	if points == 0 {
		points = 4
	}
	for _, r := range searched {
		var next []Params
		for _, p := range list {
			for k := range points {
				next = append(next, p.With(r.Name, r.At((float64(k)+0.5)/float64(points))))
			}
		}
		list = next
	}
	return list
}

// single reports whether there is nothing to compare.
func (s *search) single() bool { return len(s.settings)*len(s.opt.Lambda1)+s.beyond == 1 }

// run fits every setting along the path of Lambda1, settings side by side.
func (s *search) run(ctx context.Context) ([][]attempt, error) {
	reporter := s.opt.Progress
	if reporter == nil {
		reporter = progress.Silent()
	}
	reporter.Start("tuning "+s.model.Info().Title, len(s.settings)*len(s.opt.Lambda1))
	defer reporter.Finish()
	tried := make([][]attempt, len(s.settings))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, s.opt.Workers))
	for i, p := range s.settings {
		group.Go(func() (err error) {
			tried[i], err = s.path(ctx, p, reporter)
			return err
		})
	}
	return tried, group.Wait()
}

// path fits one setting for every Lambda1, each fit starting from the last.
func (s *search) path(ctx context.Context, p Params, reporter progress.Reporter) ([]attempt, error) {
	var path []attempt
	for _, l := range s.opt.Lambda1 {
		t, err := s.try(ctx, p.With(Lambda1, l), path)
		if err != nil {
			return nil, err
		}
		path = append(path, t)
		reporter.Advance(1, "")
		if s.opt.Evidence != nil && s.opt.Prior == nil && risen(path, func(t attempt) float64 { return t.Validation }) {
			break // farther fits are the slowest, and smoothing hardly hears them
		}
	}
	for range s.beyond {
		last := path[len(path)-1]
		if slices.ContainsFunc(path[:len(path)-1], func(t attempt) bool { return last.Validation > 0.999*t.Validation }) {
			break
		}
		t, err := s.try(ctx, p.With(Lambda1, last.Params.Lambda1/math.Sqrt(10)), path)
		if errors.Is(err, ErrInvalidParams) { // too small for the evidence
			break
		}
		if err != nil {
			return nil, err
		}
		path = append(path, t)
	}
	return path, nil
}

// risen reports whether a path has left its minimum behind: what it measures, which is
// smooth, has risen three times, and not in the first half of the grid, where it may
// rise before it falls: with an Omega that shares nearly all, until Lambda1 is so small
// that the rest counts.
func risen[T any](path []T, of func(T) float64) bool {
	n := len(path)
	return n >= 8 && of(path[n-4]) < of(path[n-3]) && of(path[n-3]) < of(path[n-2]) && of(path[n-2]) < of(path[n-1])
}

// try fits one setting from the end of a path.
func (s *search) try(ctx context.Context, p Params, path []attempt) (t attempt, err error) {
	fit := s.opt.Fit
	if !s.single() {
		fit.Tolerance, fit.MaxIterations = s.opt.Tolerance, s.opt.Iterations
	}
	if len(path) > 0 {
		fit.Start = path[len(path)-1].result
	}
	if t.result, err = Fit(ctx, s.model, s.train, p, fit); err != nil {
		return t, err
	}
	t.Params, t.Status = t.result.Params, t.result.Status
	if s.opt.Evidence != nil {
		if t.held, err = s.opt.Evidence.Measure(ctx, t.result); err == nil {
			t.Validation = t.held.Soft
		}
		return t, err
	}
	errs, err := Evaluate(t.result, s.kind, s.validation)
	if err != nil {
		return t, fmt.Errorf("%w (validation rows)", err)
	}
	t.Validation = errs.Mean
	return t, nil
}

// LambdaGrid is the default grid of Lambda1 for a problem: twelve values, each
// sqrt(10) times the one before, in proportion to the mean squared length of the
// training rows.
func LambdaGrid(p *TrainingSet) []float64 {
	sum, n := 0.0, 0
	for _, t := range p.tasks {
		for _, v := range t.x.SquaredNorms() {
			sum += v
		}
		n += len(t.y)
	}
	size := sum / float64(n)
	if size == 0 {
		size = 1
	}
	grid := make([]float64, 12)
	for i := range grid {
		grid[i] = size * math.Pow(10, -6+float64(i)/2)
	}
	return grid
}

// Evaluate returns the errors of a fit on the given rows, one Samples a task.
func Evaluate(r *Result, kind data.Kind, tasks []data.Samples) (Errors, error) {
	d, m := r.W.Dims()
	if len(tasks) != m {
		return Errors{}, fmt.Errorf("multitask: evaluation: %w: the fit has %d tasks, not %d", ErrInvalidData, m, len(tasks))
	}
	e := Errors{Task: make([]float64, m)}
	for i, s := range tasks {
		if s.X == nil || s.X.Rows() == 0 || d%s.X.Cols() != 0 || len(s.Y) != s.X.Rows() {
			return Errors{}, fmt.Errorf("multitask: evaluation: task %d: %w: it needs rows with %d features and as many labels", i, ErrInvalidData, d)
		}
		f := r.Scores(i, s.X)
		if kind == data.Regression {
			mse := meanSquare(f, s.Y)
			variance := stat.PopVariance(s.Y, nil)
			if variance == 0 {
				return Errors{}, fmt.Errorf("multitask: evaluation: task %d, y: %w: all targets are equal, so that nMSE is undefined", i, ErrInvalidData)
			}
			e.Task[i] = mse / variance
			e.RMSE = append(e.RMSE, math.Sqrt(mse))
		} else {
			e.Task[i] = misclassified(f, s.Y)
		}
		e.Mean += e.Task[i] / float64(m)
	}
	return e, nil
}

// evaluateAny is Evaluate, and no errors where no task has rows.
func evaluateAny(r *Result, kind data.Kind, tasks []data.Samples) (Errors, error) {
	if !slices.ContainsFunc(tasks, func(s data.Samples) bool { return len(s.Y) > 0 }) {
		return Errors{}, nil
	}
	return Evaluate(r, kind, tasks)
}

func meanSquare(f, y []float64) float64 {
	distance := floats.Distance(f, y, 2)
	return distance * distance / float64(len(y))
}
