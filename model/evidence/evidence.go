// Package evidence says what rows that a fit has not seen say of it.
//
// An Evidence fits a model without some rows and predicts them. Tune follows one
// path of Lambda1 by what they lose, and PairedLoss compares two models by it. There
// are three kinds: Split has rows set apart, LeaveOneOut leaves out every row in
// turn, and Folds a part of the rows at a time.
package evidence

import (
	"cmp"
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/model/multitask"
)

// Evidence is what rows say that a fit has not seen.
type Evidence interface {
	// Training returns the rows of the fit on all of them.
	Training() *multitask.TrainingSet
	// Hold fits a model without the rows that it then predicts. It starts from what
	// was held out before, such as that of a larger Lambda1; nil starts from zero.
	// Where rows are many, a part of them is enough.
	Hold(ctx context.Context, of Subject, p multitask.Params, from *HeldOut, o multitask.Options) (*HeldOut, error)
}

// Subject is what evidence is about.
type Subject struct {
	// Model is that of all rows.
	multitask.Model
	// Folds are those of the folds where they are others, found without the rows that
	// the fold holds out; nil where Model is that of each.
	Folds []multitask.Model
}

// Of is a subject that is the same model in every fold.
func Of(m multitask.Model) Subject { return Subject{Model: m} }

func (s Subject) fold(k int) multitask.Model {
	if s.Folds != nil {
		return s.Folds[k]
	}
	return s.Model
}

// HeldOut is what rows that were held out say of a fit.
type HeldOut struct {
	// Scores are the predictions for the rows of every task that were held out, and Y
	// what these are.
	Scores, Y [][]float64
	// Offsets are what Scores have more than the Fits, of every task, class by class; nil
	// where they have nothing more.
	Offsets [][]float64
	// Rows counts them.
	Rows int
	// Loss is what is compared: the mean over the tasks of the loss of these rows, in which
	// tasks weigh what they do in a fit, or of a Split the Error.
	Loss float64
	// Error is the mean error of the tasks: the rate of misclassified rows, or nMSE.
	Error float64
	// Fits are those without the rows held out, one for each fold. Of LeaveOneOut it is
	// the fit of all rows.
	Fits []*multitask.Result

	losses  [][]float64 // row by row
	weights []float64   // of the tasks, nil where they are the same
	units   [][]int     // what the rows of every task belong to, or nil
}

// heldRows are what the kinds of evidence have in common.
type heldRows struct {
	train *multitask.TrainingSet
	kind  data.Kind
	y     [][]float64
	scale []float64   // of regression: the variance of the targets y of every task
	odds  [][]float64 // of classes: those of every task
	units [][]int
}

// newHeldRows measures the targets y of the tasks, of which some may have none.
func newHeldRows(p *data.ProblemData, y [][]float64) (heldRows, error) {
	train, err := multitask.Training(p)
	if err != nil {
		return heldRows{}, err
	}
	e := heldRows{train: train, kind: p.Kind(), y: y}
	if e.kind == data.Regression {
		if e.scale, err = scales(y); err != nil {
			return e, fmt.Errorf("evidence: rows to hold out: %w", err)
		}
		return e, nil
	}
	var rows []float64
	for _, t := range p.Tasks {
		rows = append(rows, t.TrainSet.Y...)
	}
	classes := max(1, p.Several())
	for _, t := range p.Tasks {
		of := t.TrainSet.Y
		if t.TrainSet.Borrows(true) {
			of = rows // of which its own tell too little
		}
		e.odds = append(e.odds, odds(of, classes))
	}
	return e, nil
}

// Training returns the rows that the fits are to be on.
func (e *heldRows) Training() *multitask.TrainingSet { return e.train }

// heldOut compares predictions with the targets of the rows.
func (e *heldRows) heldOut(scores, targets [][]float64, fits ...*multitask.Result) *HeldOut {
	h := &HeldOut{Scores: scores, Y: targets, Fits: fits, losses: make([][]float64, len(scores)), weights: e.train.TaskWeights(), units: e.units}
	var losses, weights, errs []float64
	temperature := 1.0
	if e.kind == data.Classification {
		if e.odds != nil {
			h.Offsets = move(scores, targets, e.odds)
		}
		temperature = Temperature(scores, targets)
	}
	for i, y := range targets {
		if len(y) == 0 {
			continue
		}
		h.Rows += len(y)
		if e.kind == data.Regression {
			h.losses[i] = squares(scores[i], y, e.scale[i])
			errs = append(errs, stat.Mean(h.losses[i], nil))
		} else {
			h.losses[i] = logLosses(scores[i], y, temperature)
			errs = append(errs, misclassified(scores[i], y))
		}
		losses, weights = append(losses, stat.Mean(h.losses[i], nil)), append(weights, h.weights[i])
	}
	h.Loss, h.Error = stat.Mean(losses, weights), stat.Mean(errs, nil)
	return h
}

// Split is the evidence of the validation rows of a problem, as the paper has it: its
// Loss is their error.
type Split struct {
	heldRows
	rows []data.Samples
}

// NewSplit returns the evidence of the validation rows of a problem.
func NewSplit(p *data.ProblemData) (*Split, error) {
	e, y := &Split{}, make([][]float64, len(p.Tasks))
	for i, t := range p.Tasks {
		e.rows, y[i] = append(e.rows, t.ValidationSet), t.ValidationSet.Y
	}
	var err error
	if e.heldRows, err = newHeldRows(p, y); err != nil {
		return nil, err
	}
	e.odds = nil // the paper has no offsets
	for i, t := range p.Tasks {
		if len(y[i]) == 0 || e.rows[i].X.Cols() != e.train.Cols() {
			return nil, fmt.Errorf("evidence: task %q: %w: it needs validation rows with %d features", t.Name, multitask.ErrInvalidData, e.train.Cols())
		}
	}
	if e.kind == data.Regression {
		e.scale, err = variances(y)
	}
	return e, err
}

// Hold fits the training rows.
func (e *Split) Hold(ctx context.Context, of Subject, p multitask.Params, from *HeldOut, o multitask.Options) (*HeldOut, error) {
	r, err := multitask.Fit(ctx, of.Model, e.train, p, from.starting(o, 0))
	if err != nil {
		return nil, err
	}
	return e.Measure(r)
}

// Measure says what the rows do of a fit.
func (e *Split) Measure(r *multitask.Result) (*HeldOut, error) {
	if d, m := r.W.Dims(); m != len(e.rows) || d%e.train.Cols() != 0 {
		return nil, fmt.Errorf("evidence: %w: the W of the fit is %d x %d; that of %d tasks with %d features has other sizes", multitask.ErrInvalidData, d, m, len(e.rows), e.train.Cols())
	}
	h := e.heldOut(predict(r, e.rows), e.y, r)
	h.Loss = h.Error
	return h, nil
}

// starting are options that start from the fit of a fold.
func (h *HeldOut) starting(o multitask.Options, k int) multitask.Options {
	if h != nil && k < len(h.Fits) { // those of other folds may have other features
		o.Start = h.Fits[k]
	}
	return o
}

// predict returns the predictions for rows of every task.
func predict(r *multitask.Result, rows []data.Samples) [][]float64 {
	f := make([][]float64, len(rows))
	for i, v := range rows {
		if len(v.Y) > 0 {
			f[i] = r.Scores(i, v.X)
		}
	}
	return f
}

// Folds is the evidence of a cross-validation on the training rows of a problem: the
// predictions of all folds are measured together. HeldOut has the rows fold after fold.
type Folds struct {
	heldRows
	parts    []part
	deciding int // how many of the first folds hold out enough rows to compare by
}

type part struct {
	train *multitask.TrainingSet
	rows  []data.Samples
}

// enoughRows is how many rows held out tell hyperparameters apart as well as more do.
const enoughRows = 5000

// NewFolds returns the evidence of parts of a problem's training rows. Rows with the same
// number in together, where it is not nil, are one observation for standard errors.
func NewFolds(p *data.ProblemData, folds []data.Fold, together [][]int) (*Folds, error) {
	e, y, units := &Folds{}, make([][]float64, len(p.Tasks)), make([][]int, len(p.Tasks))
	rows := 0
	var err error
	for k, fold := range folds {
		f := part{rows: make([]data.Samples, len(p.Tasks))}
		if f.train, err = multitask.Training(fold.ProblemData); err != nil {
			return nil, fmt.Errorf("%w (fold %d)", err, k+1)
		}
		first := 0 // number of a task's rows among all
		for i, t := range fold.Tasks {
			f.rows[i] = t.ValidationSet
			for _, j := range fold.Rows[i] {
				unit := first + j
				if together != nil {
					unit = together[i][j]
				}
				units[i], y[i] = append(units[i], unit), p.Tasks[i].TrainSet.Y
			}
			first += len(p.Tasks[i].TrainSet.Y)
			rows += len(t.ValidationSet.Y)
		}
		if e.parts = append(e.parts, f); rows >= enoughRows && e.deciding == 0 {
			e.deciding = k + 1
		}
	}
	if rows == 0 {
		return nil, fmt.Errorf("evidence: %w: no fold has rows to validate", multitask.ErrInvalidData)
	}
	if e.heldRows, err = newHeldRows(p, y); err != nil {
		return nil, err
	}
	e.units, e.deciding = units, cmp.Or(e.deciding, len(folds))
	return e, nil
}

// Hold fits as many of the first folds as hold out enough rows.
func (e *Folds) Hold(ctx context.Context, of Subject, p multitask.Params, from *HeldOut, o multitask.Options) (*HeldOut, error) {
	return e.fit(ctx, of, p, from, o, e.deciding)
}

// Judge fits all folds.
func (e *Folds) Judge(ctx context.Context, of Subject, p multitask.Params, from *HeldOut, o multitask.Options) (*HeldOut, error) {
	return e.fit(ctx, of, p, from, o, len(e.parts))
}

// fit fits some of the folds side by side, and predicts what they hold out.
func (e *Folds) fit(ctx context.Context, of Subject, p multitask.Params, from *HeldOut, o multitask.Options, count int) (*HeldOut, error) {
	fits, held := make([]*multitask.Result, count), make([][][]float64, count)
	workers := max(1, o.Workers)
	o.Workers = max(1, workers/count)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for k, f := range e.parts[:count] {
		group.Go(func() (err error) {
			if fits[k], err = multitask.Fit(ctx, of.fold(k), f.train, p, from.starting(o, k)); err != nil {
				return fmt.Errorf("%w (fold %d)", err, k+1)
			}
			held[k] = predict(fits[k], f.rows)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	scores, y := make([][]float64, len(e.y)), make([][]float64, len(e.y))
	for i := range scores {
		for k := range held {
			scores[i] = append(scores[i], held[k][i]...)
			y[i] = append(y[i], e.parts[k].rows[i].Y...)
		}
	}
	return e.heldOut(scores, y, fits...), nil
}

// mostRows bounds the rows that are left out in turn, times the classes where there are more
// than two, because that inverts a matrix of as many.
const mostRows = 400

// Few says that the training rows of a problem are so few that leaving each out in turn is
// quick. A fifth of more rows costs little.
func Few(p *data.ProblemData) bool {
	rows := 0
	for _, t := range p.Tasks {
		rows += len(t.TrainSet.Y) * max(1, p.Several())
	}
	return rows <= mostRows
}

// Labelled is the evidence of all labelled rows of a problem, those of training and of
// validation: leave-one-out of few, and five folds of more.
func Labelled(p *data.ProblemData, seed uint64) (Evidence, error) {
	all := p.Labelled()
	if Few(all) {
		return NewLeaveOneOut(all)
	}
	folds, err := all.Folds(5, seed, nil)
	if err != nil {
		return nil, fmt.Errorf("evidence: %w", err)
	}
	return NewFolds(all, folds, nil)
}
