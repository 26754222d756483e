package multitask

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"
)

// solveLocal fits a model that is not convex to a stationary point. Omega steps and Newton's
// method for the Omega that they give take turns. W is taken further along its way before
// the next turn, as Nesterov does, until the objective rises. The gap over W and b given
// Omega, which strong convexity proves, and the gap over Omega given W add up. An iteration
// is ten turns, about as long as one where the problem is convex.
func solveLocal(ctx context.Context, set *TrainingSet, model Model, p Params, opt Options) (*Result, error) {
	r := &Result{Model: model.Info().Name, Params: p, Status: IterationLimit}
	r.Objective = math.Inf(1)
	held := Options{Tolerance: 0.1, MaxIterations: 10, Workers: opt.Workers}
	start := opt.Start
	if start == nil {
		var err error
		start, err = solveHeld(ctx, set, r.Model, Uniform(set.Tasks()), p, held)
		if err != nil {
			return nil, err
		}
	}
	// Both steps leave half of the gap that is allowed.
	held.Tolerance = opt.Tolerance / 2
	held.MaxIterations = 2
	cov := &Covariance{Omega: start.Omega, A: start.A}
	best := start
	turns := 0.0 // turns since the objective rose
	for turn := 0; ; turn++ {
		r.Iterations = turn / 10
		if r.Status == Stalled || r.Iterations == opt.MaxIterations {
			start = best
			turns = 0
			held.MaxIterations = 0
		}
		s := gram(rowsOf(start.W), set.Tasks())
		hint := Hint{From: cov, Enough: held.Tolerance * start.Objective}
		var err error
		cov, err = model.Step(s, set.features, p, hint)
		if err != nil {
			return nil, err
		}
		held.Start = start
		next, err := solveHeld(ctx, set, r.Model, cov.Omega, p, held)
		if err != nil {
			return nil, err
		}
		value := next.Objective + p.Lambda2*model.G(cov, set.features, p)
		if next.Iterations == 0 && (turns == 0 || value <= r.Objective) {
			r.W = next.W
			r.B = next.B
			r.Omega = next.Omega
			r.A = cov.A
			r.set = set
			step, err := certified(r.Model, cov.Gap, math.Abs(value))
			if err != nil {
				return nil, err
			}
			r.Objective = value
			r.Gap = next.Gap + step
			if r.Gap <= opt.Tolerance*max(math.Abs(value), next.Objective) {
				r.Status = Converged
			}
			return r, nil
		}
		if !(value < r.Objective) {
			if turns == 0 { // only rounding errors are left
				r.Status = Stalled
			}
			start = best
			turns = 0
			continue
		}
		r.Objective = value
		var further mat.Dense
		further.Sub(next.W, best.W)
		further.Scale(turns/(turns+3), &further)
		further.Add(&further, next.W)
		start = &Result{W: &further, B: next.B, Objective: next.Objective}
		best = next
		turns = turns + 1
	}
}
