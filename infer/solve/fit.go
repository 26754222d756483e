package solve

import (
	"context"

	"l2mt/data"
	"l2mt/data/table"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
)

// Fitted is a problem that is solved: what Choose came to, and the fit with it to all
// labelled rows.
type Fitted struct {
	*evidence.Tuned
	Choice *Choice

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
	t, err := b.Fit(ctx, c.Judged)
	return &Fitted{t, c, b.problem}, err
}

// Saved is the fit as a model that predicts and can be kept, for features that the recipe
// makes. How sure it is of a prediction is what the rows held out say.
func (f *Fitted) Saved(recipe table.Recipe) (*multitask.Saved, error) {
	s, err := multitask.NewSaved(f.Result, f.problem, recipe)
	if err == nil {
		s.Model = f.Choice.Name()
		f.HeldOut.Judge(s)
	}
	return s, err
}

// Scores are those of every task on the rows held out.
func (f *Fitted) Scores() []evidence.Score { return f.HeldOut.ScoresOf(f.problem) }
