//go:build battery

package multitask

import (
	"context"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"l2mt/data"

	"gonum.org/v1/gonum/floats"
	"l2mt/data/datatest"
)

// TestBatteryOfFits fits each of the ten models to 250 random problems, with L2MT_LONG in the
// environment to 1,000 in two minutes, among them one task,
// few rows, more tasks than features, repeated tasks and zero features, which make W'W
// singular, and tiny and huge scales of features, targets and Lambda1. Every fit ends with a
// finite objective and either within its tolerance or named as stopped; where the problem is
// convex hardly any is, and a warm start ends where a cold one does.
func TestBatteryOfFits(t *testing.T) {
	const tolerance = 1e-6
	problems := 250
	if os.Getenv("L2MT_LONG") != "" {
		problems = 1000
	}
	for _, model := range Baselines() {
		t.Run(model.Info().Name, func(t *testing.T) {
			t.Parallel()
			stopped, worst, begin := 0, 0.0, time.Now()
			for seed := range uint64(problems) {
				random := data.Stream(seed, "battery of fits")
				s := shape{m: 1 + random.IntN(6), d: 1 + random.IntN(8), n: 3 + random.IntN(12), loss: Square, sparse: random.IntN(2) == 0}
				if random.IntN(2) == 0 {
					s.loss = Logistic
				}
				tasks := samples(s, seed)
				if random.IntN(4) == 0 {
					tasks[s.m-1] = tasks[0]
				}
				size := float32(math.Pow(10, []float64{0, 0, 0, -4, 4}[random.IntN(5)]))
				far := math.Pow(10, []float64{0, 0, -5, 5}[random.IntN(4)])
				for i := range tasks {
					tasks[i] = scaledBy(tasks[i], size)
					tasks[i].Y = slices.Clone(tasks[i].Y)
					if s.loss == Square {
						floats.Scale(far, tasks[i].Y)
					}
				}
				problem := mustProblem(t, s.loss, tasks)
				p := Params{Lambda1: math.Pow(10, 5*random.Float64()-4) * float64(size) * float64(size)}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				cold, err := Fit(ctx, model, problem, p, Options{Tolerance: tolerance})
				cancel()
				if err != nil {
					t.Errorf("seed %d, %v, Lambda1 = %g: %v", seed, s, p.Lambda1, err)
					continue
				}
				gap := cold.Gap / math.Abs(cold.Objective)
				datatest.Holds(t, !math.IsNaN(cold.Objective) && !math.IsInf(cold.Objective, 0) && cold.Gap >= 0 && !math.IsNaN(cold.Gap),
					"seed %d, %v, Lambda1 = %g: objective %v, gap %v", seed, s, p.Lambda1, cold.Objective, cold.Gap)
				if cold.Status != Converged {
					stopped, worst = stopped+1, max(worst, gap)
					continue
				}
				if !convex(model, p) {
					continue
				}
				start := mustFit(t, registry["stl"], problem, Params{Lambda1: p.Lambda1 * 10}, Options{Tolerance: 1e-2})
				warm := mustFit(t, model, problem, p, Options{Tolerance: tolerance, Start: start})
				if slack := 1e-11 * math.Abs(cold.Objective); warm.Objective-warm.Gap > cold.Objective+slack || cold.Objective-cold.Gap > warm.Objective+slack {
					t.Errorf("seed %d, %v, Lambda1 = %g: %v with gap %g from zero, %v with gap %g from elsewhere", seed, s, p.Lambda1, cold.Objective, cold.Gap, warm.Objective, warm.Gap)
				}
			}
			t.Logf("%d of %d stopped, the largest relative gap of these %.1e; %.1f s", stopped, problems, worst, time.Since(begin).Seconds())
			datatest.Holds(t, !convex(model, Params{Lambda1: 1}) || stopped <= problems/100,
				"%d of %d fits stopped short of %g", stopped, problems, tolerance)
		})
	}
}
