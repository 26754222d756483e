package multitask

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

func mustICM(t *testing.T, loss Loss, tasks []data.Samples, rank int) *icm {
	t.Helper()
	c, err := newICM(mustProblem(t, loss, tasks), ICMOptions{Rank: rank})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustEvaluate(t *testing.T, c *icm, x []float64) *evaluation {
	t.Helper()
	e, err := c.evaluate(x)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestICMSlopes compares the slopes of the likelihood with central differences.
func TestICMSlopes(t *testing.T) {
	for i, s := range []shape{{3, 4, 12, Logistic, false}, {4, 20, 8, Logistic, true}, {3, 4, 9, Square, false}, {1, 3, 8, Square, false}} {
		c := mustICM(t, s.loss, samples(s, uint64(i)), min(2, s.m))
		random := data.Stream(uint64(i), "icm")
		x := normals(random, c.variables())
		value := func(j int, h float64) float64 {
			y := slices.Clone(x)
			y[j] += h
			return mustEvaluate(t, c, y).value
		}
		e := mustEvaluate(t, c, x)
		for j := range x {
			want := (value(j, 1e-4) - value(j, -1e-4)) / 2e-4
			if got := e.gradient[j]; math.Abs(got-want) > 2e-5*math.Max(1, math.Abs(want)) {
				t.Errorf("%v, variable %d: %v, differences say %v", s, j, got, want)
			}
		}
	}
}

// TestICMIsTheGaussianLikelihood: with the squared loss, the differences of the
// log likelihood are those of the density of y, written out.
func TestICMIsTheGaussianLikelihood(t *testing.T) {
	tasks := samples(shape{2, 3, 7, Square, false}, 3)
	c := mustICM(t, Square, tasks, 1)
	density := func(x []float64) float64 {
		omega := mat.NewSymDense(2, []float64{x[0]*x[0] + math.Exp(x[2]), x[0] * x[1], x[0] * x[1], x[1]*x[1] + math.Exp(x[3])})
		k, y := mat.NewSymDense(14, nil), mat.NewVecDense(14, nil)
		for a := range 14 {
			y.SetVec(a, tasks[a/7].Y[a%7])
			for b := a; b < 14; b++ {
				dot := 0.0
				for q, v := range tasks[a/7].X.Row(a % 7).Value {
					dot += float64(v) * float64(tasks[b/7].X.Row(b % 7).Value[q])
				}
				v := omega.At(a/7, b/7) * dot
				if a/7 == b/7 {
					v += c.bias[a/7]
				}
				if a == b {
					v += math.Exp(x[4+a/7])
				}
				k.SetSym(a, b, v)
			}
		}
		var chol mat.Cholesky
		if !chol.Factorize(k) {
			t.Fatal("not positive definite")
		}
		var solved mat.VecDense
		if err := chol.SolveVecTo(&solved, y); err != nil {
			t.Log(err)
		}
		return (mat.Dot(y, &solved) + chol.LogDet()) / 2
	}
	one, two := []float64{1, -0.5, -1, 0.3, 0.2, -0.4}, []float64{0.3, 0.8, 0.5, -1, -0.6, 0.1}
	near(t, "difference of the log likelihoods", mustEvaluate(t, c, one).value-mustEvaluate(t, c, two).value, density(one)-density(two), 1e-9)
}

// TestICMIsNearTheLogisticLikelihood, which is summed here over a grid of w and b,
// for one task with one feature.
func TestICMIsNearTheLogisticLikelihood(t *testing.T) {
	tasks := samples(shape{1, 1, 30, Logistic, false}, 4)
	c := mustICM(t, Logistic, tasks, 1)
	for _, v := range []float64{-1, 0, 1} {
		variance := 1 + math.Exp(v)
		sum, step := 0.0, 0.05
		f := make([]float64, 30)
		for w := -8.0; w < 8; w += step {
			for b := -8.0; b < 8; b += step {
				tasks[0].X.Mul(f, []float64{w}, 1)
				log := -Logistic.mean(f, tasks[0].Y, b)*30 - w*w/(2*variance) - b*b/(2*c.bias[0])
				sum += math.Exp(log) * step * step
			}
		}
		want := -math.Log(sum / (2 * math.Pi * math.Sqrt(variance*c.bias[0])))
		near(t, "-log p(y)", mustEvaluate(t, c, []float64{1, v}).value, want, 0.01)
	}
}

// TestICMFits: tasks whose weights are the same or opposite are found to be, the
// covariance is more likely than unrelated tasks, and W and b are the minimum of
// problem (1) for it.
func TestICMFits(t *testing.T) {
	for _, loss := range []Loss{Logistic, Square} {
		tasks := samples(shape{4, 5, 25, loss, false}, 2)
		for i := range tasks {
			tasks[i].X = tasks[0].X
			if i > 0 {
				tasks[i].Y = slices.Clone(tasks[0].Y)
			}
			random := data.Stream(9, "noise", uint64(i))
			for j := range tasks[i].Y {
				if i == 3 {
					tasks[i].Y[j] *= -1
				}
				if loss == Square {
					tasks[i].Y[j] += 0.3 * random.NormFloat64()
				} else if i > 0 && random.Float64() < 0.1 {
					tasks[i].Y[j] *= -1
				}
			}
		}
		problem := mustProblem(t, loss, tasks)
		r, err := ICM(t.Context(), problem, ICMOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if c := r.Omega.At(0, 1) / math.Sqrt(r.Omega.At(0, 0)*r.Omega.At(1, 1)); !(c > 0.8) {
			t.Errorf("%s: equal tasks correlate by %v", loss, c)
		}
		if c := r.Omega.At(0, 3) / math.Sqrt(r.Omega.At(0, 0)*r.Omega.At(3, 3)); !(c < -0.8) {
			t.Errorf("%s: opposite tasks correlate by %v", loss, c)
		}
		c := mustICM(t, loss, tasks, 1)
		for _, s := range []float64{-2, 0, 2, 4} {
			x := make([]float64, c.variables())
			for i := range 4 {
				x[4+i] = s
			}
			if e := mustEvaluate(t, c, x); e.value < r.Objective {
				t.Errorf("%s: unrelated tasks at scale %v: %v, found %v", loss, s, e.value, r.Objective)
			}
		}
		// Where the noise is the loss, W and b are where the slopes of the losses
		// at their predictions and those of the Gaussians cancel.
		if loss == Square {
			continue
		}
		g, slopes := mat.NewDense(5, 4, nil), make([]float64, 25)
		for i, f := range predict(r, tasks) {
			sum, _ := Logistic.slopes(slopes, make([]float64, 25), f, tasks[i].Y, 0)
			near(t, "b", r.B[i], -c.bias[i]*25*sum, 1e-6)
			column := make([]float64, 5)
			tasks[i].X.AddMulT(column, slopes, 1)
			g.SetCol(i, column)
		}
		var want mat.Dense
		want.Mul(g, r.Omega)
		want.Scale(-25, &want)
		nearMatrix(t, "W", r.W, &want, 1e-6)
	}
}

func TestICMRefuses(t *testing.T) {
	p := mustProblem(t, Logistic, samples(shapes[2], 1))
	for _, o := range []ICMOptions{{Rank: 4}, {Rank: -1}, {Iterations: -1}} {
		if _, err := ICM(t.Context(), p, o); !errors.Is(err, ErrInvalidParams) {
			t.Errorf("%+v: %v, want ErrInvalidParams", o, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ICM(ctx, p, ICMOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}
