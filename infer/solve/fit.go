package solve

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/table"
	"l2mt/data/view"
	"l2mt/model/evidence"
	"l2mt/model/mixed"
	"l2mt/model/multitask"
	"l2mt/model/saved"
)

// Fitted is a problem that is solved: the weighed candidates of a choice, fitted to all labelled
// rows.
type Fitted struct {
	*evidence.Tuned
	saved.Meaning
	// Choice has the candidates, and their evidence.
	Choice *Choice
	// Shares are the parts of the targets' variance, of the candidate of the largest weight.
	Shares []Share

	// Scale is how the targets are fitted: Log, Count or Huber, or empty as they are.
	Scale string

	steps   view.Steps // that made the features of the fit
	problem *data.ProblemData
}

// Share is a part of the variance of targets.
type Share struct {
	Name string `json:"name"`
	// Common is the part that tasks have in common, Own the part of each task alone.
	Common float64 `json:"common"`
	Own    float64 `json:"own"`
}

// Fit solves a problem: it is NewBench, Choose with all parts, and Bench.Fit.
func Fit(ctx context.Context, f *Finder, p *data.ProblemData, o Options) (*Fitted, error) {
	b, err := NewBench(f, p, o)
	if err != nil {
		return nil, err
	}
	c, err := b.Choose(ctx, Parts{})
	if err != nil {
		return nil, err
	}
	return b.Fit(ctx, c)
}

// Fit fits the candidates of a choice to all labelled rows, and adds them up by their weights.
func (b *Bench) Fit(ctx context.Context, c *Choice) (*Fitted, error) {
	f := &Fitted{
		Choice:  c,
		problem: b.problem,
		Scale:   b.name,
	}
	f.Log = b.target != nil || b.counts > 0
	f.Largest = b.largest
	f.Counts = b.counts
	r, err := b.sum(ctx, f)
	if err == nil {
		f.Tuned, err = evidence.Report(r, f.problem, c.HeldOut, f.Expect)
	}
	if err != nil {
		return nil, fmt.Errorf("problem %q: %w", b.problem.Name, err)
	}
	return f, nil
}

// tuned fits a candidate of problem (1) to the features as they are.
func (b *Bench) tuned(ctx context.Context, j *Judged) (*multitask.Result, error) {
	s, err := b.in(place{j.Learned, j.Ridge})
	if err != nil {
		return nil, err
	}
	o := multitask.Options{
		Workers: b.options.Workers,
		Start:   j.start,
	}
	r, err := multitask.Fit(ctx, j.subject.Model,
		s.tuning.Training(), j.Params, o)
	if err != nil {
		return nil, err
	}
	r = r.Restored(s.parts[len(b.folds)].metric)
	if j.Learned {
		r = r.Restored(b.finder.network.Sigma.Metric)
	}
	return r, nil
}

// sum fits the candidates that count, and adds them up. Where none predicts better than the mean
// of the targets, the sum is that mean. Where structures of the mixed model are among them it is
// for the features that their steps make.
func (b *Bench) sum(ctx context.Context, f *Fitted) (*multitask.Result, error) {
	c := f.Choice
	view, err := b.seen(f)
	if err != nil {
		return nil, err
	}
	sum := &multitask.Result{Model: c.Name()}
	sum.Omega = mat.NewSymDense(len(b.rows.Tasks), nil)
	left := 1.0
	for _, w := range c.fitted() {
		j := w.judged
		var r *multitask.Result
		if j.View == "" {
			r, err = b.tuned(ctx, j)
			if err == nil && view != nil {
				r = view.embed(r)
			}
		} else {
			r, err = f.fitted(ctx, view, j, b.options.Workers)
		}
		if err != nil {
			return nil, err
		}
		if sum.W == nil {
			rows, cols := r.W.Dims()
			sum.W = mat.NewDense(rows, cols, nil)
			sum.B = make([]float64, len(r.B))
		}
		floats.AddScaled(sum.W.RawMatrix().Data,
			w.Weight, r.W.RawMatrix().Data)
		positive := max(w.Weight, math.SmallestNonzeroFloat64) // foreign classes stay at -Inf
		floats.AddScaled(sum.B, positive, r.B)
		omega := multitask.Normalised(r.Omega).RawSymmetric().Data
		floats.AddScaled(sum.Omega.RawSymmetric().Data,
			max(w.Weight, lowest), omega)
		left -= w.Weight
		if j == c.First() {
			sum.Params = r.Params
		}
	}
	b.level(sum, left)
	b.remember(c, view, sum)
	if view != nil {
		f.split(sum)
	}
	return sum, nil
}

// seen makes the features of the mixed models, if any counts.
func (b *Bench) seen(f *Fitted) (*features, error) {
	views := []string{Curves} // older models have them in any case
	for _, w := range f.Choice.fitted() {
		if w.View != "" {
			views = append(views, w.View)
		}
	}
	if len(views) == 1 {
		return nil, nil
	}
	view, err := b.features(data.Fold{ProblemData: b.problem}, views...)
	if err == nil {
		f.steps = view.steps
		f.problem = view.ProblemData
	}
	return view, err
}

// fitted fits a structure. The structure that counts most gives the shares of the variance and the
// doubt of predictions.
func (f *Fitted) fitted(
	ctx context.Context, view *features, j *Judged, workers int,
) (*multitask.Result, error) {
	p, err := view.fit(ctx, j.Structure, workers, nil)
	if err != nil {
		return nil, err
	}
	p.Omega = view.omega(p.fits)
	if j == f.Choice.surest() {
		unit := 1.0
		if view.counts > 0 { // the variance of a logarithm, of counts of the mean size
			unit = view.counts / math.Exp(view.center[0])
		} else if view.Kind() == data.Classification {
			unit = logisticNoise
		}
		f.Shares = shares(p.fits, unit)
		f.Doubt, f.ClassDoubts = view.doubts(p)
	}
	return p.Result, nil
}

// level adds the share of the targets' mean that the weights have left.
func (b *Bench) level(sum *multitask.Result, left float64) {
	center := b.unitsOf(labels(b.rows)).center
	classes := len(sum.B) / sum.W.RawMatrix().Cols
	for i := range sum.B {
		sum.B[i] += left * center[min(i/classes, len(center)-1)]
	}
}

// split takes the column of a new task off.
func (f *Fitted) split(sum *multitask.Result) {
	rows, cols := sum.W.Dims()
	tasks := cols - 1
	shared := multitask.LinearOf(sum.W, sum.B, tasks)
	f.Shared = &shared
	sum.W = mat.DenseCopyOf(sum.W.Slice(0, rows, 0, tasks))
	sum.B = sum.B[:len(sum.B)-len(shared.B)]
}

// logisticNoise is the variance of the logistic distribution: a score with such noise is positive
// as often as the class is.
const logisticNoise = math.Pi * math.Pi / 3

// shares are the parts of the variance of targets or, of classes and counts, of scores, the mean
// over the classes. The noise is in such a unit.
func shares(fits []*mixed.Fit, unit float64) (parts []Share) {
	noise := Share{Name: "noise"}
	for _, f := range fits {
		noise.Own += f.Noise * unit
		for k, c := range f.Components {
			if k >= len(parts) {
				parts = append(parts, Share{Name: c.Name})
			}
			if !c.Fixed {
				parts[k].Common += f.Explained[k]
			}
			parts[k].Own += c.Own * c.Size
		}
	}
	parts = append(parts, noise)
	total := 0.0
	for _, s := range parts {
		total += s.Common + s.Own
	}
	for i := range parts {
		parts[i].Common /= total
		parts[i].Own /= total
	}
	return parts
}

// Scores are the predictions of a task for rows with the features of the problem.
func (f *Fitted) Scores(task int, x data.Matrix) ([]float64, error) {
	x, err := f.steps.Apply(x)
	if err != nil {
		return nil, err
	}
	return f.Result.Scores(task, x), nil
}

// Saved is the fit as a model that predicts and can be kept, for features that the recipe makes.
// The rows held out tell how sure its predictions are.
func (f *Fitted) Saved(recipe table.Recipe) (*saved.Fit, error) {
	recipe.Steps = append(slices.Clip(recipe.Steps), f.steps...)
	s, err := saved.New(f.Result, f.problem, recipe)
	if err == nil {
		s.Model = f.Choice.Name()
		s.Meaning = f.Meaning
		f.HeldOut.Judge(s)
	}
	return s, err
}

// Landmarks is how many of the rows the fit compares with, which a saved model contains.
func (f *Fitted) Landmarks() int {
	return f.steps.Landmarks()
}
