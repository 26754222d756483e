package solve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/progress"
	"l2mt/data/view"
	"l2mt/infer"
	"l2mt/model/evidence"
	"l2mt/model/mixed"
	"l2mt/model/multitask"
	"l2mt/model/saved"
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
	// Times say when every labelled row of every task is from, for folds that hold out what comes
	// later. Nil means that no row comes later.
	Times [][]float64
	// Held are labelled rows of every task to judge by in place of folds.
	Held [][]int
	// Lambda1 is the grid of Lambda1; nil means the default.
	Lambda1 []float64
	// Balanced weighs the classes of a task the same, in all candidates of problem (1).
	Balanced bool
	// Workers is the number of goroutines; the result does not depend on it. 0 means 1.
	Workers int
	// After is the prior of an older model, whose Recipe has made the rows; nil for none.
	After *saved.Prior
	// Until is when Choose and Judge try no further candidate; the zero time is never.
	Until time.Time
	// Progress follows the trials. Nil means that nothing does.
	Progress progress.Reporter
}

// Bench judges candidates on the labelled rows of one problem, each once. Its methods
// are for one goroutine.
type Bench struct {
	finder  *Finder           // nil: nobody is asked
	problem *data.ProblemData // with the features that the network works on, all labelled rows to train on
	rows    *data.ProblemData // without test rows
	folds   []data.Fold       // none where rows cannot be split
	options Options
	borrows []bool // the tasks that do, if there are others
	scale

	whole  map[[2]bool]*features // of all rows, where these are many, with curves and a kernel or not
	parts  map[bool][]part       // by whether they are in the metric of the experience
	spaces map[place]*space
	judged map[string]*Judged
}

// scale is how the targets are measured.
type scale struct {
	name   string // Log, Count or Huber; otherwise empty
	target *Bench // of the targets whose logarithms these are, or nil
	// counts is the variance of counts over their expectation, 0 where targets are no counts.
	// Weights are then of the logarithm of the expectation.
	counts float64
	// unit measures residuals for Huber's loss; it is 0 for the squared loss.
	unit float64
	// largest is the logarithm that a prediction has at most, of logarithms and of counts.
	largest float64
}

// part is the rows that a fit is trained on.
type part struct {
	*data.ProblemData
	scatter func() *view.Scatter
	metric  *view.Metric // the common metric that they are in, or nil
}

// place is where rows are: in the metric of the experience or as they are, and there in the
// tasks' common metric of a ridge, if it is not 0.
type place struct {
	learned bool
	ridge   float64
}

// Judged is a candidate with its evidence.
type Judged struct {
	Candidate
	evidence.Chosen

	subject evidence.Subject
	start   *multitask.Result // on all rows, or on the first fold
	first   []*mixed.Fit      // of a structure on the first fold, class by class
}

// NewBench splits the labelled rows of a problem. Without a network (nil) no candidate can ask one.
func NewBench(f *Finder, p *data.ProblemData, o Options) (*Bench, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if o.After != nil {
		err := o.After.Check(p)
		if err != nil {
			return nil, fmt.Errorf("problem %q: %w", p.Name, err)
		}
	}
	return newBench(f, p, o, scale{})
}

// newBench is NewBench of a problem that has been checked, on a scale.
func newBench(f *Finder, p *data.ProblemData, o Options, s scale) (*Bench, error) {
	b := &Bench{
		finder:  f,
		problem: p.Labelled(),
		options: o,
		scale:   s,
	}
	b.judged = map[string]*Judged{}
	b.parts = map[bool][]part{}
	b.spaces = map[place]*space{}
	b.whole = map[[2]bool]*features{}
	b.options.Progress = cmp.Or(o.Progress, progress.Silent())
	b.options.Workers = max(1, o.Workers)
	var err error
	b.rows = b.problem.TrainingOnly() // test rows choose nothing, and take time in a metric
	b.folds, err = b.split()
	if err != nil {
		return nil, fmt.Errorf("problem %q: %w", p.Name, err)
	}
	for _, t := range b.rows.Tasks {
		b.borrows = append(b.borrows, t.TrainSet.Borrows(!b.regression()))
	}
	if !slices.Contains(b.borrows, false) {
		clear(b.borrows)
	}
	return b, nil
}

// Problem is the problem with all labelled rows to train on, and the features that the network
// works on.
func (b *Bench) Problem() *data.ProblemData {
	return b.problem
}

// Regrouped is the bench of the same rows in other groups.
func (b *Bench) Regrouped(together [][]int) (*Bench, error) {
	o := b.options
	o.Together = together
	s := b.scale
	if s.target != nil {
		var err error
		s.target, err = s.target.Regrouped(together)
		if err != nil {
			return nil, err
		}
	}
	return newBench(b.finder, b.rows, o, s)
}

// partsOf are the training rows of each fold and last all rows, as they are or in the metric of
// the experience.
func (b *Bench) partsOf(learned bool) []part {
	parts := b.parts[learned]
	if parts != nil {
		return parts
	}
	for _, fold := range append(slices.Clip(b.folds), data.Fold{ProblemData: b.rows}) {
		p := fold.ProblemData
		if learned {
			p = b.finder.network.Sigma.Problem(p)
		}
		scatter := sync.OnceValue(func() *view.Scatter {
			return view.NewScatter(p)
		})
		parts = append(parts, part{p, scatter, nil})
	}
	b.parts[learned] = parts
	return parts
}

// hasLearned says that experience has taught a metric for the rows.
func (b *Bench) hasLearned() bool {
	return b.finder != nil && b.finder.network.Sigma.Fits(b.problem)
}

// manyFolds is the number of folds where none is asked for.
const manyFolds = 5

// split are the folds, or one of the rows held. There are none where too few rows tell anything.
func (b *Bench) split() ([]data.Fold, error) {
	o := b.options
	if err := b.rows.CheckTogether(o.Together); err != nil {
		return nil, err
	}
	if o.Held != nil {
		fold, err := b.rows.Hold(o.Held)
		return []data.Fold{fold}, err
	}
	if o.Times != nil {
		return b.rows.Later(cmp.Or(o.Folds, manyFolds), o.Times)
	}
	folds, err := b.rows.Folds(cmp.Or(o.Folds, manyFolds), o.Seed, o.Together)
	if errors.Is(err, data.ErrInvalid) && o.Folds == 0 {
		return nil, nil
	}
	return folds, err
}

// foldsOf says which fold holds out each of a task's rows, in the order of a HeldOut.
func (b *Bench) foldsOf(task int) (folds []int) {
	for k, fold := range b.folds {
		for range fold.Rows[task] {
			folds = append(folds, k)
		}
	}
	return folds
}

// each does something for every part, side by side.
func (b *Bench) each(do func(k int) error) error {
	var work errgroup.Group
	work.SetLimit(b.options.Workers)
	for k := range len(b.folds) + 1 {
		work.Go(func() error {
			return do(k)
		})
	}
	return work.Wait()
}

// ask returns the network's covariance for every part. Its covariance for all rows has seen every
// label, and would praise itself.
func (b *Bench) ask(learned bool) ([]*mat.SymDense, error) {
	if b.finder == nil {
		return nil, b.fault("it takes a network; none is given")
	}
	learned = learned && b.finder.network.Config.FeatureFree() // others have weights for the columns
	s, err := b.in(place{learned, 1})                          // which the network sees too
	if err != nil {
		return nil, err
	}
	if s.found != nil {
		return s.found, nil
	}
	parts := b.partsOf(learned)
	found := make([]*mat.SymDense, len(parts))
	err = b.each(func(k int) (err error) {
		p := parts[k].TrainingOnly()
		found[k], err = b.finder.find(p, s.parts[k].ProblemData)
		return err
	})
	if err == nil {
		s.found = found
	}
	return found, err
}

func (b *Bench) fault(text string) error {
	return infer.ErrInvalid.Errorf("problem %q: %s", b.problem.Name, text)
}

// space is the problem in the metric of a ridge.
type space struct {
	parts  []part            // of the Bench
	found  []*mat.SymDense   // by the network for every part, in the metric of ridge 1
	folds  *evidence.Folds   // nil where rows cannot be split
	tuning evidence.Evidence // chooses hyperparameters
}

// in brings the rows into a place.
func (b *Bench) in(site place) (*space, error) {
	if s := b.spaces[site]; s != nil {
		return s, nil
	}
	s := &space{parts: slices.Clone(b.partsOf(site.learned))}
	err := b.each(func(k int) error {
		p := &s.parts[k]
		if site.ridge > 0 {
			p.metric = p.scatter().Metric(site.ridge)
			p.ProblemData = p.metric.Problem(p.ProblemData)
		}
		return nil
	})
	whole := s.parts[len(b.folds)].ProblemData
	var folds []data.Fold
	for k, fold := range b.folds {
		folds = append(folds, data.Fold{
			ProblemData: s.parts[k].ProblemData,
			Rows:        fold.Rows,
		})
	}
	if folds != nil {
		s.folds, err = evidence.NewFolds(whole, folds, b.options.Together)
	}
	s.tuning = s.folds
	if err == nil && b.few() {
		s.tuning, err = evidence.NewLeaveOneOut(whole)
	}
	if err != nil {
		return nil, fmt.Errorf("problem %q: %w", b.problem.Name, err)
	}
	b.spaces[site] = s
	return s, nil
}

// few says that rows are few enough to leave each out in turn. Without a fifth of few rows
// a fit wants more regularisation than with all.
func (b *Bench) few() bool {
	o := b.options
	return len(b.folds) == 0 || evidence.Few(b.rows) &&
		o.Together == nil && o.Held == nil && o.Times == nil
}

func (b *Bench) regression() bool {
	return b.rows.Kind() == data.Regression
}

// check refuses candidates that do not suit the problem.
func (b *Bench) check(c Candidate) error {
	fault := ""
	switch {
	case c.Structure == Structure{View: After} && b.options.After != nil:
		return nil
	case c.View == "" && b.counts+b.unit > 0:
		fault = "it fits neither counts nor Huber's loss; leave --target-scale out"
	case c.Structure != (Structure{}) &&
		!slices.Contains(Structures(), c.Structure):
		fault = "there is no such structure"
	case c.View != "" && data.IsSparse(b.rows.Tasks[0].TrainSet.X):
		fault = "it takes dense rows; these are sparse"
	case !(c.Network >= 0 && c.Pooled >= 0 && c.Network+c.Pooled <= 1+1e-9):
		fault = "its shares must be at least 0, and their sum at most 1"
	case c.Model != nil && (c.Drawn != 0 || c.Balanced):
		fault = "a multitask model takes neither intercepts drawn from others nor balanced classes"
	case c.Balanced && b.regression():
		fault = "a regression has no classes to weigh; leave --class-weight out"
	case c.Learned && !b.hasLearned():
		fault = "the network has learned no metric for these columns"
	default:
		return nil
	}
	return b.fault(c.Title() + ": " + fault)
}

// Judge measures a candidate on the rows that folds hold out. The hyperparameters of problem (1)
// are chosen by them. Judge fails with context.DeadlineExceeded where Options.Until comes before.
func (b *Bench) Judge(ctx context.Context, c Candidate) (*Judged, error) {
	if !b.options.Until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, b.options.Until)
		defer cancel()
	}
	judged, err := b.judgeEach(ctx, []Candidate{c})
	if err != nil {
		return nil, err
	}
	return judged[0], nil
}

// Late says that no further candidate is tried.
func (b *Bench) Late() bool {
	return !b.options.Until.IsZero() && time.Now().After(b.options.Until)
}

// CutOff says that an error is the end of the time that is set, and nothing else.
func (b *Bench) CutOff(err error) bool {
	return b.Late() && errors.Is(err, context.DeadlineExceeded)
}

// judgeEach measures several candidates.
func (b *Bench) judgeEach(ctx context.Context, candidates []Candidate) (judged []*Judged, err error) {
	var structures []*Judged
	var rest []*Judged
	for _, c := range candidates {
		c.Balanced = c.View == "" && (c.Balanced || b.options.Balanced)
		err := b.check(c)
		if err != nil {
			return nil, err
		}
		j := b.judged[c.Name()]
		if j == nil || c.Model != nil { // covariances that are given have one name
			j = &Judged{Candidate: c}
			if c.View != "" {
				structures = append(structures, j)
			} else {
				rest = append(rest, j)
			}
		}
		judged = append(judged, j)
	}
	report := b.options.Progress
	work := len(structures)*len(b.folds) + len(rest)
	if work > 0 {
		report.Start("measuring on rows held out", work)
		defer report.Finish()
	}
	for _, j := range rest {
		err := b.tune(ctx, j)
		if err != nil {
			return nil, fmt.Errorf("problem %q: %s: %w",
				b.problem.Name, j.Title(), err)
		}
		report.Advance(1, j.Title())
	}
	if err := b.measure(ctx, structures); err != nil {
		return nil, fmt.Errorf("problem %q: %w", b.problem.Name, err)
	}
	for _, j := range judged {
		b.judged[j.Name()] = j
	}
	return judged, nil
}

// measure fits structures to the training rows of each fold, and predicts the rows held out. Other
// folds begin with the variances of the first.
func (b *Bench) measure(ctx context.Context, structures []*Judged) error {
	if len(b.folds) == 0 {
		for _, j := range structures {
			j.HeldOut = evidence.None(len(b.rows.Tasks))
		}
		return nil
	}
	if len(structures) == 0 {
		return nil
	}
	folds := make([][]heldScores, len(b.folds))
	var err error
	folds[0], err = b.measureFold(ctx, 0, structures, b.options.Workers)
	if err != nil {
		return err
	}
	var work errgroup.Group
	work.SetLimit(b.options.Workers)
	for k := 1; k < len(folds); k++ {
		work.Go(func() (err error) {
			folds[k], err = b.measureFold(ctx, k, structures, 1)
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return err
	}
	for n, j := range structures {
		scores := make([][]float64, len(b.rows.Tasks))
		variance := make([][]float64, len(b.rows.Tasks))
		for _, fold := range folds {
			for i := range scores {
				scores[i] = append(scores[i], fold[n].scores[i]...)
				variance[i] = append(variance[i], fold[n].variance[i]...)
			}
		}
		j.HeldOut, err = b.predicted(scores)
		if err != nil {
			return err
		}
		j.Variance = variance
	}
	return nil
}

// heldScores are predictions of the rows of every task that a fold holds out.
type heldScores struct{ scores, variance [][]float64 }

// measureFold fits structures to the training rows of a fold.
func (b *Bench) measureFold(
	ctx context.Context, k int, structures []*Judged, workers int,
) (results []heldScores, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var views []string
	for _, j := range structures {
		views = append(views, j.View)
	}
	f, err := b.features(b.folds[k], views...)
	if err != nil {
		return nil, err
	}
	var held []data.Matrix
	for _, t := range f.Tasks {
		held = append(held, t.ValidationSet.X)
	}
	for _, j := range structures {
		p, err := f.fit(ctx, j.Structure, workers, j.first)
		if err != nil {
			return nil, err
		}
		if k == 0 {
			j.first = p.fits
		}
		var doubt *saved.Doubt // of several classes scores are as they are
		if len(p.fits) == 1 {
			doubt = f.doubt(p, 0)
		}
		h := heldScores{variance: doubt.Variances(0, held...)}
		for i, v := range h.variance {
			score := p.Scores(i, held[i])
			if !b.regression() {
				saved.Moderate(score, v)
			} else if b.counts > 0 {
				saved.Expect(score, b.largest)
				saved.Disperse(v, score, b.counts)
			}
			h.scores = append(h.scores, score)
		}
		results = append(results, h)
		b.options.Progress.Advance(1, j.Title())
	}
	return results, nil
}

// predicted judges predictions of the rows held out.
func (b *Bench) predicted(scores [][]float64) (*evidence.HeldOut, error) {
	s, err := b.in(place{})
	if err != nil {
		return nil, err
	}
	return s.folds.Predicted(scores), nil
}

// tune judges a candidate of problem (1).
func (b *Bench) tune(ctx context.Context, j *Judged) (err error) {
	j.subject, err = b.subject(j.Candidate)
	if err != nil {
		return err
	}
	s, err := b.in(place{j.Learned, j.Ridge})
	if err != nil {
		return err
	}
	o := evidence.Options{
		Lambda1: b.options.Lambda1,
		Workers: b.options.Workers,
	}
	j.Chosen, err = evidence.Held(ctx, j.subject, s.tuning, o)
	if err != nil {
		return err
	}
	j.start = j.Fits[0]
	if s.folds == nil || s.tuning == evidence.Evidence(s.folds) {
		return nil
	}
	j.HeldOut, err = s.folds.Whole().Hold(ctx, j.subject,
		j.Params, nil, evidence.Comparing(b.options.Workers))
	return err
}

// subject is the model of a candidate on every fold and on all rows.
func (b *Bench) subject(c Candidate) (evidence.Subject, error) {
	if c.Model != nil {
		return evidence.Of(c.Model), nil
	}
	found := []*mat.SymDense{nil}
	if c.Network > 0 {
		var err error
		found, err = b.ask(c.Learned)
		if err != nil {
			return evidence.Subject{}, err
		}
	}
	var models []multitask.Model
	for _, network := range found {
		m, err := multitask.GivenWith(c.omega(b.borrows, network),
			c.Drawn, c.Balanced)
		if err != nil {
			return evidence.Subject{}, err
		}
		models = append(models, m)
	}
	if len(models) == 1 {
		return evidence.Of(models[0]), nil
	}
	last := len(b.folds)
	return evidence.Subject{
		Model: models[last],
		Folds: models[:last],
	}, nil
}
