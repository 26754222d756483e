package mixed

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
)

// TestSlopesAndCurvaturesOfLosses compares with central differences of the loss.
func TestSlopesAndCurvaturesOfLosses(t *testing.T) {
	for _, c := range []struct {
		loss    Loss
		targets []float64
	}{
		{Logistic{}, []float64{-1, 1}},
		{Poisson{}, []float64{0, 1, 7}},
		{Huber{Width: 1.3}, []float64{-2, 0.5}},
	} {
		for _, y := range c.targets {
			for _, f := range []float64{-4, -1.1, 0, 0.3, 2.5, 6} {
				what := fmt.Sprintf("%T at %g of target %g: ", c.loss, f, y)
				_, slope, curvature := c.loss.At(f, y)
				value := func(f float64) float64 {
					loss, _, _ := c.loss.At(f, y)
					return loss
				}
				near(t, what+"slope", slope, fd.Derivative(value, f, &fd.Settings{Formula: fd.Central, Step: 1e-5}), 1e-7)
				if h, robust := c.loss.(Huber); robust && math.Abs(f-y) > h.Width {
					near(t, what+"curvature that leads to the target", curvature*(f-y), slope, 1e-12)
					continue
				}
				near(t, what+"curvature", curvature, fd.Derivative(value, f, &fd.Settings{Formula: fd.Central2nd, Step: 1e-4}), 1e-5)
			}
		}
	}
}

// TestLossesOfLargeScores wants finite numbers where exponentials are not.
func TestLossesOfLargeScores(t *testing.T) {
	for _, loss := range []Loss{Logistic{}, Poisson{}, Huber{Width: 1}} {
		for _, f := range []float64{-1e4, -800, 800, 1e4} {
			value, slope, curvature := loss.At(f, 1)
			for _, v := range []float64{value, slope, curvature} {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Errorf("%T at %g: %g, %g, %g", loss, f, value, slope, curvature)
				}
			}
		}
	}
}

// TestModeHasNoSlope wants no gradient of the penalised losses, sum of losses + |w|^2/2a + sum of
// |u_t|^2/2c, at the weights found.
func TestModeHasNoSlope(t *testing.T) {
	for _, s := range shapes {
		for _, loss := range []Loss{Logistic{}, Poisson{}, Huber{Width: 1.3}} {
			s.loss = loss
			t.Run(fmt.Sprintf("%s/%T", s.name, loss), func(t *testing.T) {
				p := s.problem(source(t, 5))
				f := fit(t, p, Options{Given: true})
				checkMode(t, p, f)
			})
		}
	}
}

func checkMode(t *testing.T, p Problem, f *Fit) {
	d := len(p.Part)
	common := make([]float64, d)
	for i, task := range p.Tasks {
		own := make([]float64, d)
		for r, y := range task.Y {
			row := task.Features[r*d:][:d]
			_, slope, _ := p.Loss.At(task.Loading*floats.Dot(row, f.Common)+floats.Dot(row, f.Own[i]), y)
			floats.AddScaled(own, slope, row)
		}
		floats.AddScaled(common, task.Loading, own)
		for j, k := range p.Part {
			c := p.Components[k].Own
			near(t, fmt.Sprintf("weight %d of task %d over its variance, and the slope", j, i), f.Own[i][j], -c*own[j], 1e-3)
		}
	}
	for j, k := range p.Part {
		a := p.Components[k].Common
		near(t, fmt.Sprintf("common weight %d over its variance, and the slope", j), f.Common[j], -a*common[j], 1e-3)
	}
}

// TestHuberHeedsOutliersLess fits tasks of which every twentieth target is wrong by 30 deviations
// of the noise.
func TestHuberHeedsOutliersLess(t *testing.T) {
	r := source(t, 2)
	s := shape{rows: []int{40, 40, 40, 40, 40}, wide: []int{1, 4}, components: []Component{both(2, .3), both(1, .2)}, loss: Huber{Width: 1.3}}
	p := s.problem(r)
	clean := fit(t, p, Options{})
	n := 0
	for _, task := range p.Tasks {
		for i := range task.Y {
			if n%20 == 7 {
				task.Y[i] += 30 * (1 + r.Float64())
			}
			n++
		}
	}
	robust := fit(t, p, Options{})
	p.Loss = nil
	squared := fit(t, p, Options{})
	moved := distance(clean, robust)
	if far := distance(clean, squared); moved > far/3 {
		t.Errorf("outliers move the weights by %g with Huber's loss and by %g with squares", moved, far)
	}
}

// distance of the weights of all tasks.
func distance(a, b *Fit) (sum float64) {
	for i := range a.Own {
		w := floats.AddTo(make([]float64, len(a.Common)), a.Own[i], a.Common)
		v := floats.AddTo(make([]float64, len(a.Common)), b.Own[i], b.Common)
		sum += math.Pow(floats.Distance(w, v, 2), 2)
	}
	return math.Sqrt(sum)
}
