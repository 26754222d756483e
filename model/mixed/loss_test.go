package mixed

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data/datatest"
)

// TestSlopesAndCurvaturesOfLosses compares with central differences of the loss.
func TestSlopesAndCurvaturesOfLosses(t *testing.T) {
	for _, c := range []struct {
		loss    Loss
		targets []float64
	}{
		{Logistic{}, []float64{-1, 1}},
		{Poisson{}, []float64{0, 1, 7}},
		{Huber{}, []float64{-2, 0.5}},
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
				if _, robust := c.loss.(Huber); robust && math.Abs(f-y) > huberWidth {
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
	for _, loss := range []Loss{Logistic{}, Poisson{}, Huber{}} {
		for _, f := range []float64{-1e4, -800, 800, 1e4} {
			value, slope, curvature := loss.At(f, 1)
			for _, v := range []float64{value, slope, curvature} {
				datatest.Holds(t, !math.IsNaN(v) && !math.IsInf(v, 0),
					"%T at %g: %g, %g, %g", loss, f, value, slope, curvature)
			}
		}
	}
}

// TestModeHasNoSlope wants no gradient of the penalised losses, sum of losses + |w|^2/2a + sum of
// |u_t|^2/2c, at the weights found. Of classes they are means over what the scores may be.
func TestModeHasNoSlope(t *testing.T) {
	for _, s := range shapes {
		for _, loss := range []Loss{Logistic{}, Poisson{}, Huber{}} {
			s.loss = loss
			t.Run(fmt.Sprintf("%s/%T", s.name, loss), func(t *testing.T) {
				p := s.problem(source(t, 5))
				checkMode(t, p, fit(t, p, Options{Given: true}))
			})
		}
	}
}

func checkMode(t *testing.T, p Problem, f *Fit) {
	d := len(p.Part)
	common := make([]float64, d)
	for i, task := range p.Tasks {
		slope := make([]float64, d)
		slopes, _ := meanSlopes(p, f, i)
		for r, s := range slopes {
			floats.AddScaled(slope, s, task.Features[r*d:][:d])
		}
		floats.AddScaled(common, task.Loading, slope)
		var want mat.VecDense
		want.MulVec(own(p), mat.NewVecDense(d, slope))
		for j, w := range f.Own[i] {
			near(t, fmt.Sprintf("weight %d of task %d over its variance, and the slope", j, i), w, -want.AtVec(j), 1e-3)
		}
	}
	for j, k := range p.Part {
		a := p.Components[k].Common
		near(t, fmt.Sprintf("common weight %d over its variance, and the slope", j), f.Common[j], -a*common[j], 1e-3)
	}
}

// meanSlopes are the slopes of a task's losses over scores whose variances, of the weights' covariance
// (C^-1 + sum of curvatures x x')^-1, are found by repetition.
func meanSlopes(p Problem, f *Fit, task int) (slopes, variances []float64) {
	d := len(p.Part)
	rows := p.Tasks[task]
	n := len(rows.Y)
	slopes = make([]float64, n)
	variances = make([]float64, n)
	_, averaged := p.Loss.(Logistic)
	for moved := 1.0; moved > 1e-5; {
		moved = 0
		covariance := mat.DenseCopyOf(own(p))
		for r, y := range rows.Y {
			x := mat.NewVecDense(d, rows.Features[r*d:][:d])
			score := rows.Loading*floats.Dot(x.RawVector().Data, f.Common) + floats.Dot(x.RawVector().Data, f.Own[task])
			curvature := 0.0
			slopes[r], curvature = meanOver(p.Loss, score, variances[r], y)
			var along mat.VecDense
			along.MulVec(covariance, x)
			covariance.RankOne(covariance, -curvature/(1+curvature*mat.Dot(x, &along)), &along, &along)
		}
		for r := range variances {
			x := mat.NewVecDense(d, rows.Features[r*d:][:d])
			if averaged {
				v := mat.Inner(x, covariance, x)
				moved = max(moved, math.Abs(v-variances[r]))
				variances[r] = v
			}
		}
	}
	return slopes, variances
}

// meanOver sums slopes and curvatures over a fine grid of scores.
func meanOver(loss Loss, score, variance, y float64) (slope, curvature float64) {
	const step = 0.25
	whole := 0.0
	for z := -6.0; z <= 6; z += step {
		density := math.Exp(-z * z / 2)
		_, first, second := loss.At(score+math.Sqrt(variance)*z, y)
		slope += density * first
		curvature += density * second
		whole += density
	}
	return slope / whole, curvature / whole
}

// TestLevelsOfClassesHaveTheirVariance draws tasks of few rows, whose levels have a known variance.
// At the likeliest scores a third of it is found.
func TestLevelsOfClassesHaveTheirVariance(t *testing.T) {
	for _, rows := range []int{3, 6} {
		s := shape{rows: slices.Repeat([]int{rows}, 600), wide: []int{1}, components: []Component{both(1e-9, 6)}, loss: Logistic{}}
		p := s.problem(source(t, uint64(rows)))
		p.Components[0] = Component{Common: 1e2, Own: .5, Fixed: true}
		v := fit(t, p, Options{}).Components[0].Own
		datatest.Holds(t, v >= 3.6 && v <= 8.5, "%d rows a task: variance %g; it should be about 6", rows, v)
	}
}

// TestHuberHeedsOutliersLess fits tasks of which every twentieth target is wrong by 30 deviations
// of the noise.
func TestHuberHeedsOutliersLess(t *testing.T) {
	r := source(t, 2)
	s := shape{rows: []int{40, 40, 40, 40, 40}, wide: []int{1, 4}, components: []Component{both(2, .3), both(1, .2)}, loss: Huber{}}
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

// A row that counts k is k rows, of every loss, where the variances are given.
func TestWeightsAreRowsRepeated(t *testing.T) {
	for _, s := range shapes {
		for _, loss := range []Loss{nil, Logistic{}, Poisson{}, Huber{}} {
			s.loss = loss
			r := source(t, 11)
			weighted := s.problem(r)
			repeated := weighted
			repeated.Tasks = nil
			d := len(weighted.Part)
			for i := range weighted.Tasks {
				task := &weighted.Tasks[i]
				again := Task{Loading: task.Loading}
				for j, y := range task.Y {
					count := 1 + r.IntN(3)
					task.Weight = append(task.Weight, float64(count))
					task.Offset = append(task.Offset, r.NormFloat64())
					for range count {
						again.Y = append(again.Y, y)
						again.Offset = append(again.Offset, task.Offset[j])
						again.Features = append(again.Features, task.Features[j*d:][:d]...)
					}
				}
				repeated.Tasks = append(repeated.Tasks, again)
			}
			got, want := fit(t, weighted, Options{Given: true}), fit(t, repeated, Options{Given: true})
			what := fmt.Sprintf("%s, %T", s.name, loss)
			for i, own := range append(want.Own, want.Common) {
				for j, w := range own {
					near(t, what, append(got.Own, got.Common)[i][j], w, 2e-4)
				}
			}
		}
	}
}
