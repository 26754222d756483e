package multitask

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
)

// Evidence is what rows that a fit has not seen say of its covariance and of
// its Lambda1. There are three kinds: Split, LeaveOneOut and FoldEvidence.
type Evidence interface {
	// Training returns the rows that the fits are to be on.
	Training() *TrainingSet
	// Measure returns what is said of a fit on these rows. It must be one for a
	// given Omega, or the minimum of another model: then the Omega that the
	// model has found is held while rows are left out.
	Measure(ctx context.Context, r *Result) (*HeldOut, error)
}

// EvidenceOptions say how fits are measured. The zero value means the defaults.
type EvidenceOptions struct {
	// Softness is the width of the step that stands for a misclassified row in
	// the soft error, relative to the mean distance of the rows of the task
	// from the boundary; default 1. A wide one asks for confidence, and so hears
	// all rows. A narrow one is nearer to the error, but hears few.
	Softness float64
	// Fit controls the fits of folds; by default to a Tolerance of 1e-6.
	Fit Options
	// Folds asks Labelled for so many folds; 0 leaves the kind of evidence to it.
	Folds int
	// Together asks Labelled for folds that do not part rows with the same
	// number: repeated measurements, say. It has a number for every
	// row of data.ProblemData.Labelled. Nil means that no rows belong together.
	Together [][]int
	// Seed draws the folds of Labelled.
	Seed uint64
}

func (o EvidenceOptions) complete() (EvidenceOptions, error) {
	if o.Softness < 0 || math.IsNaN(o.Softness) || math.IsInf(o.Softness, 0) {
		return o, fmt.Errorf("multitask: evidence: %w: the softness is %v; it must be finite and positive", ErrInvalidParams, o.Softness)
	}
	if o.Softness == 0 {
		o.Softness = 1
	}
	if o.Fit.Tolerance == 0 {
		o.Fit.Tolerance = 1e-6
	}
	return o, nil
}

// HeldOut is what rows that were held out say of a fit.
type HeldOut struct {
	// Scores are the predictions for the rows of every task that were held out, and Y
	// what these are.
	Scores, Y [][]float64
	// Rows counts them.
	Rows int
	// Error is the mean error of the tasks that have such rows: the rate of
	// misclassified rows, or nMSE.
	Error float64
	// Soft is the same with logistic curves for the steps of misclassified
	// rows, and so smooth in Omega and Lambda1.
	Soft float64
	// Variance is that of the parts that rows have in Soft: at most 1/4 for
	// classification, and any for regression.
	Variance float64

	// Fits are those of the folds, if these are the evidence. W may have other orthonormal
	// coordinates than the features, and so the same W'W.
	Fits []*Result

	slope func() (*mat.SymDense, error)
	omega *mat.SymDense
	soft  [][]float64 // the parts that rows have in Soft
}

// Slope returns the gradient of Soft with respect to Omega, W and b following
// it with Lambda1 held.
func (h *HeldOut) Slope() (*mat.SymDense, error) { return h.slope() }

// AlongLambda1 returns the derivative of Soft with respect to ln(Lambda1) from
// the slope: fits depend on Omega / Lambda1 alone.
func (h *HeldOut) AlongLambda1(slope *mat.SymDense) float64 { return -dot(slope, h.omega) }

// measure is what the kinds of evidence have in common.
type measure struct {
	train *TrainingSet
	kind  data.Kind
	y     [][]float64 // of the rows held out
	opt   EvidenceOptions
}

func newMeasure(p *data.ProblemData, o EvidenceOptions) (measure, error) {
	o, err := o.complete()
	if err != nil {
		return measure{}, err
	}
	train, err := Training(p, "")
	if err != nil {
		return measure{}, err
	}
	return measure{train: train, kind: p.Tasks[0].Kind, y: make([][]float64, len(p.Tasks)), opt: o}, nil
}

// Training returns the rows that the fits are to be on.
func (e *measure) Training() *TrainingSet { return e.train }

// hear compares the scores of a fit with the targets. It returns the derivatives
// of the soft error with respect to the scores too.
func (e *measure) hear(r *Result, scores [][]float64) (h *HeldOut, derivatives [][]float64) {
	h = &HeldOut{Scores: scores, Y: e.y, omega: r.Omega, soft: make([][]float64, len(scores))}
	y, kind := e.y, e.kind
	derivatives = make([][]float64, len(y))
	tasks := 0.0
	for i := range y {
		if len(y[i]) == 0 {
			continue
		}
		tasks++
		h.Rows += len(y[i])
		h.soft[i], derivatives[i] = softError(scores[i], y[i], kind, e.opt.Softness)
		soft := stat.Mean(h.soft[i], nil)
		h.Soft += soft
		if kind == data.Regression {
			h.Error += soft
			h.Variance += squaredVariance(scores[i], y[i])
		} else {
			h.Error += misclassified(scores[i], y[i])
			h.Variance += soft * (1 - soft)
		}
	}
	for _, d := range derivatives {
		scale(1/tasks, d)
	}
	h.Soft /= tasks
	h.Error /= tasks
	h.Variance /= tasks
	return h, derivatives
}

// squaredVariance is the variance of squared errors over the variance of the targets.
func squaredVariance(f, y []float64) float64 {
	squares := make([]float64, len(y))
	for j := range y {
		squares[j] = (f[j] - y[j]) * (f[j] - y[j])
	}
	variance := stat.PopVariance(y, nil)
	return stat.PopVariance(squares, nil) / (variance * variance)
}

// check reports what keeps the held-out targets from being compared with
// predictions.
func (e *measure) check() error {
	for i, y := range e.y {
		if e.kind == data.Regression && len(y) > 0 && slices.Min(y) == slices.Max(y) {
			return fmt.Errorf("multitask: evidence: %s: %w: all held-out targets are equal, so that nMSE is undefined", e.train.tasks[i*e.train.classes].name, ErrInvalidData)
		}
	}
	return nil
}

// split is the evidence of validation rows.
type split struct {
	measure
	rows []data.Samples
}

// Split is the evidence of the validation rows of a problem.
func Split(p *data.ProblemData, o EvidenceOptions) (Evidence, error) {
	m, err := newMeasure(p, o)
	if err != nil {
		return nil, err
	}
	e := &split{measure: m}
	for i, t := range p.Tasks {
		v := t.ValidationSet
		if len(v.Y) == 0 || v.X.Cols() != e.train.cols {
			return nil, fmt.Errorf("multitask: evidence: task %q: %w: it needs validation rows with %d features", t.Name, ErrInvalidData, e.train.cols)
		}
		e.rows, e.y[i] = append(e.rows, v), v.Y
	}
	return e, e.check()
}

func (e *split) Measure(_ context.Context, r *Result) (*HeldOut, error) {
	if err := e.train.check(r); err != nil {
		return nil, err
	}
	h, derivatives := e.hear(r, predict(r, e.rows))
	h.slope = func() (*mat.SymDense, error) { return e.train.slope(r, e.rows, derivatives) }
	return h, nil
}

// predict returns the predictions for rows of every task.
func predict(r *Result, rows []data.Samples) [][]float64 {
	f := make([][]float64, len(rows))
	for i, v := range rows {
		if len(v.Y) > 0 {
			f[i] = r.Scores(i, v.X)
		}
	}
	return f
}

// FoldEvidence is the evidence of a cross-validation on the training rows of a problem:
// every fold is fitted anew, and the predictions of all folds are measured together.
// HeldOut has the rows fold after fold.
type FoldEvidence struct {
	measure // with y fold after fold
	folds   []fold
}

type fold struct {
	train *TrainingSet
	rows  []data.Samples
	in    *span // whose coordinates these have, or nil
}

// narrowed returns the fold in the coordinates of the rows that it trains on, if that
// brings something: W need not leave them to be compared.
func (f fold) narrowed() fold {
	if f.in = f.train.narrowed(); f.in != nil {
		f.train = f.in.TrainingSet
		for i, s := range f.rows {
			if len(s.Y) > 0 {
				f.rows[i].X = f.in.coordinates(s.X)
			}
		}
	}
	return f
}

// Folds is the evidence of the parts of a problem's training rows.
func Folds(p *data.ProblemData, parts []data.Fold, o EvidenceOptions) (*FoldEvidence, error) {
	m, err := newMeasure(p, o)
	if err != nil {
		return nil, err
	}
	e := &FoldEvidence{measure: m}
	for _, part := range parts {
		f := fold{rows: make([]data.Samples, len(p.Tasks))}
		if len(part.Tasks) != len(p.Tasks) {
			return nil, fmt.Errorf("multitask: evidence: %w: a fold has %d tasks, the problem %d", ErrInvalidData, len(part.Tasks), len(p.Tasks))
		}
		if f.train, err = Training(part.ProblemData, ""); err != nil {
			return nil, err
		}
		for i, t := range part.Tasks {
			f.rows[i] = t.ValidationSet
			e.y[i] = append(e.y[i], t.ValidationSet.Y...)
		}
		e.folds = append(e.folds, f.narrowed())
	}
	if len(slices.Concat(e.y...)) == 0 {
		return nil, fmt.Errorf("multitask: evidence: %w: no fold has rows to validate", ErrInvalidData)
	}
	return e, e.check()
}

// Measure fits every fold with the covariance and the Lambda1 of a fit.
func (e *FoldEvidence) Measure(ctx context.Context, r *Result) (*HeldOut, error) {
	return e.MeasureEach(ctx, slices.Repeat([]*Result{r}, len(e.folds)))
}

// MeasureEach is Measure where every fold has a covariance of its own, found without
// the rows that it validates.
func (e *FoldEvidence) MeasureEach(ctx context.Context, of []*Result) (*HeldOut, error) {
	fits, scores := make([]*Result, len(e.folds)), make([][]float64, e.train.Tasks())
	for k, f := range e.folds {
		if err := e.train.check(of[k]); err != nil {
			return nil, err
		}
		opt, start, err := e.opt.Fit, *of[k], error(nil)
		if opt.Start = &start; f.in != nil {
			start.W = f.in.enter(start.W)
		}
		if fits[k], err = Fit(ctx, fixed(of[k].Omega), f.train, Params{Lambda1: of[k].Params.Lambda1}, opt); err != nil {
			return nil, err
		}
		for i, f := range predict(fits[k], f.rows) {
			scores[i] = append(scores[i], f...)
		}
	}
	r := of[0]
	h, derivatives := e.hear(r, scores)
	h.Fits = fits
	h.slope = func() (*mat.SymDense, error) {
		sum := mat.NewSymDense(len(scores), nil)
		next := make([]int, len(scores))
		for k, f := range e.folds {
			part := make([][]float64, len(scores))
			for i, v := range f.rows {
				n := len(v.Y) * e.train.classes
				part[i] = derivatives[i][next[i]:][:n]
				next[i] += n
			}
			slope, err := f.train.slope(fits[k], f.rows, part)
			if err != nil {
				return nil, err
			}
			sum.AddSym(sum, slope)
		}
		return sum, nil
	}
	return h, nil
}

// mostRows bounds the rows of Labelled's leave-one-out, times the classes where
// there are more than two, because it inverts a matrix of as many.
const mostRows = 400

// Labelled is the evidence of all labelled rows of a problem, those of training
// and of validation: leave-one-out, or folds where they are asked for, or five of
// them above 400 rows, where leaving out one row takes longer and a fifth of
// them costs little.
func Labelled(p *data.ProblemData, o EvidenceOptions) (Evidence, error) {
	all, err := p.Labelled()
	if err != nil {
		return nil, fmt.Errorf("multitask: evidence: %w", err)
	}
	rows := 0
	for _, t := range all.Tasks {
		rows += len(t.TrainSet.Y) * max(1, all.Several())
	}
	if rows <= mostRows && o.Folds == 0 && o.Together == nil {
		return LeaveOneOut(all, o)
	}
	parts, err := all.Folds(cmp.Or(o.Folds, 5), o.Seed, o.Together)
	if err != nil {
		return nil, fmt.Errorf("multitask: evidence: %w", err)
	}
	return Folds(all, parts, o)
}
