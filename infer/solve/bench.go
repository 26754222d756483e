package solve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/progress"
	"l2mt/infer"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
)

// Options control how candidates are judged. The zero value means the defaults.
type Options struct {
	// Folds is the number of parts that the labelled rows are held out in; 0 means five.
	Folds int
	// Seed draws them.
	Seed uint64
	// Together has a number for every labelled row of every task. Rows with the same
	// number are held out together. Nil means that no rows belong together.
	Together [][]int
	// Copies says that rows are together because they are equal. Where folds cannot hold them
	// out together they are left out in turn.
	Copies bool
	// Held are labelled rows of every task to judge by in place of folds.
	Held [][]int
	// Lambda1 is the grid of Lambda1; nil means the default.
	Lambda1 []float64
	// Balanced is that of all candidates, whatever they say.
	Balanced bool
	// Workers is the number of goroutines; the result does not depend on it. 0 means 1.
	Workers int
	// Progress follows what is tried. Nil means that nothing does.
	Progress progress.Reporter
}

// Bench judges candidates on the labelled rows of one problem, each once. Its methods
// are for one goroutine.
type Bench struct {
	finder  *Finder           // nil: nobody is asked
	problem *data.ProblemData // with the features that the network works on, all labelled rows to train on
	rows    *data.ProblemData // without test rows
	folds   []data.Fold       // none where rows cannot be split
	parts   []part            // what each fold trains on, and last all rows
	options Options
	borrows []bool // the tasks that do, if there are others

	found  func() ([]*Found, error) // what the network finds for every part
	spaces [2]*space                // what was seen last, and before
	judged map[string]*Judged
}

// part is what rows are trained on.
type part struct {
	*data.ProblemData
	scatter func() *data.Scatter
	moved   func() seen // the rows in the metric of ridge 1, which the network sees too
}

// Judged is a candidate with what held-out rows say of it.
type Judged struct {
	Candidate
	evidence.Chosen
	// Seconds is the time that this took.
	Seconds float64

	of    evidence.Subject
	start *multitask.Result // on all rows, where there is one
	full  *multitask.Result // the same to full accuracy, in its view
}

// NewBench splits the labelled rows of a problem. A network with a head makes their features.
// Without a network (nil) no candidate can ask one.
func NewBench(f *Finder, p *data.ProblemData, o Options) (*Bench, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	b := &Bench{finder: f, problem: p, options: o, judged: map[string]*Judged{}}
	var err error
	if f != nil {
		if b.problem, err = f.Features(p); err != nil {
			return nil, err
		}
	}
	b.problem = b.problem.Labelled()
	b.rows = b.problem.TrainingOnly() // test rows choose nothing, and take time in a metric
	if b.folds, err = b.split(); err != nil {
		return nil, fmt.Errorf("problem %q: %w", p.Name, err)
	}
	for _, fold := range b.folds {
		b.parts = append(b.parts, newPart(fold.ProblemData))
	}
	b.parts = append(b.parts, newPart(b.rows))
	for _, t := range b.rows.Tasks {
		b.borrows = append(b.borrows, t.TrainSet.Borrows(!b.regression()))
	}
	if !slices.Contains(b.borrows, false) {
		clear(b.borrows)
	}
	b.found = sync.OnceValues(b.ask)
	return b, nil
}

func newPart(p *data.ProblemData) part {
	scatter := sync.OnceValue(func() *data.Scatter { return data.NewScatter(p) })
	return part{p, scatter, sync.OnceValue(func() seen {
		metric := scatter().Metric(1)
		return seen{metric.Problem(p), nil, metric}
	})}
}

// mostInTurn bounds the labelled rows that are left out in turn: this inverts matrices of as many.
const mostInTurn = 2000

// InTurn reports whether no task has two rows of each class, so that no fold can hold rows out.
// Then every row is left out in turn, and candidates are not compared.
func (b *Bench) InTurn() bool { return len(b.folds) == 0 }

// split are the folds: one of the rows held, or none where rows are left out in turn.
func (b *Bench) split() ([]data.Fold, error) {
	o := b.options
	if o.Held != nil {
		fold, err := b.rows.Hold(o.Held)
		if err == nil {
			err = b.rows.CheckTogether(o.Together)
		}
		return []data.Fold{fold}, err
	}
	folds, err := b.rows.Folds(cmp.Or(o.Folds, 5), o.Seed, o.Together)
	free := o.Folds == 0 && (o.Together == nil || o.Copies)
	if free && errors.Is(err, data.ErrInvalid) && evidence.AtMost(b.rows, mostInTurn) {
		return nil, nil
	}
	return folds, err
}

// each does something for every part, side by side.
func (b *Bench) each(do func(k int) error) error {
	var work errgroup.Group
	work.SetLimit(max(1, b.options.Workers))
	for k := range b.parts {
		work.Go(func() error { return do(k) })
	}
	return work.Wait()
}

// ask is what the network finds for every part: what it finds for all rows has seen the
// labels of every row, and would praise itself.
func (b *Bench) ask() ([]*Found, error) {
	if b.finder == nil {
		return nil, infer.ErrInvalid.Errorf("problem %q: there is no network to ask", b.problem.Name)
	}
	found := make([]*Found, len(b.parts))
	return found, b.each(func(k int) (err error) {
		p := b.parts[k]
		found[k], err = b.finder.find(p.TrainingOnly(), func() *data.ProblemData { return p.moved().ProblemData })
		return err
	})
}

// space is the problem in a view.
type space struct {
	View
	whole  seen
	folds  *evidence.Folds   // nil where rows cannot be split
	tuning evidence.Evidence // chooses hyperparameters
}

// see brings the rows into a view. The last two are kept: candidates come view by view, and
// now and then another view is compared with the one that is best.
func (b *Bench) see(v View) (*space, error) {
	for i, s := range b.spaces {
		if s != nil && s.View == v {
			b.spaces[0], b.spaces[i] = s, b.spaces[0]
			return s, nil
		}
	}
	parts, last := make([]seen, len(b.parts)), len(b.folds)
	err := b.each(func(k int) (err error) {
		parts[k], err = v.of(b.parts[k])
		return err
	})
	s, folds := &space{View: v, whole: parts[last]}, slices.Clone(b.folds)
	for k := range folds {
		folds[k].ProblemData = parts[k].ProblemData
	}
	if err == nil && last > 0 {
		s.folds, err = evidence.NewFolds(s.whole.ProblemData, folds, b.options.Together)
		s.tuning = s.folds
	}
	if err == nil && b.few() {
		s.tuning, err = evidence.NewLeaveOneOut(s.whole.ProblemData)
	}
	if err != nil {
		return nil, fmt.Errorf("problem %q: %w", b.problem.Name, err)
	}
	b.spaces = [2]*space{s, b.spaces[0]}
	return s, nil
}

// few says that rows are few enough to leave each out in turn. Without a fifth of few rows
// a fit wants more regularisation than with all.
func (b *Bench) few() bool {
	return len(b.folds) == 0 || evidence.Few(b.rows) && b.options.Together == nil && b.options.Held == nil
}

func (b *Bench) regression() bool { return b.rows.Kind() == data.Regression }

// check reports what is no candidate for the problem.
func (b *Bench) check(c Candidate) error {
	fault := ""
	switch {
	case !(c.Ridge >= 0):
		fault = "its ridge must be at least 0"
	case c.kernel() && (c.Ridge > 0 || !(c.Width > 0)):
		fault = "a kernel has a width and no metric"
	case !(c.Network >= 0 && c.Pooled >= 0 && c.Network+c.Pooled <= 1+1e-9):
		fault = "its shares must be at least 0 and 1 in all at most"
	case c.Model != nil && (c.Drawn != 0 || c.Balanced):
		fault = "a model has intercepts of its own, and no weights of classes"
	case c.Balanced && b.regression():
		fault = "a regression has no classes to weigh"
	default:
		return nil
	}
	return infer.ErrInvalid.Errorf("problem %q: %s: %s", b.problem.Name, c.Title(), fault)
}

// Judge chooses the hyperparameters of a candidate by the rows that folds hold out.
func (b *Bench) Judge(ctx context.Context, c Candidate) (*Judged, error) {
	c = b.balanced(c)
	if j := b.judged[c.Name()]; j != nil && reflect.DeepEqual(j.Model, c.Model) { // covariances that are given have one name
		return j, nil
	}
	begin := time.Now()
	if err := b.check(c); err != nil {
		return nil, err
	}
	of, s, err := b.of(ctx, c)
	if err != nil {
		return nil, err
	}
	j := &Judged{Candidate: c, of: of}
	o := evidence.Options{Lambda1: b.options.Lambda1, Workers: b.options.Workers, Progress: b.options.Progress, Title: "judging " + c.Title()}
	if j.Chosen, err = evidence.Held(ctx, of, s.tuning, o); err == nil && s.folds != nil && s.tuning != evidence.Evidence(s.folds) {
		j.start = j.Fits[0]
		j.HeldOut, err = s.folds.Judge(ctx, of, j.Params, nil, evidence.Comparing(b.options.Workers))
	}
	if err != nil {
		return nil, fmt.Errorf("problem %q: %s: %w", b.problem.Name, c.Title(), err)
	}
	j.Seconds = time.Since(begin).Seconds()
	b.judged[c.Name()] = j
	return j, nil
}

// balanced is a candidate with the weights of classes that all have.
func (b *Bench) balanced(c Candidate) Candidate {
	c.Balanced = c.Balanced || b.options.Balanced
	return c
}

// of is the model of a candidate, and the problem in its view.
func (b *Bench) of(ctx context.Context, c Candidate) (of evidence.Subject, s *space, err error) {
	if of, err = b.subject(ctx, c); err == nil {
		s, err = b.see(c.View)
	}
	return of, s, err
}

// quick judges a candidate with hyperparameters that are given, going on from another's fits.
func (b *Bench) quick(ctx context.Context, c Candidate, p multitask.Params, from *evidence.HeldOut) (*evidence.HeldOut, error) {
	of, s, err := b.of(ctx, c)
	if err != nil {
		return nil, err
	}
	judge := s.tuning.Hold
	if s.folds != nil {
		judge = s.folds.Judge
	}
	return judge(ctx, of, p, from, evidence.Comparing(b.options.Workers))
}

// subject is the model of a candidate on every fold and on all rows.
func (b *Bench) subject(ctx context.Context, c Candidate) (evidence.Subject, error) {
	if c.Model != nil {
		return evidence.Of(c.Model), nil
	}
	last := len(b.folds)
	omegas, weights := make([]*mat.SymDense, len(b.parts)), make([]*multitask.Result, len(b.parts))
	if c.Network > 0 {
		found, err := b.found()
		if err != nil {
			return evidence.Subject{}, err
		}
		for k, f := range found {
			omegas[k] = f.Omega
		}
	}
	if c.Weights {
		mixed := c
		mixed.Weights = false
		base, err := b.Judge(ctx, mixed)
		if err != nil {
			return evidence.Subject{}, err
		}
		copy(weights, base.Fits[:last])
		if weights[last], err = b.full(ctx, base); err != nil {
			return evidence.Subject{}, err
		}
	}
	models := make([]multitask.Model, len(b.parts))
	for k := range models {
		var err error
		models[k], err = multitask.GivenWith(c.omega(b.borrows, omegas[k], weights[k]), c.Drawn, b.balanced(c).Balanced)
		if err != nil {
			return evidence.Subject{}, err
		}
	}
	if c.Network == 0 && !c.Weights {
		return evidence.Of(models[last]), nil
	}
	return evidence.Subject{Model: models[last], Folds: models[:last]}, nil
}

// full is the fit of a candidate to all rows, in its view.
func (b *Bench) full(ctx context.Context, j *Judged) (*multitask.Result, error) {
	if j.full != nil {
		return j.full, nil
	}
	s, err := b.see(j.View)
	if err != nil {
		return nil, err
	}
	o := multitask.Options{Workers: b.options.Workers, Start: j.start}
	if o.Start == nil && j.Bent == "" { // else the fold has features of its own
		o.Start = j.Fits[0]
	}
	if j.full, err = multitask.Fit(ctx, j.of.Model, s.tuning.Training(), j.Params, o); err != nil {
		return nil, fmt.Errorf("problem %q: %w", b.problem.Name, err)
	}
	return j.full, nil
}

// Fit fits a candidate to all labelled rows, for the features as they are.
func (b *Bench) Fit(ctx context.Context, j *Judged) (*Fitted, error) {
	begin := time.Now()
	f := &Fitted{Judged: j, problem: b.problem}
	full, err := b.full(ctx, j)
	if err != nil {
		return nil, err
	}
	s, err := b.see(j.View)
	if err != nil {
		return nil, err
	}
	if f.step = s.whole.step; f.step != nil {
		f.problem, err = f.step.Problem(b.problem)
	}
	if err == nil {
		f.Tuned, err = evidence.Report(full.Restored(s.whole.metric), f.problem, j.HeldOut)
	}
	if err != nil {
		return nil, fmt.Errorf("problem %q: %w", b.problem.Name, err)
	}
	f.Seconds = j.Seconds + time.Since(begin).Seconds()
	return f, nil
}

// Best is the candidate of the least loss, of equals the first.
func (b *Bench) Best(ctx context.Context, candidates []Candidate) (*Choice, error) {
	if len(candidates) == 0 {
		return nil, infer.ErrInvalid.Errorf("problem %q: there are no candidates", b.problem.Name)
	}
	c := &Choice{bench: b}
	for _, x := range candidates {
		j, err := b.Judge(ctx, x)
		if err != nil {
			return nil, err
		}
		if c.Judged == nil {
			c.note(j, Begun)
		} else {
			c.compare(j, 0)
		}
	}
	return c, nil
}

// noFeatures is a Lambda1 that leaves nothing of W.
const noFeatures = 1e12

// Mean is what rows lose that are held out if features say nothing: with W next to 0.
func (b *Bench) Mean(ctx context.Context) (*evidence.HeldOut, error) {
	return b.quick(ctx, Candidate{}, multitask.Params{Lambda1: noFeatures}, nil)
}
