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
func solveLocal(ctx context.Context, set *TrainingSet, model Model, p Params, opt Options) (r *Result, err error) {
	name := model.Info().Name
	status := IterationLimit
	objective := math.Inf(1)
	held := Options{
		Tolerance:     0.1,
		MaxIterations: 10,
		Workers:       opt.Workers,
	}
	start := opt.Start
	if start == nil {
		start, err = solveHeld(ctx, set, name, Uniform(set.Tasks()), p, held)
		if err != nil {
			return nil, err
		}
	}
	// Both steps leave half of the gap that is allowed.
	held.Tolerance = opt.Tolerance / 2
	held.MaxIterations = 2
	cov := &Covariance{
		Omega: start.Omega,
		A:     start.A,
	}
	best := start
	turns := 0.0 // turns since the objective rose
	for turn := 0; ; turn++ {
		iterations := turn / 10
		if status == Stalled || iterations == opt.MaxIterations {
			start = best
			turns = 0
			held.MaxIterations = 0
		}
		s := gram(rowsOf(start.W), set.Tasks())
		hint := Hint{
			From:   cov,
			Enough: held.Tolerance * start.Objective,
		}
		cov, err = model.Step(s, set.cols, p, hint)
		if err != nil {
			return nil, err
		}
		held.Start = start
		next, err := solveHeld(ctx, set, name, cov.Omega, p, held)
		if err != nil {
			return nil, err
		}
		value := next.Objective + p.Lambda2*model.G(cov, set.cols, p)
		if next.Iterations == 0 && (turns == 0 || value <= objective) {
			step, err := certified(name, cov.Gap, math.Abs(value))
			if err != nil {
				return nil, err
			}
			next.Gap += step
			if next.Gap <= opt.Tolerance*max(math.Abs(value), next.Objective) {
				status = Converged
			}
			next.A = cov.A
			next.a = nil
			next.Objective = value
			next.Iterations = iterations
			next.Status = status
			return next, nil
		}
		if !(value < objective) {
			if turns == 0 { // only rounding errors are left
				status = Stalled
			}
			start = best
			turns = 0
			continue
		}
		objective = value
		var further mat.Dense
		further.Sub(next.W, best.W)
		further.Scale(turns/(turns+3), &further)
		further.Add(&further, next.W)
		start = &Result{
			W:         &further,
			B:         next.B,
			Objective: next.Objective,
		}
		best = next
		turns++
	}
}
