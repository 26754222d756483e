package solve

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/table"
	"l2mt/model/evidence"
	"l2mt/model/mixed"
	"l2mt/model/multitask"
	"l2mt/model/saved"
)

// Fitted is a problem that is solved: the weighed candidates of a choice, fitted to all labelled
// rows.
type Fitted struct {
	*evidence.Tuned
	// Choice says which candidates they are, and what held-out rows say of them.
	Choice *Choice
	// Shares are the parts of the targets' variance, of the candidate of the largest weight.
	Shares []Share

	steps   []data.Step // that made the features of the fit
	problem *data.ProblemData
	shared  *multitask.Linear // what a new task has, of mixed models
	doubt   *saved.Doubt
}

// Share is a part of the variance of targets.
type Share struct {
	Name string `json:"name"`
	// Common is what tasks have in common of it, Own what is each task's own.
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
	begin := time.Now()
	f := &Fitted{Choice: c, problem: b.problem}
	fit := b.fitTuned
	if c.first().View != "" {
		fit = b.fitMixed
	}
	r, err := fit(ctx, f)
	if err == nil {
		f.Tuned, err = evidence.Report(r, f.problem, c.HeldOut)
	}
	if err != nil {
		return nil, fmt.Errorf("problem %q: %w", b.problem.Name, err)
	}
	for _, w := range c.Weighed {
		f.Seconds += w.Seconds
	}
	f.Seconds += time.Since(begin).Seconds()
	return f, nil
}

// fitTuned adds up fits of problem (1).
func (b *Bench) fitTuned(ctx context.Context, f *Fitted) (*multitask.Result, error) {
	return b.sum(f, func(j *Judged) (*multitask.Result, error) {
		s, err := b.in(j.Ridge)
		if err != nil {
			return nil, err
		}
		o := multitask.Options{Workers: b.options.Workers, Start: j.start}
		if o.Start == nil {
			o.Start = j.Fits[0]
		}
		r, err := multitask.Fit(ctx, j.subject.Model, s.tuning.Training(), j.Params, o)
		if err != nil {
			return nil, err
		}
		return r.Restored(s.whole.metric), nil
	})
}

// fitMixed adds up fits of structures.
func (b *Bench) fitMixed(ctx context.Context, f *Fitted) (*multitask.Result, error) {
	kernel := false
	for k, j := range f.Choice.parts {
		kernel = kernel || j.near() && f.Choice.Weighed[k].Weight > counts
	}
	seen, err := newFeatures(b.problem, kernel)
	if err != nil {
		return nil, err
	}
	f.steps = seen.steps
	f.problem = seen.ProblemData
	first := f.Choice.first()
	r, err := b.sum(f, func(j *Judged) (*multitask.Result, error) {
		p, err := seen.fit(ctx, j.Structure, b.workers())
		if err != nil {
			return nil, err
		}
		if j == first {
			f.Shares = shares(p.fits)
			f.doubt = seen.doubt(p)
		}
		return p.Result, nil
	})
	if err != nil {
		return nil, err
	}
	rows, cols := r.W.Dims()
	tasks := cols - 1
	shared := multitask.LinearOf(r.W, r.B, tasks)
	f.shared = &shared
	r.W = mat.DenseCopyOf(r.W.Slice(0, rows, 0, tasks))
	r.B = r.B[:len(r.B)-len(shared.B)]
	return r, nil
}

// sum adds up the fits of the first candidate, whatever its weight, and of the others that count.
func (b *Bench) sum(f *Fitted, fit func(j *Judged) (*multitask.Result, error)) (*multitask.Result, error) {
	c := f.Choice
	var targets [][]float64
	for _, t := range b.rows.Tasks {
		targets = append(targets, t.TrainSet.Y)
	}
	center := centers(b.rows, targets)
	var sum *multitask.Result
	left := 1.0
	for k, j := range c.parts {
		weight := c.Weighed[k].Weight
		if weight <= counts && j != c.first() {
			continue
		}
		r, err := fit(j)
		if err != nil {
			return nil, err
		}
		if sum == nil {
			sum = &multitask.Result{W: mat.NewDense(r.W.RawMatrix().Rows, r.W.RawMatrix().Cols, nil), B: make([]float64, len(r.B)), Omega: mat.NewSymDense(len(center), nil), Status: r.Status}
		}
		floats.AddScaled(sum.W.RawMatrix().Data, weight, r.W.RawMatrix().Data)
		floats.AddScaled(sum.B, weight, r.B)
		floats.AddScaled(sum.Omega.RawSymmetric().Data, max(weight, counts), multitask.Normalised(r.Omega).RawSymmetric().Data)
		left -= weight
		if j == c.first() {
			sum.Params = r.Params
		}
	}
	sum.Model = c.Name()
	classes := len(sum.B) / sum.W.RawMatrix().Cols
	for i := range sum.B {
		sum.B[i] += left * center[min(i/classes, len(center)-1)]
	}
	return sum, nil
}

// shares are the parts of the variance of targets, the mean over the classes.
func shares(fits []*mixed.Fit) (all []Share) {
	total := 0.0
	var sums []mixed.Component
	noise := 0.0
	for _, f := range fits {
		noise += f.Noise
		for k, c := range f.Components {
			if k >= len(sums) {
				sums = append(sums, mixed.Component{Name: c.Name})
			}
			if !c.Fixed {
				sums[k].Common += c.Common * c.Size
			}
			sums[k].Own += c.Own * c.Size
		}
	}
	for _, c := range sums {
		total += c.Common + c.Own
	}
	total += noise
	for _, c := range sums {
		all = append(all, Share{c.Name, c.Common / total, c.Own / total})
	}
	return append(all, Share{Name: "noise", Own: noise / total})
}

// Scores are the predictions of a task for rows with the features of the problem.
func (f *Fitted) Scores(task int, x data.Matrix) ([]float64, error) {
	for _, step := range f.steps {
		var err error
		if x, err = step.Apply(x); err != nil {
			return nil, err
		}
	}
	return f.Result.Scores(task, x), nil
}

// Saved is the fit as a model that predicts and can be kept, for features that the recipe
// makes. How sure it is of a prediction is what the rows held out say.
func (f *Fitted) Saved(recipe table.Recipe) (*saved.Fit, error) {
	recipe.Steps = append(slices.Clip(recipe.Steps), f.steps...)
	s, err := saved.New(f.Result, f.problem, recipe)
	if err == nil {
		s.Model = f.Choice.Name()
		s.Shared = f.shared
		s.Doubt = f.doubt
		f.HeldOut.Judge(s)
	}
	return s, err
}

// Landmarks is how many of the rows the fit compares with, which a saved model contains.
func (f *Fitted) Landmarks() (n int) {
	for _, step := range f.steps {
		for _, part := range step.Parts {
			n += len(part.Landmarks)
		}
	}
	return n
}
