package solve

import (
	"context"
	"math"
	"slices"

	"l2mt/data"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
)

// Parts say what Choose may not use. The zero value has all.
type Parts struct {
	// NoNetwork is the control that tells what the network brings: it begins with I/m.
	NoNetwork bool
	// View is the one of Views to take, whatever rows say; empty chooses.
	View string
}

// Tried is a candidate as Choose met it.
type Tried struct {
	Candidate
	Called string `json:"name"`  // the name of the candidate
	Titled string `json:"title"` // and its title
	// Loss is that of the rows held out, and More is compared with the best candidate before.
	Loss float64         `json:"loss"`
	More evidence.Paired `json:"difference"`
	// Verdict says what became of it, and Seconds how long it took.
	Verdict string  `json:"verdict"`
	Seconds float64 `json:"seconds,omitempty"`
}

// Verdicts.
const (
	Begun   = "begun with"
	Taken   = "taken"
	Worse   = "worse"
	Unclear = "not clearly better"
	Simpler = "taken, as rows could tell" // single-task learning, in place of what is not better
)

// Choice is what Choose came to.
type Choice struct {
	*Judged
	// Tried are all candidates, in the order in which they were tried.
	Tried []Tried

	bench *Bench
}

// Margins, in standard errors of what two candidates lose on the rows held out.
const (
	// marginOne is by how many another ridge and the weights' covariance have to be better, and
	// marginMany the covariances, intercepts and views, of which there are many.
	marginOne, marginMany = 1, 2
	// reject is by how many a candidate may be worse with the Lambda1 of the best before
	// it, to be given one of its own.
	reject = 1
	// worth is how much more of the loss of what is simpler the last has to save than
	// marginMany standard errors: what saves less is not worth its parts. It is less by a
	// standard error, where experience is of such problems, for every credit that the standard
	// error is of the loss.
	worth, credit = 0.01, 0.025
	// rounding is the difference, relative to the loss, that says nothing.
	rounding = 1e-9
	// fewestErrors is how many misclassified rows can tell candidates apart.
	fewestErrors = 3
)

// First is the candidate of experience: what the network says, in the common metric.
func (b *Bench) First(without Parts) Candidate {
	var c Candidate
	if b.finder != nil && !without.NoNetwork {
		c.Network = 1
	}
	if data.HasMetric(b.rows) {
		c.Ridge = 1
	}
	if len(b.folds) == 0 && ViewOf(without.View).Bent != "" {
		c.View = ViewOf(without.View)
	}
	return c
}

// Choose finds the candidate to fit with, stage by stage. Experience counts most where few
// rows can tell, so it comes first:
//
//  1. the candidate of First, of a regression with I/m: the network that is shipped has seen
//     classes alone;
//  2. the ridge of the metric: from 1 to 3, or to 0.1;
//  3. intercepts drawn together, by the number of rows that loses least;
//  4. the covariance with that: the network's, half of it, none, or 80 % of 11'/m;
//  5. columns that bend, and with them 2 to 4 again;
//  6. the same with the covariance of the fitted weights;
//  7. single-task learning, if that is not clearly better than the mean of a task and than
//     single-task learning.
//
// A candidate is taken that is better than the best before it by a standard error, and
// another covariance, intercepts that are drawn or columns that bend by two. Few misclassified
// rows tell nothing.
func (b *Bench) Choose(ctx context.Context, without Parts) (*Choice, error) {
	first := b.First(without)
	begin := first
	if b.regression() {
		begin.Network = 0
	}
	at, err := b.Judge(ctx, begin)
	if err != nil {
		return nil, err
	}
	c := &Choice{bench: b}
	c.note(at, Begun)
	if len(b.folds) == 0 || !b.regression() && c.Error*float64(c.Rows) < fewestErrors && without.View == "" {
		return c, nil
	}
	if err := c.within(ctx, first); err != nil {
		return nil, err
	}
	if err := c.bend(ctx, first, without.View); err != nil {
		return nil, err
	}
	if c.Bent != "" {
		if err := c.within(ctx, first); err != nil {
			return nil, err
		}
	}
	if err := c.try(ctx, c.weighed(), marginOne); err != nil {
		return nil, err
	}
	return c, c.simplest(ctx, without.View)
}

// within finds the metric, the intercepts and the covariance within a view.
func (c *Choice) within(ctx context.Context, first Candidate) error {
	if err := c.ridges(ctx, first); err != nil {
		return err
	}
	if err := c.draw(ctx); err != nil {
		return err
	}
	for _, x := range []Mixture{{Network: 1}, {Network: 0.5}, {}, {Pooled: 0.8}} {
		if x.Network > 0 && first.Network == 0 {
			continue
		}
		if err := c.try(ctx, Candidate{View: c.View, Mixture: x, Drawn: c.Drawn}, marginMany); err != nil {
			return err
		}
	}
	return nil
}

// note writes down what becomes of a candidate beside the best before it, and goes on with the
// one that is taken.
func (c *Choice) note(j *Judged, verdict string) {
	if c.Judged == nil {
		c.Judged = j
	}
	c.Tried = append(c.Tried, Tried{j.Candidate, j.Name(), j.Title(), j.Loss, evidence.PairedLoss(j.HeldOut, c.HeldOut), verdict, j.Seconds})
	if verdict == Taken || verdict == Simpler {
		c.Judged = j
	}
}

// try goes on with a candidate that is better by so many standard errors. One that is
// worse in another view is not looked at any further; another covariance may want
// another Lambda1.
func (c *Choice) try(ctx context.Context, x Candidate, margin float64) error {
	b := c.bench
	x = b.balanced(x)
	if slices.ContainsFunc(c.Tried, func(t Tried) bool { return t.Called == x.Name() }) {
		return nil
	}
	if x.Mixture == c.Mixture {
		held, err := b.quick(ctx, x, c.Params, c.HeldOut)
		if err != nil {
			return err
		}
		if more := evidence.PairedLoss(held, c.HeldOut); more.Loss > reject*more.StandardError {
			c.note(&Judged{Candidate: x, Chosen: evidence.Chosen{HeldOut: held}}, Worse)
			return nil
		}
	}
	j, err := b.Judge(ctx, x)
	if err == nil {
		c.compare(j, margin)
	}
	return err
}

// compare takes a candidate that loses less by so many standard errors.
func (c *Choice) compare(j *Judged, margin float64) {
	switch less := evidence.PairedLoss(j.HeldOut, c.HeldOut); {
	case less.Loss < -margin*less.StandardError-rounding*j.Loss:
		c.note(j, Taken)
	case less.Loss > 0:
		c.note(j, Worse)
	default:
		c.note(j, Unclear)
	}
}

// ridges goes from the metric of ridge 1 to 3 or to 0.1, where that is better.
func (c *Choice) ridges(ctx context.Context, first Candidate) error {
	if first.Ridge == 0 || c.kernel() {
		return nil
	}
	for _, ridge := range []float64{1, 3, 0.1} {
		x := c.Candidate
		x.Ridge = ridge
		if err := c.try(ctx, x, marginOne); err != nil {
			return err
		}
		if c.Ridge != 1 {
			break
		}
	}
	return nil
}

// bend looks at all ways in which columns may bend, with the first folds, and goes on with
// the one that loses least there if all folds say so, or if it was asked for. A covariance
// that suits straight columns need not suit others: curves and the best kernel are looked at
// with I/m too.
func (c *Choice) bend(ctx context.Context, first Candidate, asked string) error {
	views, err := c.bench.bent(first.Ridge, asked)
	if err != nil || len(views) == 0 {
		return err
	}
	var all, alone []Candidate
	for _, v := range views {
		x := c.Candidate
		x.View = v
		all = append(all, x)
	}
	best, least, err := c.bench.screen(ctx, all)
	if err != nil {
		return err
	}
	for _, x := range all {
		if c.Mixture != (Mixture{}) && (!x.kernel() || x.View == best.View) {
			alone = append(alone, Candidate{View: x.View, Drawn: x.Drawn})
		}
	}
	if len(alone) > 0 {
		if x, loss, err := c.bench.screen(ctx, alone); err != nil {
			return err
		} else if loss < least {
			best = x
		}
	}
	j, err := c.bench.Judge(ctx, best)
	switch {
	case err != nil:
		return err
	case asked != "":
		c.note(j, Taken)
	default:
		c.compare(j, marginMany)
	}
	return nil
}

// draw draws the intercepts together, by as many rows as lose least with the Lambda1 that
// there is.
func (c *Choice) draw(ctx context.Context) error {
	x, least := c.Candidate, math.Inf(1)
	for _, drawn := range []float64{3, 10, 30, 100, multitask.OneIntercept} {
		next := c.Candidate
		next.Drawn = drawn
		held, err := c.bench.quick(ctx, next, c.Params, c.HeldOut)
		if err != nil {
			return err
		}
		if held.Loss < least {
			x, least = next, held.Loss
		}
	}
	return c.try(ctx, x, marginMany)
}

// simplest goes back to single-task learning, with these intercepts or with intercepts of
// their own, if the last candidate is not clearly better than that, or than the mean of a
// task: to straight columns or, where the last is better than these, to columns that bend as
// its do.
func (c *Choice) simplest(ctx context.Context, asked string) error {
	b, drawn, bent := c.bench, c.Drawn, View{Bent: c.Bent, Width: c.Width} // in no metric
	mean, err := b.Mean(ctx)
	if err != nil {
		return err
	}
	noise, views := !c.clear(mean, View{}), []View{bent}
	if bent.Bent != "" && asked == "" {
		views = []View{{}, bent}
	}
	for _, view := range views {
		if view.Bent != "" && c.Bent == "" {
			break
		}
		for _, x := range []Candidate{{View: view, Drawn: drawn}, {View: view}} {
			stl, err := b.Judge(ctx, x)
			if err != nil {
				return err
			}
			if stl.Candidate != c.Candidate && (noise || !c.clear(stl.HeldOut, view)) {
				c.note(stl, Simpler)
				noise = false
			}
		}
	}
	return nil
}

// clear says that the last candidate is clearly better than a simpler one in a view.
// Experience is of the covariances of classes: the less rows can tell, the more it counts.
func (c *Choice) clear(than *evidence.HeldOut, view View) bool {
	less := evidence.PairedLoss(c.HeldOut, than)
	by := marginMany*less.StandardError + worth*than.Loss
	if !c.bench.regression() && view.Bent == c.Bent {
		by -= less.StandardError * less.StandardError / (credit * than.Loss)
	}
	return less.Loss < -by
}
