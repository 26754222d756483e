package multitask

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/progress"
)

// CrossValidated is a model whose hyperparameters a cross-validation chose.
type CrossValidated struct {
	// Model is the name of the model, "fixed" for a given Omega.
	Model string
	// Params are the hyperparameters chosen.
	Params Params
	// Held are the scores of the rows of every task by the fit of the fold that
	// held them out, NaN for rows that none did, and Y what these rows are.
	Held, Y [][]float64
	// Loss is the mean loss of the tasks there: the logistic loss, or nMSE.
	Loss float64
	// Scores judge these predictions, task by task.
	Scores []Score
	// Trials lists what was tried, in a fixed order, with Loss as Validation.
	Trials []Trial
	// Seconds is the wall time.
	Seconds float64

	of      Model
	problem *data.ProblemData
	opt     TuneOptions
	first   *Result // of the first fold
}

// Fit fits the model with the hyperparameters chosen on all rows.
func (v *CrossValidated) Fit(ctx context.Context) (*Result, error) {
	model, err := On(ctx, v.of, v.problem)
	if err != nil {
		return nil, err
	}
	metric := v.opt.metric(v.problem)
	train, err := Training(metric.Problem(v.problem), v.opt.Loss)
	if err != nil {
		return nil, err
	}
	// The first fold's fit is near in every model, and in the same valley of
	// those that have several.
	close := v.opt.Fit
	close.Start = v.first
	r, err := Fit(ctx, model, train, v.Params, close)
	if err != nil {
		return nil, err
	}
	return r.restored(metric), nil
}

// Given is the model of a given Omega, divided by its trace.
func Given(omega *mat.SymDense) (Model, error) {
	if err := checkOmega(omega, omega.SymmetricDim()); err != nil {
		return nil, err
	}
	return fixed(normalised(omega)), nil
}

// Dependent is a Model that is another one on every problem: that of the
// covariance which a network finds there, say. CrossValidate asks for that of
// every fold, so that rows held out have no say in what is fitted without them.
type Dependent interface {
	Model
	On(ctx context.Context, p *data.ProblemData) (Model, error)
}

// On is the model that a model is on a problem: itself, if it is no Dependent.
func On(ctx context.Context, model Model, p *data.ProblemData) (Model, error) {
	if d, ok := model.(Dependent); ok {
		return d.On(ctx, p)
	}
	return model, nil
}

// CrossValidate chooses the hyperparameters of a model by the loss of the rows
// that folds hold out. In every fold the model is fitted anew, with its Omega. Of opt,
// what Tune says of evidence and STL is not used.
//
// Classes are judged by the logistic loss: where a class is rare the rate of
// misclassified rows cannot distinguish hyperparameters. Where rows are many the first
// folds choose, as many as hold out 5,000 rows; all judge what is chosen.
func CrossValidate(ctx context.Context, model Model, problem *data.ProblemData, folds []data.Fold, opt TuneOptions) (*CrossValidated, error) {
	begin := time.Now()
	opt.Evidence, opt.STL = nil, nil
	all, err := newSearch(model, problem, opt)
	if err != nil {
		return nil, err
	}
	c := &crossValidation{of: model, all: all, folds: folds, deciding: make([]*search, deciding(folds))}
	v := &CrossValidated{Model: model.Info().Name, of: model, problem: problem, opt: opt}
	best, err := c.run(ctx, problem, v)
	if err != nil {
		return nil, err
	}
	v.Params, v.first, v.Held, v.Loss = best.params, best.first, best.held, best.loss
	for i, t := range problem.Tasks {
		v.Y = append(v.Y, t.TrainSet.Y)
		v.Scores = append(v.Scores, scoreOf(best.held[i], t.TrainSet.Y, t.Kind))
	}
	v.Seconds = time.Since(begin).Seconds()
	return v, nil
}

// crossValidation is one grid on several folds.
type crossValidation struct {
	of       Model
	all      *search
	folds    []data.Fold
	deciding []*search   // the first of the folds, by which settings are chosen
	tried    [][]heldFit // settings x Lambda1
}

// fold is the model on a fold. Those that do not decide are looked at only once, and
// forgotten: with many rows a metric makes all of them anew.
func (c *crossValidation) fold(ctx context.Context, k int) (*search, error) {
	opt, fold := c.all.opt, c.folds[k].ProblemData
	part, err := On(ctx, c.of, fold)
	if err != nil {
		return nil, fmt.Errorf("%w (fold %d)", err, k+1)
	}
	s, err := newSearch(part, opt.metric(fold).Problem(fold), opt)
	if err != nil {
		return nil, fmt.Errorf("%w (fold %d)", err, k+1)
	}
	return s, nil
}

// metric is the one in which the rows of a problem are fitted, or nil.
func (o *TuneOptions) metric(p *data.ProblemData) *data.Metric {
	m := (*data.Metric)(nil)
	if o.Ridge > 0 {
		m = data.NewMetric(p, o.Ridge)
	}
	return m.Along(p, o.Directions)
}

// enoughRows is how many rows held out tell settings apart as well as more do.
const enoughRows = 5000

// deciding is the number of folds that hold out enough rows.
func deciding(folds []data.Fold) int {
	held := 0
	for k, fold := range folds {
		for _, rows := range fold.Rows {
			held += len(rows)
		}
		if held >= enoughRows {
			return k + 1
		}
	}
	return len(folds)
}

// heldFit is one setting and Lambda1 on all folds.
type heldFit struct {
	params Params
	held   [][]float64 // predictions
	loss   float64
	first  *Result // of the first fold
	status Status
}

// run fits every setting on the deciding folds along the path of Lambda1, settings and
// folds side by side, and the best one on the others.
func (c *crossValidation) run(ctx context.Context, problem *data.ProblemData, v *CrossValidated) (*heldFit, error) {
	s := c.all
	if s.opt.Progress == nil {
		s.opt.Progress = progress.Silent()
	}
	rest := len(c.folds) - len(c.deciding)
	s.opt.Progress.Start("cross-validating "+s.model.Info().Title, len(s.settings)*len(s.opt.Lambda1)*len(c.deciding)+rest)
	defer s.opt.Progress.Finish()
	for k := range c.deciding {
		var err error
		if c.deciding[k], err = c.fold(ctx, k); err != nil {
			return nil, err
		}
	}
	c.tried = make([][]heldFit, len(s.settings))
	workers := make(chan struct{}, max(1, s.opt.Workers))
	group, inner := errgroup.WithContext(ctx)
	for i, p := range s.settings {
		group.Go(func() (err error) {
			c.tried[i], err = c.path(inner, p, problem, workers)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	best := c.choose(v)
	return best, c.judge(ctx, best, problem)
}

// path fits one setting for every Lambda1, each fit starting from the
// fold's last, until the loss has risen three times: what follows is the slowest.
func (c *crossValidation) path(ctx context.Context, p Params, problem *data.ProblemData, workers chan struct{}) (path []heldFit, err error) {
	s, last := c.all, make([]*Result, len(c.deciding))
	for l, lambda1 := range s.opt.Lambda1 {
		at := heldFit{params: p.With(Lambda1, lambda1), held: s.train.unknown()}
		group, ctx := errgroup.WithContext(ctx)
		for k := range last {
			group.Go(func() (err error) {
				workers <- struct{}{}
				defer func() { <-workers }()
				last[k], err = c.fit(ctx, c.deciding[k], k, &at, last[k])
				s.opt.Progress.Advance(1, "")
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return nil, err
		}
		at.first, at.status, at.loss = last[0], last[0].Status, heldLoss(at.held, problem)
		if path = append(path, at); risen(path, func(h heldFit) float64 { return h.loss }) {
			s.opt.Progress.Advance((len(s.opt.Lambda1)-l-1)*len(c.deciding), "")
			break
		}
	}
	return path, nil
}

// judge fits the folds that had no part in choosing.
func (c *crossValidation) judge(ctx context.Context, best *heldFit, problem *data.ProblemData) error {
	s := c.all
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, s.opt.Workers))
	for k := len(c.deciding); k < len(c.folds); k++ {
		group.Go(func() error {
			fold, err := c.fold(ctx, k)
			if err != nil {
				return err
			}
			_, err = c.fit(ctx, fold, k, best, best.first)
			s.opt.Progress.Advance(1, "")
			return err
		})
	}
	err := group.Wait()
	best.loss = heldLoss(best.held, problem)
	return err
}

// fit fits a fold, and predicts the rows that it holds out.
func (c *crossValidation) fit(ctx context.Context, s *search, k int, at *heldFit, start *Result) (*Result, error) {
	fit := s.opt.Fit
	fit.Tolerance, fit.MaxIterations, fit.Start = s.opt.Tolerance, s.opt.Iterations, start
	fit.Workers = max(1, s.opt.Workers/len(c.deciding)/len(s.settings))
	r, err := Fit(ctx, s.model, s.train, at.params, fit)
	if err != nil {
		return nil, fmt.Errorf("%w (fold %d)", err, k+1)
	}
	for i, f := range predict(r, s.validation) {
		n := s.train.classes
		for j, row := range c.folds[k].Rows[i] {
			copy(at.held[i][row*n:][:n], f[j*n:])
		}
	}
	return r, nil
}

// choose finds the point of the least loss; of equals the one with the largest
// Lambda1, which comes first.
func (c *crossValidation) choose(v *CrossValidated) (best *heldFit) {
	for _, path := range c.tried {
		for l := range path {
			p := &path[l]
			v.Trials = append(v.Trials, Trial{Params: p.params, Validation: p.loss, Status: p.status})
			if best == nil || p.loss < best.loss || p.loss == best.loss && p.params.Lambda1 > best.params.Lambda1 {
				best = p
			}
		}
	}
	return best
}

// unknown holds no prediction of any row yet.
func (p *TrainingSet) unknown() (held [][]float64) {
	for _, n := range p.rows() {
		held = append(held, slices.Repeat([]float64{math.NaN()}, n*p.classes))
	}
	return held
}

// heldLoss is the mean over the tasks of the logistic loss, or nMSE, of the rows
// that have been held out.
func heldLoss(held [][]float64, problem *data.ProblemData) float64 {
	sum, tasks := 0.0, 0
	for i, t := range problem.Tasks {
		f, y := known(held[i], t.TrainSet.Y)
		if len(f) == 0 {
			continue
		}
		tasks++
		if t.Kind == data.Regression {
			sum += meanSquare(f, y) / stat.PopVariance(t.TrainSet.Y, nil)
		} else {
			sum += surprise(f, y)
		}
	}
	return sum / float64(tasks)
}

// known leaves out the rows without a prediction.
func known(held, y []float64) (f, of []float64) {
	n := perRow(held, y)
	for j, v := range y {
		if row := held[j*n:][:n]; !math.IsNaN(row[0]) {
			f, of = append(f, row...), append(of, v)
		}
	}
	return f, of
}
