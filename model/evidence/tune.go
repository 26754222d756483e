package evidence

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/model/multitask"
)

// Options control the search for hyperparameters.
type Options struct {
	// Lambda1 is the grid of Lambda1, ascending. Nil means LambdaGrid of the problem, and
	// up to six smaller values as long as each is better than all before.
	Lambda1 []float64
	// Workers is the number of goroutines; the result does not depend on it. 0
	// means 1.
	Workers int

	fit multitask.Options // in place of Comparing
}

// LambdaGrid is the grid of Lambda1 for a problem: twelve values, each
// sqrt(10) times the one before, in proportion to the mean squared length of the
// training rows.
func LambdaGrid(p *multitask.TrainingSet) (grid []float64) {
	var norms []float64
	for _, t := range p.Parts() {
		norms = append(norms, t.X.SquaredNorms()...)
	}
	size := cmp.Or(stat.Mean(norms, nil), 1)
	for i := range 12 {
		grid = append(grid, size*math.Pow(10, -6+float64(i)/2))
	}
	return grid
}

// Comparing are options of fits that are only compared: far closer than rows held out can
// tell.
func Comparing(workers int) multitask.Options {
	return multitask.Options{
		Tolerance:     1e-4,
		MaxIterations: 10,
		Workers:       workers,
	}
}

// Tuned is a model with the hyperparameters that held-out rows chose.
type Tuned struct {
	// Result is the fit on all rows with them.
	*multitask.Result
	// Omega is the covariance of the fit divided by its trace.
	Omega *mat.SymDense
	// Validation and Test are the errors on these rows, empty where no task has such rows. The test
	// rows take no part in any choice. Where rows of the fit were held out, Validation is the mean
	// of their errors.
	Validation, Test Errors
	// HeldOut is the result of the evidence with these hyperparameters, nil of a split.
	HeldOut *HeldOut
}

// Tune chooses the hyperparameters of a model by the loss of the rows that are held out, fits it to
// all rows and reports its errors. Of settings with equal losses Tune takes the largest Lambda1.
func Tune(ctx context.Context, subject Subject, e Evidence, problem *data.ProblemData, o Options) (*Tuned, error) {
	held, err := Held(ctx, subject, e, o)
	if err != nil {
		return nil, err
	}
	// A model that is not convex keeps the fit that was judged, if it has all rows: a more accurate
	// fit may be another minimum.
	r := held.Fits[0]
	folds, parted := e.(*Folds)
	split := parted && folds.split
	_, convex := subject.Model.(multitask.Convex)
	if convex || parted && !split {
		final := multitask.Options{
			Workers: o.Workers,
			Start:   r,
		}
		r, err = multitask.Fit(ctx, subject.Model,
			e.Training(), held.Params, final)
		if err != nil {
			return nil, err
		}
	}
	if split {
		held.HeldOut = nil
	}
	return Report(r, problem, held.HeldOut, nil)
}

// Chosen are hyperparameters and the evidence for them.
type Chosen struct {
	multitask.Params
	*HeldOut
}

// Held is Tune without the fit on all rows.
func Held(ctx context.Context, subject Subject, e Evidence, o Options) (c Chosen, err error) {
	s := newSearch(subject, e, o)
	tried, err := s.paths(ctx)
	if err != nil {
		return c, err
	}
	var best *trial
	for _, path := range tried {
		for j := range path {
			t := &path[j]
			if best == nil || t.loss < best.loss ||
				t.loss == best.loss && t.Lambda1 > best.Lambda1 {
				best = t
				c.Params = t.Params
				_, convex := subject.Model.(multitask.Convex)
				if convex && !s.sharp { // else of the fit that was judged
					c.Params = c.With(multitask.Lambda1, between(path, j))
				}
			}
		}
	}
	c.HeldOut = best.held
	c.Params, err = multitask.Complete(subject.Model, c.Params)
	if err != nil || s.sharp {
		return c, err
	}
	folds, parted := e.(*Folds)
	if parted {
		e = folds.Whole()
	}
	c.HeldOut, err = e.Hold(ctx, subject, c.Params, c.HeldOut, s.fit)
	return c, err
}

// search has the parts that all fits of one Held share.
type search struct {
	Options
	subject  Subject
	evidence Evidence
	extends  bool // whether values may follow the grid's
	sharp    bool // whether the loss jumps along Lambda1
}

func newSearch(subject Subject, e Evidence, o Options) *search {
	folds, parted := e.(*Folds)
	s := &search{o, subject, e, o.Lambda1 == nil, parted && folds.split}
	if s.extends {
		s.Lambda1 = LambdaGrid(e.Training())
	}
	s.Workers = max(1, o.Workers)
	s.fit = cmp.Or(s.fit, Comparing(s.Workers))
	return s
}

// trial is one setting of the hyperparameters that was tried.
type trial struct {
	multitask.Params
	loss float64 // of the rows held out, of leave-one-out smoothed along Lambda1
	held *HeldOut
}

// paths tries every setting beside Lambda1.
func (s *search) paths(ctx context.Context) ([][]trial, error) {
	settings := settings(s.subject.Model)
	if len(settings) > 1 { // side by side, else their folds are
		s.fit.Workers = 1
	}
	tried := make([][]trial, len(settings))
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(s.Workers)
	for i, p := range settings {
		group.Go(func() (err error) {
			tried[i], err = s.path(inner, p)
			if err != nil {
				return err
			}
			_, loo := s.evidence.(*leaveOneOut)
			if loo {
				smooth(tried[i])
			}
			return nil
		})
	}
	return tried, group.Wait()
}

// settings lists the settings of the hyperparameters beside Lambda1: four values of each.
func settings(model multitask.Model) []multitask.Params {
	const points = 4
	list := []multitask.Params{{}}
	for _, r := range model.Info().Ranges {
		if r.Name == multitask.Lambda1 || r.Low == r.High {
			continue
		}
		var next []multitask.Params
		for _, p := range list {
			for k := range points {
				next = append(next,
					p.With(r.Name, r.At((float64(k)+0.5)/float64(points))))
			}
		}
		list = next
	}
	return list
}

// limit is how many values may follow the grid.
const limit = 6

// path fits one setting along Lambda1, each fit starting from the last, until the loss
// has risen three times. The largest Lambda1 comes first: its fit is the cheapest, and a good
// start for the next. It goes on beyond the grid as long as each value is better than all
// before.
func (s *search) path(ctx context.Context, p multitask.Params) (path []trial, err error) {
	var last *HeldOut
	lambda1 := 0.0
	for left := len(s.Lambda1) - 1; ; left-- {
		switch {
		case left >= 0:
			lambda1 = s.Lambda1[left]
		case s.extends && left >= -limit && falling(path):
			lambda1 /= math.Sqrt(10)
		default:
			return path, nil
		}
		p = p.With(multitask.Lambda1, lambda1)
		last, err = s.evidence.Hold(ctx, s.subject, p, last, s.fit)
		if errors.Is(err, multitask.ErrInvalidParams) && left < 0 {
			return path, nil // too small for the evidence
		}
		if err != nil {
			return nil, err
		}
		path = append(path, trial{p, last.Loss, last})
		if !s.sharp && risen(path) {
			return path, nil
		}
	}
}

// falling says that the last value of a path is better than all before.
func falling(path []trial) bool {
	last := path[len(path)-1].loss
	return !slices.ContainsFunc(path[:len(path)-1], func(t trial) bool {
		return last > 0.999*t.loss
	})
}

// risen says that a path need not go on: its loss has risen three times in a row. Not in
// the first half of the grid, where it may rise before it falls: with an Omega that
// shares nearly all, until Lambda1 is so small that the rest counts.
func risen(path []trial) bool {
	if len(path) < 8 {
		return false
	}
	last := path[len(path)-4:]
	return last[0].loss < last[1].loss &&
		last[1].loss < last[2].loss &&
		last[2].loss < last[3].loss
}

// smooth replaces the losses of a path by their means along ln(Lambda1) under a Gaussian as wide as
// the grid's steps. The losses of few rows have their minimum wherever chance has it. A minimum
// that its neighbours share is more than chance.
func smooth(path []trial) {
	width := math.Log(10) / 2
	var places, loss []float64
	weight := make([]float64, len(path))
	for _, t := range path {
		places = append(places, math.Log(t.Lambda1))
		loss = append(loss, t.loss)
	}
	for i := range path {
		for j := range path {
			u := (places[i] - places[j]) / width
			weight[j] = math.Exp(-u * u / 2)
		}
		path[i].loss = floats.Dot(weight, loss) / floats.Sum(weight)
	}
}

// between returns the Lambda1 at the vertex of the parabola through a minimum
// among the values of a path and its two neighbours in ln(Lambda1).
func between(path []trial, j int) float64 {
	lambda1 := path[j].Lambda1
	if j == 0 || j == len(path)-1 {
		return lambda1
	}
	lower := math.Log(path[j-1].Lambda1 / lambda1)
	upper := math.Log(path[j+1].Lambda1 / lambda1)
	left := (path[j-1].loss - path[j].loss) / lower
	right := (path[j+1].loss - path[j].loss) / upper
	curvature := (right - left) / (upper - lower)
	if !(curvature > 0) {
		return lambda1
	}
	slope := left - curvature*lower
	return lambda1 * math.Exp(-slope/(2*curvature))
}

// Refit fixes Omega, divided by its trace, chooses Lambda1 by the evidence and reports the errors:
// the error of a covariance from any model.
func Refit(ctx context.Context, omega *mat.SymDense, e Evidence, problem *data.ProblemData) (*Tuned, error) {
	model, err := multitask.Given(omega)
	if err != nil {
		return nil, err
	}
	return Tune(ctx, Of(model), e, problem, Options{})
}
