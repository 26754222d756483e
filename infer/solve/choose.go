package solve

import (
	"context"
	"math"
	"os"
	"strconv"

	"l2mt/data"
	"l2mt/model/evidence"
)

// Parts say what Choose may not use. The zero value has all: the others are controls, which
// tell what a part brings.
type Parts struct {
	// NoNetwork begins with I/m where the network would say something.
	NoNetwork bool
	// NoMetric fits the features as they are, not in the tasks' common metric.
	NoMetric bool
	// NoDirections leaves out the directions that experience has taught, if there are any.
	NoDirections bool
}

// Tried is a candidate as Choose met it.
type Tried struct {
	Candidate
	// Loss is that of the rows held out, and Less how much more that is than of the
	// candidate that it was compared with.
	Loss float64
	Less evidence.Paired
	// Verdict says what became of it.
	Verdict string
	Seconds float64
}

// Choice is what Choose came to.
type Choice struct {
	*Judged
	// Tried are all candidates, in the order in which they were tried.
	Tried []Tried
}

func env(name string, or float64) float64 {
	if v, err := strconv.ParseFloat(os.Getenv(name), 64); err == nil {
		return v
	}
	return or
}

// First is the candidate that Choose begins with: what the network says, in the common metric,
// along the directions of the training tasks.
func (b *Bench) First(without Parts) Candidate {
	var c Candidate
	if b.finder != nil && !without.NoNetwork {
		c.Network = 1
	}
	if !without.NoMetric && data.HasMetric(b.rows) {
		c.Ridge = 1
	}
	c.Directed = !without.NoDirections && b.directions != nil
	return c
}

// Choose finds the candidate to fit with, stage by stage:
//
//  1. the features: along directions or not, then the ridge of the metric;
//  2. the covariance in that view: the network's, half of it, none, or shares of 11'/m;
//  3. the same with that of the fitted weights.
func (b *Bench) Choose(ctx context.Context, without Parts) (*Choice, error) {
	first := b.First(without)
	at, err := b.Judge(ctx, first)
	if err != nil {
		return nil, err
	}
	c := &choice{bench: b, Choice: &Choice{Judged: at}}
	if len(b.folds) == 0 {
		return c.Choice, nil
	}
	if first.Directed {
		margin := b.directions.Margin()
		if err := c.try(ctx, at.seen(View{Ridge: at.Ridge}), margin, margin); err != nil {
			return nil, err
		}
	}
	if first.Ridge > 0 && !(float64(c.Rows)*c.Error < env("L2MT_NE", 0) && b.rows.Kind() == data.Classification) {
		if err := c.ridges(ctx); err != nil {
			return nil, err
		}
	}
	if float64(c.Rows)*c.Error < env("L2MT_NE", 0) && b.rows.Kind() == data.Classification {
		return c.Choice, nil
	}
	margin := env("L2MT_CM", 0)
	for _, x := range []Mixture{{Network: 0.5}, {}, {Pooled: 0.5}, {Pooled: 0.8}, {Pooled: 0.95}, {Pooled: 1}} {
		if x == c.Mixture || x.Network > 0 && first.Network == 0 {
			continue
		}
		if x.Pooled > 0 && os.Getenv("L2MT_NOPOOL") != "" {
			continue
		}
		mg := margin
		if x.Pooled > 0 {
			mg = env("L2MT_PM", 1)
		}
		if err := c.try(ctx, Candidate{View: c.View, Mixture: x}, mg, 1); err != nil {
			return nil, err
		}
	}
	return c.Choice, c.try(ctx, c.weighed(), env("L2MT_WM", 0), 1)
}

// choice is one in the making.
type choice struct {
	bench *Bench
	*Choice
}

// try goes on with a candidate that is better by so many standard errors. One that is worse
// by so many with the Lambda1 of the best so far is not looked at any further.
func (c *choice) try(ctx context.Context, x Candidate, margin, hopeless float64) error {
	b := c.bench
	if b.judged[x.Name()] == nil {
		held, err := b.glance(ctx, x, c.Judged)
		if err != nil {
			return err
		}
		if more := evidence.PairedLoss(held, c.HeldOut); more.Loss > math.Max(hopeless, 0)*more.StandardError {
			c.Tried = append(c.Tried, Tried{Candidate: x, Loss: held.Loss, Less: more, Verdict: "worse"})
			return nil
		}
	}
	j, err := b.Judge(ctx, x)
	if err != nil {
		return err
	}
	less := evidence.PairedLoss(j.HeldOut, c.HeldOut)
	t := Tried{Candidate: x, Loss: j.Loss, Less: less, Seconds: j.Seconds}
	if less.Loss < 0 && less.Loss < -margin*less.StandardError {
		t.Verdict = "better"
		c.Judged = j
	}
	c.Tried = append(c.Tried, t)
	return nil
}

// ridges goes from the metric of ridge 1 to others, and to the features as they are, as far as
// each is better than the one before.
func (c *choice) ridges(ctx context.Context) error {
	margin := env("L2MT_RM", 1)
	for _, way := range [][]float64{{3, 10, 0}, {0.1}} {
		for _, ridge := range way {
			if err := c.try(ctx, c.seen(View{Ridge: ridge, Directed: c.Directed}), margin, 1); err != nil {
				return err
			}
			if c.Ridge != ridge {
				break
			}
		}
		if c.Ridge != 1 {
			break
		}
	}
	return nil
}
