package solve

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

// Refinement takes the best of all candidates, which lowers the soft error of
// most problems, and every covariance on the way is one.
func TestRefinementLowersTheSoftError(t *testing.T) {
	lower, problems := 0, 0
	for seed := range uint64(8) {
		for _, kind := range []data.Kind{data.Classification, data.Regression} {
			n, p := random(t, seed, nil), made(seed, "p", kind, 4)
			before, after := fit(t, n, p, FitOptions{Steps: -1}), fit(t, n, p, FitOptions{})
			best := before.Soft
			for _, c := range after.Tried {
				if c.Step > 0 {
					best = min(best, c.Soft)
				}
				if err := data.CheckCovariance(c.Omega, 4); err != nil {
					t.Errorf("seed %d, %s, step %d: %v", seed, kind, c.Step, err)
				}
				if trace := mat.Trace(c.Omega); math.Abs(trace-1) > 1e-9 {
					t.Errorf("seed %d, %s, step %d: trace %v", seed, kind, c.Step, trace)
				}
			}
			if after.Soft != best {
				t.Errorf("seed %d, %s: soft error %v, but a candidate has %v", seed, kind, after.Soft, best)
			}
			if after.Soft < before.Soft {
				lower++
			} else if after.Step != 0 || after.Scale != before.Scale {
				t.Errorf("seed %d, %s: step %d, scale %v has no lower error than scale %v, yet was taken", seed, kind, after.Step, after.Scale, before.Scale)
			}
			problems++
		}
	}
	if lower <= problems/2 {
		t.Errorf("the soft error of only %d of %d problems came down", lower, problems)
	}
}

// A step is a projection: no covariance is nearer to where the slope leads.
func TestRefinementProjects(t *testing.T) {
	for seed := range uint64(6) {
		p := made(seed, "p", data.Classification, 4)
		e, err := random(t, seed, nil).Embed(p)
		if err != nil {
			t.Fatal(err)
		}
		f := fit(t, random(t, seed, nil), p, FitOptions{Scales: []float64{math.Inf(1)}, Steps: 1})
		start, step := f.Tried[0], f.Tried[1]
		slope, err := e.slope(start.Tuned)
		if err != nil {
			t.Fatal(err)
		}
		var aim mat.SymDense
		aim.ScaleSym(-stride, slope)
		aim.AddSym(&aim, start.Omega)
		distance := func(a *mat.SymDense) float64 {
			var d mat.Dense
			d.Sub(a, &aim)
			return mat.Norm(&d, 2)
		}
		if distance(start.Omega) < distance(step.Omega) {
			t.Errorf("seed %d: the step leads away", seed)
		}
		stream := data.Stream(seed, "projections")
		for range 200 {
			var other mat.SymDense
			root := mat.NewDense(4, 4, nil)
			for i := range 4 {
				for j := range 4 {
					root.Set(i, j, stream.NormFloat64())
				}
			}
			other.SymOuterK(1, root)
			share := stream.Float64() // some of the others are near
			other.ScaleSym((1-share)/mat.Trace(&other), &other)
			var near mat.SymDense
			near.ScaleSym(share, step.Omega)
			near.AddSym(&near, &other)
			if distance(&near) < distance(step.Omega)-1e-9 {
				t.Fatalf("seed %d: there is a covariance nearer to where the slope leads", seed)
			}
		}
	}
}
