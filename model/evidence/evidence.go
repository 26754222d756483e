// Package evidence judges fits by rows that they have not seen.
//
// An Evidence fits a model without some rows and predicts them. Tune follows one path of Lambda1 by
// the losses of these rows, and PairedLoss compares two models by them. There are two kinds: Folds
// leaves out a part of the rows at a time (of a split the validation rows), and NewLeaveOneOut
// every row in turn. Folds.Predicted measures predictions of held-out rows that other models made,
// such as mixed models.
//
// HeldOut.Judge tells a saved model its temperature, and how wide its intervals are.
package evidence

import (
	"cmp"
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/model/multitask"
)

// Evidence judges a fit by rows that it has not seen.
type Evidence interface {
	// Training returns the rows that the last fit has: all of them.
	Training() *multitask.TrainingSet
	// Hold fits a model without the rows that it then predicts. It starts from an earlier result,
	// such as the result of a larger Lambda1; nil starts from zero. Where rows are many, a part of
	// them is enough.
	Hold(ctx context.Context, subject Subject, p multitask.Params, from *HeldOut, o multitask.Options) (*HeldOut, error)
}

// Subject is a model that evidence judges.
type Subject struct {
	// Model is the model of all rows.
	multitask.Model
	// Folds has another model for each fold, found without the rows that the fold holds out; nil
	// where all have the Model.
	Folds []multitask.Model
}

// Of is a subject that is the same model in every fold.
func Of(m multitask.Model) Subject {
	return Subject{Model: m}
}

func (s Subject) fold(k int) multitask.Model {
	if s.Folds != nil {
		return s.Folds[k]
	}
	return s.Model
}

// HeldOut has the predictions of held-out rows, and their losses.
type HeldOut struct {
	// Scores are the predictions for the rows of every task that were held out, and Y
	// has their targets.
	Scores, Y [][]float64
	// Weight is how much each of the rows counts.
	Weight [][]float64
	// Variance is, of each row, how far the model expects a target to be from its score,
	// squared; nil where it expects the same of all rows.
	Variance [][]float64
	// Temperature divides scores before they become probabilities, which then have the least loss
	// on the rows. It is 1 of a regression.
	Temperature float64
	// Cut is the score above which a row of two classes counts as positive.
	Cut float64
	// Rows counts them.
	Rows int
	// Loss decides comparisons: the mean of the losses of these rows or, where tasks have
	// units of their own, the mean over the tasks. Of a split it is the Error.
	Loss float64
	// Error is the mean error of the tasks: the rate of misclassified rows, or nMSE.
	Error float64
	// Fits lack the rows held out: one fit for each fold. LeaveOneOut has one fit, of all rows.
	Fits []*multitask.Result

	losses  [][]float64 // row by row
	weights []float64   // of the tasks
	units   [][]int     // numbers of the groups of every task's rows, or nil
}

// None is the evidence of no rows, for so many tasks.
func None(tasks int) *HeldOut {
	return new(heldRows).heldOut(make([][]float64, tasks),
		make([]data.Samples, tasks))
}

// heldRows are the parts that all kinds of evidence have.
type heldRows struct {
	train *multitask.TrainingSet
	kind  data.Kind
	scale []float64 // of regression: the variance of the targets
	same  bool      // tasks have units of their own, and count the same
	units [][]int
}

// newHeldRows measures the targets y of the tasks, each by its own variance or all by one. Some
// tasks may have none.
func newHeldRows(p *data.ProblemData, y [][]float64, separate bool) (heldRows, error) {
	train, err := multitask.Training(p)
	if err != nil {
		return heldRows{}, err
	}
	e := heldRows{
		train: train,
		kind:  p.Kind(),
	}
	e.scale = make([]float64, len(y))
	if e.kind == data.Regression {
		e.same = p.OwnUnits
		e.scale, err = scales(y, separate)
		if err != nil {
			return e, fmt.Errorf("rows to hold out: %w", err)
		}
	}
	return e, nil
}

// Training returns the rows that the fits are to be on.
func (e *heldRows) Training() *multitask.TrainingSet {
	return e.train
}

// heldOut compares predictions of rows of every task with their targets.
func (e *heldRows) heldOut(
	scores [][]float64, tasks []data.Samples, fits ...*multitask.Result,
) *HeldOut {
	h := &HeldOut{
		Scores: scores,
		Fits:   fits,
		units:  e.units,
	}
	for _, rows := range tasks {
		h.Y = append(h.Y, rows.Y)
		h.Weight = append(h.Weight, rows.Weights())
	}
	h.losses = make([][]float64, len(scores))
	h.weights = make([]float64, len(scores))
	losses := make([]float64, len(scores))
	var errs []float64
	h.Temperature = 1
	if e.kind == data.Classification {
		h.Temperature = h.temperature()
	}
	for i, y := range h.Y {
		if len(y) == 0 {
			continue
		}
		h.Rows += len(y)
		h.weights[i] = floats.Sum(h.Weight[i])
		if e.same {
			h.weights[i] = 1
		}
		h.losses[i] = rowErrors(e.kind, scores[i], y, e.scale[i])
		errs = append(errs, stat.Mean(h.losses[i], h.Weight[i]))
		if e.kind == data.Classification {
			h.losses[i] = logLosses(scores[i], y, h.Temperature)
		}
		losses[i] = stat.Mean(h.losses[i], h.Weight[i])
	}
	h.Loss = stat.Mean(losses, h.weights)
	h.Error = stat.Mean(errs, nil)
	return h
}

// starting are options that start from the fit of a fold.
func (h *HeldOut) starting(o multitask.Options, k int) multitask.Options {
	if h != nil && k < len(h.Fits) { // fits of other folds may have other features
		o.Start = h.Fits[k]
	}
	return o
}

// Folds is the evidence of rows that a part of the fits has not seen: of a cross-validation on
// the training rows of a problem, where the predictions of all folds are measured together, or
// of a split. HeldOut has the rows fold after fold.
type Folds struct {
	heldRows
	parts    []part
	deciding int  // how many of the first folds hold out enough rows to compare by
	split    bool // whether it is one of validation rows, whose errors count as their loss
}

type part struct {
	train *multitask.TrainingSet
	rows  []data.Samples
}

// NewSplit returns the evidence of the validation rows of a problem, as the paper has it: its
// Loss is their error, and nothing moves their scores.
func NewSplit(p *data.ProblemData) (*Folds, error) {
	var rows []data.Samples
	var y [][]float64
	for _, t := range p.Tasks {
		rows = append(rows, t.ValidationSet)
		y = append(y, t.ValidationSet.Y)
	}
	held, err := newHeldRows(p, y, true)
	if err != nil {
		return nil, err
	}
	for i, t := range p.Tasks {
		if len(y[i]) == 0 || rows[i].X.Cols() != held.train.Cols() {
			return nil, multitask.ErrInvalidData.Errorf("task %q: it needs validation rows with %d features",
				t.Name, held.train.Cols())
		}
	}
	return &Folds{held, []part{{held.train, rows}}, 1, true}, nil
}

// enoughRows is how many rows held out tell hyperparameters apart as well as more do.
const enoughRows = 5000

// NewFolds returns the evidence of parts of a problem's training rows. Rows with the same
// number in together, where it is not nil, are one observation for standard errors.
func NewFolds(p *data.ProblemData, folds []data.Fold, together [][]int) (*Folds, error) {
	e := &Folds{}
	y := make([][]float64, len(p.Tasks))
	units := make([][]int, len(p.Tasks))
	rows := 0
	var err error
	for k, fold := range folds {
		var f part
		f.train, err = multitask.Training(fold.ProblemData)
		if err != nil {
			return nil, fmt.Errorf("%w (fold %d)", err, k+1)
		}
		first := 0 // number of a task's rows among all
		for i, t := range fold.Tasks {
			f.rows = append(f.rows, t.ValidationSet)
			for _, j := range fold.Rows[i] {
				unit := first + j
				if together != nil {
					unit = together[i][j]
				}
				units[i] = append(units[i], unit)
				y[i] = p.Tasks[i].TrainSet.Y
			}
			first += len(p.Tasks[i].TrainSet.Y)
			rows += len(t.ValidationSet.Y)
		}
		e.parts = append(e.parts, f)
		if rows >= enoughRows && e.deciding == 0 {
			e.deciding = k + 1
		}
	}
	if rows == 0 {
		return nil, multitask.ErrInvalidData.Errorf("no fold has rows to validate")
	}
	e.heldRows, err = newHeldRows(p, y, p.OwnUnits)
	if err != nil {
		return nil, err
	}
	e.units = units
	e.deciding = cmp.Or(e.deciding, len(folds))
	return e, nil
}

// Whole is the evidence of all folds.
func (e *Folds) Whole() *Folds {
	whole := *e
	whole.deciding = len(e.parts)
	return &whole
}

// Hold fits the first folds, side by side, until they hold out enough rows, and predicts these
// rows.
func (e *Folds) Hold(ctx context.Context, subject Subject,
	p multitask.Params, from *HeldOut, o multitask.Options) (*HeldOut, error) {
	fits := make([]*multitask.Result, e.deciding)
	workers := max(1, o.Workers)
	o.Workers = max(1, workers/len(fits))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for k := range fits {
		group.Go(func() (err error) {
			if fits[k], err = multitask.Fit(ctx, subject.fold(k),
				e.parts[k].train, p, from.starting(o, k)); err != nil &&
				!e.split {
				return fmt.Errorf("%w (fold %d)", err, k+1)
			}
			return err
		})
	}
	err := group.Wait()
	if err != nil {
		return nil, err
	}
	return e.Measure(fits...), nil
}

// Predicted measures predictions of the rows, in the order of a HeldOut.
func (e *Folds) Predicted(scores [][]float64) *HeldOut {
	return e.heldOut(scores, e.rows(len(e.parts)))
}

// rows are the rows of every task that the first folds hold out, without their features.
func (e *Folds) rows(folds int) []data.Samples {
	tasks := make([]data.Samples, len(e.scale))
	for _, part := range e.parts[:folds] {
		for i, rows := range part.rows {
			tasks[i].Y = append(tasks[i].Y, rows.Y...)
			tasks[i].Weight = append(tasks[i].Weight, rows.Weight...)
		}
	}
	return tasks
}

// Measure judges fits by the rows that the first folds hold out.
func (e *Folds) Measure(fits ...*multitask.Result) *HeldOut {
	scores := make([][]float64, len(e.scale))
	for k, r := range fits {
		for i, rows := range e.parts[k].rows {
			if len(rows.Y) > 0 {
				scores[i] = append(scores[i], r.Scores(i, rows.X)...)
			}
		}
	}
	h := e.heldOut(scores, e.rows(len(fits)), fits...)
	if e.split {
		h.Loss = h.Error
	}
	return h
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

// Labelled is the evidence of all labelled rows of a problem, training and validation rows:
// leave-one-out of few, and five folds of more.
func Labelled(p *data.ProblemData) (Evidence, error) {
	labelled := p.Labelled()
	if Few(labelled) {
		return NewLeaveOneOut(labelled)
	}
	folds, err := labelled.Folds(5, 0, nil)
	if err != nil {
		return nil, err
	}
	return NewFolds(labelled, folds, nil)
}
