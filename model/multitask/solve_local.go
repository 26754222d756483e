package multitask

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"
)

// solveLocal fits a model that is not convex to a stationary point. Omega steps and Newton's
// method for the Omega that they give take turns. W is taken further along its way before
// the next turn, as Nesterov does, until the objective rises. The gap is that over W and b
// given Omega, which strong convexity proves, and that over Omega given W. An iteration is
// ten turns, about as long as one where the problem is convex.
func solveLocal(ctx context.Context, set *TrainingSet, model Model, p Params, opt Options) (*Result, error) {
	r := &Result{Model: model.Info().Name, Params: p, Objective: math.Inf(1), Status: IterationLimit}
	held := Options{Tolerance: 0.1, MaxIterations: 10, Workers: opt.Workers}
	at := opt.Start
	if at == nil {
		var err error
		if at, err = solveHeld(ctx, set, r.Model, Uniform(set.Tasks()), p, held); err != nil {
			return nil, err
		}
	}
	// Both steps leave half of the gap that is allowed.
	held.Tolerance, held.MaxIterations = opt.Tolerance/2, 2
	cov := &Covariance{Omega: at.Omega, A: at.A}
	best := at
	turns := 0.0 // turns since the objective rose
	for turn := 0; ; turn++ {
		if r.Iterations = turn / 10; r.Status == Stalled || r.Iterations == opt.MaxIterations {
			at = best
			turns = 0
			held.MaxIterations = 0
		}
		w := rowsOf(at.W)
		var err error
		cov, err = model.Step(gram(w, set.Tasks(), len(w)/set.Tasks()), set.features, p, Hint{From: cov, Enough: held.Tolerance * at.Objective})
		if err != nil {
			return nil, err
		}
		held.Start = at
		next, err := solveHeld(ctx, set, r.Model, cov.Omega, p, held)
		if err != nil {
			return nil, err
		}
		value := next.Objective + p.Lambda2*model.G(cov, set.features, p)
		if next.Iterations == 0 && (turns == 0 || value <= r.Objective) {
			r.W, r.B, r.Omega, r.A, r.set = next.W, next.B, next.Omega, cov.A, set
			step, err := certified(r.Model, cov.Gap, math.Abs(value))
			if err != nil {
				return nil, err
			}
			r.Objective, r.Gap = value, next.Gap+step
			if r.Gap <= opt.Tolerance*max(math.Abs(value), next.Objective) {
				r.Status = Converged
			}
			return r, nil
		}
		if !(value < r.Objective) {
			if turns == 0 { // only rounding errors are left
				r.Status = Stalled
			}
			at = best
			turns = 0
			continue
		}
		r.Objective = value
		var further mat.Dense
		further.Sub(next.W, best.W)
		further.Scale(turns/(turns+3), &further)
		further.Add(&further, next.W)
		at = &Result{W: &further, B: next.B, Objective: next.Objective}
		best = next
		turns = turns + 1
	}
}
