package report

import (
	"context"

	"l2mt/data/files"
	"l2mt/infer/solve"
	"l2mt/model/evidence"
)

// Rival is a model that a user would try instead: its key in By, and how much more the model loses
// than it.
type Rival struct {
	By    string          `json:"by"`
	Name  string          `json:"name"`
	Title string          `json:"title"`
	Loss  float64         `json:"loss"`
	Less  evidence.Paired `json:"difference"`
}

// Saves is how much less the model loses, in percent of the rival's loss, and its interval.
func (v Rival) Saves() [3]float64 {
	d := v.Less
	percents := [3]float64{d.Loss, float64(d.High), float64(d.Low)}
	for i := range percents {
		percents[i] = min(100, -100*percents[i]/v.Loss)
	}
	return percents
}

// Verdict compares the model and a rival on the rows held out.
type Verdict string

// Verdicts.
const (
	Wins  Verdict = "is better than"
	Ties  Verdict = "is as good as"
	Loses Verdict = "is worse than"
	Doubt Verdict = "has too few rows for a comparison with"
)

// asGood is a share of the rival's loss. A difference whose interval lies within it, or is
// negligible, counts as none.
const asGood = 0.05

// Verdict compares the model with the rival.
func (v Rival) Verdict() Verdict {
	limit := files.Float(max(asGood*v.Loss, evidence.Negligible))
	sign := v.Less.Sign()
	switch {
	case sign < 0:
		return Wins
	case sign > 0:
		return Loses
	case v.Less.Low > -limit && v.Less.High < limit:
		return Ties
	}
	return Doubt
}

// judgeRivals judges the rivals, while there is time.
func (r *Report) judgeRivals(ctx context.Context, b *solve.Bench, choice *solve.Choice) error {
	single, pooled := b.Rivals(choice)
	level := solve.Candidate{Structure: solve.Structure{View: solve.Level}}
	for _, v := range []struct {
		by, title string
		candidate solve.Candidate
	}{
		{ByMean, "the mean of each task", level},
		{BySTL, "every task on its own", single},
		{ByPooled, "one model for all, at own levels", pooled},
	} {
		h, err := b.Held(ctx, v.candidate)
		if r.late(b, err, "compare with "+v.title) {
			continue
		}
		if err != nil {
			return err
		}
		r.score(v.by, h)
		r.Rivals = append(r.Rivals, Rival{v.by, v.candidate.Name(), v.title,
			h.Loss, evidence.PairedLoss(choice.HeldOut, h)})
	}
	if choice.Shares() {
		r.Correlation = Correlation(r.Fit.Omega)
	}
	if single.Name() == r.Model {
		r.STL = r.Fit
		return nil
	}
	if b.Late() {
		return nil
	}
	best, err := b.Take(ctx, single)
	if err == nil {
		r.STL, err = b.Fit(ctx, best)
	}
	return err
}

// late says that there was no time for something, and notes it.
func (r *Report) late(b *solve.Bench, err error, what string) bool {
	late := b.CutOff(err)
	r.note(late, "--time-limit left no time to %s", what)
	return late
}
