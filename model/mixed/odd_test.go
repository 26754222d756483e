package mixed

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"l2mt/data/datatest"
)

// TestAFitEndsWithItsContext wants the context's error and no fit.
func TestAFitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f, err := New(ctx, shapes[0].problem(source(t, 1)), Options{})
	datatest.Holds(t, err == context.Canceled && f == nil,
		"error %v with %v; it should be %v without a fit", err, f, context.Canceled)
}

// TestFitsOfOddRowsAreFinite fits targets and features that say nothing, too much or far apart.
func TestFitsOfOddRowsAreFinite(t *testing.T) {
	change := func(to func(r *rand.Rand, f, y []float64)) func(*rand.Rand, *Problem) {
		return func(r *rand.Rand, p *Problem) {
			for _, task := range p.Tasks {
				to(r, task.Features, task.Y)
			}
		}
	}
	for name, odd := range map[string]func(*rand.Rand, *Problem){
		"targets are 0":      change(func(_ *rand.Rand, _, y []float64) { clear(y) }),
		"features are 0":     change(func(_ *rand.Rand, f, _ []float64) { clear(f) }),
		"rows are the same":  change(func(_ *rand.Rand, f, _ []float64) { copy(f, slices.Repeat([]float64{1}, len(f))) }),
		"targets are exact":  change(func(_ *rand.Rand, f, y []float64) { exact(f, y) }),
		"one target is huge": change(func(_ *rand.Rand, _, y []float64) { y[0] = 1e6 }),
		"there are no rows": func(_ *rand.Rand, p *Problem) {
			for i := range p.Tasks {
				p.Tasks[i].Features = nil
				p.Tasks[i].Y = nil
			}
		},
		"all variances are 0": func(_ *rand.Rand, p *Problem) { clear(p.Components) },
	} {
		for _, loss := range []Loss{nil, Logistic{}, Poisson{}, Huber{}} {
			t.Run(fmt.Sprintf("%s/%T", name, loss), func(t *testing.T) {
				r := source(t, 3)
				s := shape{rows: []int{4, 1, 30}, wide: []int{1, 1, 4}, components: []Component{fanned(1, .3), fanned(.6, .2), both(.6, .2)}, loss: loss}
				p := s.problem(r)
				odd(r, &p)
				if _, counts := loss.(Poisson); counts {
					for _, task := range p.Tasks {
						for i, y := range task.Y {
							task.Y[i] = math.Round(math.Abs(y))
						}
					}
				}
				checkFinite(t, fit(t, p, Options{}))
			})
		}
	}
}

// exact targets are sums of the features.
func exact(f, y []float64) {
	d := len(f) / len(y)
	for i := range y {
		y[i] = 0
		for _, v := range f[i*d:][:d] {
			y[i] += v
		}
	}
}

func checkFinite(t *testing.T, f *Fit) {
	numbers := slices.Concat(f.Common, f.Root, f.Left, []float64{f.Noise}, slices.Concat(f.Own...))
	for _, c := range f.Components {
		numbers = append(numbers, c.Common, c.Own, c.Size)
	}
	datatest.Holds(t, !slices.ContainsFunc(numbers, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }),
		"numbers of the fit are not finite: noise %g, components %v", f.Noise, f.Components)
}
