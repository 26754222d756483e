package evidence

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/progress"
	"l2mt/model/multitask"
)

// Options control the search for hyperparameters. The zero value searches
// a grid of default size.
type Options struct {
	// Lambda1 is the grid of Lambda1. Nil means multitask.LambdaGrid of the problem, and
	// up to six smaller values as long as each is better than all before.
	Lambda1 []float64
	// Points is the number of grid points along every other hyperparameter
	// that the model searches. 0 means 4.
	Points int
	// Tolerance is the accuracy of the fits that only compare
	// hyperparameters. 0 means 1e-4, which is far below what held-out rows
	// can distinguish. The setting chosen is fitted to Fit.Tolerance.
	Tolerance float64
	// Iterations limits the iterations of these fits. 0 means 10.
	Iterations int
	// Workers is the number of goroutines; the result does not depend on it. 0
	// means 1.
	Workers int
	// Fit controls the fit on all rows.
	Fit multitask.Options
	// STL is single-task learning tuned on the same problem, which relative
	// errors refer to. Nil leaves them NaN.
	STL *Tuned
	// Progress hears of every setting. Nil means nobody.
	Progress progress.Reporter
}

func (o Options) complete(e Evidence) (Options, bool) {
	grid := o.Lambda1 == nil
	if grid {
		o.Lambda1 = multitask.LambdaGrid(e.Training())
	}
	// Strong regularisation first: its fits are the cheapest, and each is a
	// good start for the next.
	o.Lambda1 = slices.Clone(o.Lambda1)
	slices.Sort(o.Lambda1)
	slices.Reverse(o.Lambda1)
	if o.Points == 0 {
		o.Points = 4
	}
	if o.Tolerance == 0 {
		o.Tolerance = 1e-4
	}
	if o.Iterations == 0 {
		o.Iterations = 10
	}
	if o.Progress == nil {
		o.Progress = progress.Silent()
	}
	o.Workers = max(1, o.Workers)
	return o, grid
}

// Tuned is a model with the hyperparameters that held-out rows chose.
type Tuned struct {
	// Model is the name of the model, "fixed" for a given Omega.
	Model string
	// Params are the hyperparameters chosen.
	Params multitask.Params
	// Result is the fit on all rows with them.
	Result *multitask.Result
	// Omega is the covariance of the fit divided by its trace.
	Omega *mat.SymDense
	// Validation and Test are the errors on these rows, empty where no task has
	// such rows. The test rows take no part in any choice. Where rows of the fit were
	// held out, Validation is the mean of theirs.
	Validation, Test Errors
	// HeldOut is what the evidence says with these hyperparameters, nil of a Split.
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
	Params multitask.Params
	// Loss is that of the rows held out, smoothed along Lambda1 where they are few.
	Loss float64
	// Status is how the fit ended.
	Status multitask.Status

	held *HeldOut
}

// Tune chooses the hyperparameters of a model by the loss of the rows that are held out,
// fits it to all rows and reports its errors. Of settings with equal losses the one with
// the largest Lambda1 is taken.
func Tune(ctx context.Context, of Subject, e Evidence, problem *data.ProblemData, o Options) (*Tuned, error) {
	begin := time.Now()
	held, trials, err := Held(ctx, of, e, o)
	if err != nil {
		return nil, err
	}
	t := &Tuned{Model: of.Info().Name, Params: held.Params, HeldOut: held.HeldOut, Trials: trials}
	if _, sharp := e.(*Split); sharp {
		t.HeldOut = nil
	}
	if t.Result, err = held.Fit(ctx, of, e, o.Fit); err != nil {
		return nil, err
	}
	if err := t.report(problem, o.STL); err != nil {
		return nil, err
	}
	t.Seconds = time.Since(begin).Seconds()
	return t, nil
}

// Chosen are hyperparameters with what held-out rows say of them.
type Chosen struct {
	multitask.Params
	*HeldOut
}

// Fit fits a model to all rows. One that is not convex keeps the fit that was judged, if
// that is one of all rows: a closer one may be another minimum.
func (c Chosen) Fit(ctx context.Context, of Subject, e Evidence, o multitask.Options) (*multitask.Result, error) {
	_, folds := e.(*Folds)
	if _, convex := of.Model.(multitask.Convex); !convex && !folds {
		return c.Fits[0], nil
	}
	return multitask.Fit(ctx, of.Model, e.Training(), c.Params, c.starting(o, 0))
}

// Held is Tune without the fit on all rows.
func Held(ctx context.Context, of Subject, e Evidence, o Options) (c Chosen, trials []Trial, err error) {
	o, beyond := o.complete(e)
	_, sharp := e.(*Split)
	_, few := e.(*leaveOneOut)
	s := &search{of: of, evidence: e, opt: o, beyond: beyond, sharp: sharp}
	settings := settings(of.Model, o.Points)
	for _, p := range settings {
		for _, l := range o.Lambda1 {
			if _, err := multitask.Complete(of.Model, p.With(multitask.Lambda1, l)); err != nil {
				return c, nil, err
			}
		}
	}
	o.Progress.Start("tuning "+of.Info().Title, len(settings)*len(o.Lambda1))
	defer o.Progress.Finish()
	if len(settings) > 1 { // side by side, else their folds are
		s.workers = 1
	}
	tried := make([][]Trial, len(settings))
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(o.Workers)
	for i, p := range settings {
		group.Go(func() (err error) {
			tried[i], err = s.path(inner, p)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return c, nil, err
	}
	best, params := (*Trial)(nil), multitask.Params{}
	for _, path := range tried {
		if few {
			smooth(path)
		}
		for j := range path {
			if t := &path[j]; best == nil || t.better(best) {
				if best, params = t, t.Params; !sharp {
					params = params.With(multitask.Lambda1, between(path, j))
				}
			}
		}
		trials = append(trials, path...)
	}
	c = Chosen{params, best.held}
	if c.Params, err = multitask.Complete(of.Model, params); err != nil || sharp {
		return c, trials, err
	}
	if _, convex := of.Model.(multitask.Convex); !convex {
		c.Lambda1 = best.Params.Lambda1 // of the fit that was judged
	}
	c.HeldOut, err = e.Judge(ctx, of, c.Params, best.held, s.fitting())
	return c, trials, err
}

func (t *Trial) better(than *Trial) bool {
	if t.Loss != than.Loss {
		return t.Loss < than.Loss
	}
	return t.Params.Lambda1 > than.Params.Lambda1
}

// search is what all fits of one Tune share.
type search struct {
	of       Subject
	evidence Evidence
	opt      Options
	beyond   bool // whether values may follow the grid's
	sharp    bool // whether the loss jumps along Lambda1
	workers  int  // of one fit; 0 means all
}

// fitting are the options of fits that compare.
func (s *search) fitting() multitask.Options {
	o := s.opt.Fit
	o.Tolerance, o.MaxIterations, o.Workers = s.opt.Tolerance, s.opt.Iterations, s.opt.Workers
	if s.workers > 0 {
		o.Workers = s.workers
	}
	return o
}

// settings lists the settings of the hyperparameters beside Lambda1.
func settings(model multitask.Model, points int) []multitask.Params {
	list := []multitask.Params{{}}
	for _, r := range model.Info().Ranges {
		if r.Name == multitask.Lambda1 || r.Low == r.High {
			continue
		}
		var next []multitask.Params
		for _, p := range list {
			for k := range points {
				next = append(next, p.With(r.Name, r.At((float64(k)+0.5)/float64(points))))
			}
		}
		list = next
	}
	return list
}

// most is how many values may follow those of the grid.
const most = 6

// path fits one setting along Lambda1, each fit starting from the last, until the loss
// has risen three times: what follows is the slowest. It goes on beyond the grid as long
// as each value is better than all before.
func (s *search) path(ctx context.Context, p multitask.Params) (path []Trial, err error) {
	grid := len(s.opt.Lambda1)
	try := func(lambda1 float64) error {
		t := Trial{Params: p.With(multitask.Lambda1, lambda1)}
		var from *HeldOut
		if len(path) > 0 {
			from = path[len(path)-1].held
		}
		if t.held, err = s.evidence.Hold(ctx, s.of, t.Params, from, s.fitting()); err != nil {
			return err
		}
		t.Loss, t.Status = t.held.Loss, t.held.Fits[0].Status
		path = append(path, t)
		return nil
	}
	for l, lambda1 := range s.opt.Lambda1 {
		if err := try(lambda1); err != nil {
			return nil, err
		}
		s.opt.Progress.Advance(1, "")
		if !s.sharp && risen(path) {
			s.opt.Progress.Advance(grid-l-1, "")
			return path, nil
		}
	}
	for n := 0; s.beyond && n < most; n++ {
		last := path[len(path)-1]
		if slices.ContainsFunc(path[:len(path)-1], func(t Trial) bool { return last.Loss > 0.999*t.Loss }) {
			break
		}
		if err := try(last.Params.Lambda1 / math.Sqrt(10)); err != nil {
			return nil, err
		}
	}
	return path, nil
}

// risen says that a path need not go on: its loss has risen three times in a row. Not in
// the first half of the grid, where it may rise before it falls: with an Omega that
// shares nearly all, until Lambda1 is so small that the rest counts.
func risen(path []Trial) bool {
	n := len(path)
	return n >= 8 && path[n-4].Loss < path[n-3].Loss && path[n-3].Loss < path[n-2].Loss && path[n-2].Loss < path[n-1].Loss
}

// smooth replaces the losses of a path by their means along ln(Lambda1) under a Gaussian
// as wide as the grid's steps. The minimum of few rows' losses is wherever the last of
// them happens to be right. What its neighbours say too is more than chance.
func smooth(path []Trial) {
	width := math.Log(10) / 2
	at, loss, weight := make([]float64, len(path)), make([]float64, len(path)), make([]float64, len(path))
	for i, t := range path {
		at[i], loss[i] = math.Log(t.Params.Lambda1), t.Loss
	}
	for i := range path {
		for j := range path {
			u := (at[i] - at[j]) / width
			weight[j] = math.Exp(-u * u / 2)
		}
		path[i].Loss = floats.Dot(weight, loss) / floats.Sum(weight)
	}
}

// between returns the Lambda1 at the vertex of the parabola through a minimum
// among the values of a path and its two neighbours in ln(Lambda1).
func between(path []Trial, j int) float64 {
	lambda1 := path[j].Params.Lambda1
	if j == 0 || j == len(path)-1 {
		return lambda1
	}
	before, after := math.Log(path[j-1].Params.Lambda1/lambda1), math.Log(path[j+1].Params.Lambda1/lambda1)
	left, right := (path[j-1].Loss-path[j].Loss)/before, (path[j+1].Loss-path[j].Loss)/after
	curvature := (right - left) / (after - before)
	if !(curvature > 0) {
		return lambda1
	}
	slope := left - curvature*before
	vertex := -slope / (2 * curvature)
	return lambda1 * math.Exp(max(after/2, min(vertex, before/2))) // Lambda1 descends
}

// Refit fixes Omega, divided by its trace, chooses Lambda1 by the evidence and reports
// the errors: the error of a covariance, whatever model it comes from.
func Refit(ctx context.Context, omega *mat.SymDense, e Evidence, problem *data.ProblemData, o Options) (*Tuned, error) {
	if m := len(problem.Tasks); omega.SymmetricDim() != m {
		return nil, fmt.Errorf("evidence: Omega: %w: it is of %d tasks, the problem of %d", multitask.ErrInvalidOmega, omega.SymmetricDim(), m)
	}
	model, err := multitask.Given(omega)
	if err != nil {
		return nil, err
	}
	return Tune(ctx, Of(model), e, problem, o)
}
