package multitask

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

// Evidence is what rows that a fit has not seen say of its covariance and of
// its Lambda1. There are three kinds: Split, LeaveOneOut and Folds.
type Evidence interface {
	// Training returns the rows that the fits are to be on.
	Training() *Problem
	// Measure returns what is said of a fit on these rows. It must be one for a
	// given Omega, or the minimum of another model: then the Omega that the
	// model has found is held while rows are left out.
	Measure(ctx context.Context, r *Result) (*HeldOut, error)
}

// HeldOut is what rows that were held out say of a fit.
type HeldOut struct {
	// Scores are the predictions for the rows of every task that were held out.
	Scores [][]float64
	// Rows counts them.
	Rows int
	// Error is the mean error of the tasks that have such rows: the rate of
	// misclassified rows, or nMSE.
	Error float64
	// Soft is the same with logistic curves for the steps of misclassified
	// rows, and so smooth in Omega and Lambda1.
	Soft float64

	slope func() (*mat.SymDense, error)
	omega *mat.SymDense
}

// Slope returns the gradient of Soft with respect to Omega, W and b following
// it with Lambda1 held.
func (h *HeldOut) Slope() (*mat.SymDense, error) { return h.slope() }

// AlongLambda1 returns the derivative of Soft with respect to ln(Lambda1) from
// the slope: fits depend on Omega / Lambda1 alone.
func (h *HeldOut) AlongLambda1(slope *mat.SymDense) float64 { return -dot(slope, h.omega) }

// hear compares scores with the targets. It returns the derivatives of the soft
// error with respect to the scores too.
func hear(scores, y [][]float64, kind data.Kind) (h *HeldOut, derivatives [][]float64) {
	h = &HeldOut{Scores: scores}
	derivatives = make([][]float64, len(y))
	tasks := 0.0
	for i := range y {
		if len(y[i]) == 0 {
			continue
		}
		tasks++
		h.Rows += len(y[i])
		soft, d := softError(scores[i], y[i], kind)
		derivatives[i] = d
		h.Soft += soft
		if kind == data.Regression {
			h.Error += soft
		} else {
			h.Error += misclassified(scores[i], y[i])
		}
	}
	for _, d := range derivatives {
		scale(1/tasks, d)
	}
	h.Soft /= tasks
	h.Error /= tasks
	return h, derivatives
}

// checkHeld reports what keeps held-out targets from being compared with
// predictions.
func checkHeld(p *data.ProblemData, y [][]float64) error {
	for i, t := range p.Tasks {
		if t.Kind == data.Regression && len(y[i]) > 0 && slices.Min(y[i]) == slices.Max(y[i]) {
			return fmt.Errorf("multitask: evidence: task %q: %w: all held-out targets are equal, so that nMSE is undefined", t.Name, ErrInvalidData)
		}
	}
	return nil
}

// split is the evidence of validation rows.
type split struct {
	train *Problem
	kind  data.Kind
	rows  []data.Samples
	y     [][]float64
}

// Split is the evidence of the validation rows of a problem.
func Split(p *data.ProblemData) (Evidence, error) {
	train, err := Training(p, "")
	if err != nil {
		return nil, err
	}
	e := &split{train: train, kind: p.Tasks[0].Kind}
	for _, t := range p.Tasks {
		v := t.ValidationSet
		if len(v.Y) == 0 || v.X.Cols() != train.d {
			return nil, fmt.Errorf("multitask: evidence: task %q: %w: it needs validation rows with %d features", t.Name, ErrInvalidData, train.d)
		}
		e.rows, e.y = append(e.rows, v), append(e.y, v.Y)
	}
	return e, checkHeld(p, e.y)
}

func (e *split) Training() *Problem { return e.train }

func (e *split) Measure(_ context.Context, r *Result) (*HeldOut, error) {
	if err := e.train.check(r); err != nil {
		return nil, err
	}
	h, derivatives := hear(predict(r, e.rows), e.y, e.kind)
	h.omega = r.Omega
	h.slope = func() (*mat.SymDense, error) { return e.train.slope(r, e.rows, derivatives) }
	return h, nil
}

// predict returns the predictions for rows of every task.
func predict(r *Result, rows []data.Samples) [][]float64 {
	f, w := make([][]float64, len(rows)), rowsOf(r.W)
	d, _ := r.W.Dims()
	for i, v := range rows {
		f[i] = make([]float64, len(v.Y))
		if len(v.Y) > 0 {
			v.X.Mul(f[i], w[i*d:][:d], 1)
		}
		floats.AddConst(r.B[i], f[i])
	}
	return f
}

// folds is the evidence of a cross-validation.
type folds struct {
	train *Problem
	kind  data.Kind
	y     [][]float64 // of the rows held out, fold after fold
	folds []fold
	opt   Options
}

type fold struct {
	train *Problem
	rows  []data.Samples
}

// Folds is the evidence of a cross-validation on the training rows of a problem:
// every fold is fitted anew, with the given options, and the predictions of
// all folds are measured together. HeldOut has the rows fold after fold.
func Folds(p *data.ProblemData, parts []data.Fold, opt Options) (Evidence, error) {
	train, err := Training(p, "")
	if err != nil {
		return nil, err
	}
	e := &folds{train: train, kind: p.Tasks[0].Kind, y: make([][]float64, len(p.Tasks)), opt: opt}
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
		e.folds = append(e.folds, f)
	}
	if len(slices.Concat(e.y...)) == 0 {
		return nil, fmt.Errorf("multitask: evidence: %w: no fold has rows to validate", ErrInvalidData)
	}
	return e, checkHeld(p, e.y)
}

func (e *folds) Training() *Problem { return e.train }

func (e *folds) Measure(ctx context.Context, r *Result) (*HeldOut, error) {
	if err := e.train.check(r); err != nil {
		return nil, err
	}
	fits, scores := make([]*Result, len(e.folds)), make([][]float64, len(e.train.tasks))
	opt := e.opt
	opt.Start = r
	for k, f := range e.folds {
		var err error
		if fits[k], err = Fit(ctx, fixed{r.Omega}, f.train, Params{Lambda1: r.Params.Lambda1}, opt); err != nil {
			return nil, err
		}
		for i, f := range predict(fits[k], f.rows) {
			scores[i] = append(scores[i], f...)
		}
	}
	h, derivatives := hear(scores, e.y, e.kind)
	h.omega = r.Omega
	h.slope = func() (*mat.SymDense, error) {
		sum := mat.NewSymDense(len(scores), nil)
		next := make([]int, len(scores))
		for k, f := range e.folds {
			part := make([][]float64, len(scores))
			for i, v := range f.rows {
				part[i] = derivatives[i][next[i]:][:len(v.Y)]
				next[i] += len(v.Y)
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

// mostRows bounds the rows of Labelled's leave-one-out, which inverts a matrix of
// as many rows.
const mostRows = 400

// Labelled is the evidence of all labelled rows of a problem, those of training
// and of validation: leave-one-out, or five folds above 400 rows, where
// leaving out one row takes longer and a fifth of them costs little.
func Labelled(p *data.ProblemData, seed uint64) (Evidence, error) {
	all, err := p.Labelled()
	if err != nil {
		return nil, fmt.Errorf("multitask: evidence: %w", err)
	}
	rows := 0
	for _, t := range all.Tasks {
		rows += len(t.TrainSet.Y)
	}
	if rows <= mostRows {
		return LeaveOneOut(all)
	}
	parts, err := all.Folds(5, seed, nil)
	if err != nil {
		return nil, fmt.Errorf("multitask: evidence: %w", err)
	}
	return Folds(all, parts, Options{Tolerance: 1e-6})
}
