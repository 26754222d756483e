package multitask

import (
	"math"
	"testing"
)

// TestEvidenceChoosesSmoothly: the value chosen has the least mean of its
// neighbours' soft errors, computed here from the evidence itself, lies between
// the values of the grid, and hardly moves with the grid.
func TestEvidenceChoosesSmoothly(t *testing.T) {
	p := problemData(shape{3, 20, 8, Logistic, false}, 7)
	e, err := Labelled(p, EvidenceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	omega := identity(3, 1.0/3)
	choose := func(shift float64) *Tuned {
		t.Helper()
		grid := LambdaGrid(e.Training())
		for i := range grid {
			grid[i] *= shift
		}
		r, err := Refit(t.Context(), omega, p, TuneOptions{Evidence: e, Lambda1: grid})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	a := choose(1)
	var grid, soft []float64
	for _, trial := range a.Trials {
		grid = append(grid, trial.Params.Lambda1)
		soft = append(soft, mustMeasure(t, e, omega, trial.Params.Lambda1).Soft)
	}
	best, at := math.Inf(1), 0
	for i := range grid {
		sum, total := 0.0, 0.0
		for j := range grid {
			// One step of the grid is a factor of sqrt(10).
			w := math.Exp(-math.Pow(2*math.Log10(grid[i]/grid[j]), 2) / 2)
			sum, total = sum+w*soft[j], total+w
		}
		near(t, "smoothed soft error", a.Trials[i].Validation, sum/total, 1e-3)
		if sum/total < best {
			best, at = sum/total, i
		}
	}
	chosen := a.Params.Lambda1
	if r := math.Abs(math.Log10(chosen / grid[at])); r > 0.25+1e-9 || r == 0 {
		t.Errorf("Lambda1 = %g, but the least mean is at %g", chosen, grid[at])
	}
	if a.Result.Params.Lambda1 != chosen || a.HeldOut.Soft != mustMeasureOf(t, e, a.Result).Soft {
		t.Error("the fit is not the one measured")
	}
	near(t, "validation error", a.Validation.Mean, a.HeldOut.Error, 0)
	other := choose(math.Pow(10, 0.25)).Params.Lambda1
	if r := math.Abs(math.Log10(other / chosen)); r > 0.25 {
		t.Errorf("Lambda1 = %g on one grid and %g on the one half a step further", chosen, other)
	}
}

func mustMeasureOf(t *testing.T, e Evidence, r *Result) *HeldOut {
	t.Helper()
	h, err := e.Measure(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return h
}
