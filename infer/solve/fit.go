package solve

import (
	"context"
	"slices"

	"l2mt/data"
	"l2mt/data/table"
	"l2mt/model/evidence"
	"l2mt/model/saved"
)

// Fitted is a problem that is solved: the fit of a candidate to all labelled rows.
type Fitted struct {
	*evidence.Tuned
	// Judged is the candidate, with what held-out rows say of it.
	Judged *Judged

	step    *data.Step // that made the features of the fit, or nil
	problem *data.ProblemData
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
	return b.Fit(ctx, c.Judged)
}

// Saved is the fit as a model that predicts and can be kept, for features that the recipe
// makes. How sure it is of a prediction is what the rows held out say.
func (f *Fitted) Saved(recipe table.Recipe) (*saved.Fit, error) {
	if f.step != nil {
		recipe.Steps = append(slices.Clip(recipe.Steps), *f.step)
	}
	s, err := saved.New(f.Result, f.problem, recipe)
	if err == nil {
		s.Model = f.Judged.Name()
		f.HeldOut.Judge(s)
	}
	return s, err
}

// Landmarks is how many of the rows the fit compares with, which a saved model contains.
func (f *Fitted) Landmarks() int {
	if f.step == nil {
		return 0
	}
	return len(f.step.Landmarks)
}
