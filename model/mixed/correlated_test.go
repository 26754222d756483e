package mixed

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"
)

// own is the prior covariance of a task's own weights.
func own(p Problem) *mat.SymDense {
	c := mat.NewSymDense(len(p.Part), nil)
	var correlated []int
	for j, k := range p.Part {
		if p.Components[k].Correlated {
			correlated = append(correlated, j)
		} else {
			c.SetSym(j, j, p.Components[k].Own)
		}
	}
	for i, j := range correlated {
		for k, l := range correlated {
			c.SetSym(j, l, p.Covariance.At(i, k))
		}
	}
	return c
}

// compareCovariance checks the slopes of the evidence along the numbers of a covariance.
func compareCovariance(t *testing.T, p Problem, noise float64) {
	t.Helper()
	q := 0
	for k, c := range p.Components {
		if !c.Correlated {
			continue
		}
		found := p.Covariance
		for j := range q + 1 {
			slope := fd.Derivative(func(v float64) float64 {
				changed := clone(&search{Problem: p})
				changed.Covariance = mat.NewSymDense(found.SymmetricDim(), nil)
				changed.Covariance.CopySym(found)
				changed.Covariance.SetSym(q, j, v)
				changed.Components[k].Own = changed.Covariance.At(q, q)
				return newDense(changed, noise).evidence(weak)
			}, found.At(q, j), &fd.Settings{Formula: fd.Central, Step: 1e-5})
			near(t, fmt.Sprintf("slope of the evidence along the own covariance %d, %d", q, j), slope, 0, 1e-2)
		}
		q++
	}
}

// TestFansAreFound draws tasks whose lines go through a point three units from where the column is
// 0: their levels are three times their slopes.
func TestFansAreFound(t *testing.T) {
	r := source(t, 1)
	p := Problem{Components: []Component{fanned(1, .25), fanned(1, .25)}, Part: []int{0, 1}}
	for range 40 {
		slope := r.NormFloat64()
		task := Task{Loading: 1}
		for range 4 {
			x := r.NormFloat64()
			task.Features = append(task.Features, 1, x)
			task.Y = append(task.Y, slope*(3+x)+r.NormFloat64())
		}
		p.Tasks = append(p.Tasks, task)
	}
	d := fit(t, p, Options{}).Covariance
	if correlation := d.At(0, 1) / math.Sqrt(d.At(0, 0)*d.At(1, 1)); correlation < .85 {
		t.Errorf("levels correlate with slopes by %.3f; it should be about 1", correlation)
	}
}
