package multitask

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/layers/linalg"

	"l2mt/data"
)

// value is problem (1) at one point, in its parts: the losses,
// tr(W Omega^-1 W') and g(Omega).
type value struct{ total, loss, trace, g float64 }

// objective evaluates problem (1) from its definition.
func objective(t *testing.T, model Model, problem *TrainingSet, w *mat.Dense, b []float64, c *Covariance, p Params) value {
	t.Helper()
	p = must(Complete(model, p))(t)
	v := value{g: model.G(c, problem.cols, p)}
	columns := rowsOf(w)
	v.trace = traceTerm(t, gram(columns, problem.Tasks()), c, p.Get("floor"))
	for i, task := range problem.tasks {
		score := make([]float64, len(task.y))
		task.x.Mul(score, columns[i*problem.cols:][:problem.cols], 1)
		v.loss += problem.loss.sum(score, task.y, b[i], task.weights)
	}
	v.total = v.loss + p.Lambda1/2*v.trace
	if v.g != 0 {
		v.total += p.Lambda2 * v.g
	}
	return v
}

// traceTerm returns tr(S Omega^-1) for S = W'W. Of AMTL Omega^-1 is (I - A)(I - A)' and a floor.
func traceTerm(t *testing.T, s *mat.SymDense, c *Covariance, floor float64) float64 {
	t.Helper()
	if c.A != nil {
		rest, precision := mat.DenseCopyOf(c.A), identity(s.SymmetricDim(), floor)
		rest.Sub(identity(s.SymmetricDim(), 1), rest)
		precision.SymRankK(precision, 1, rest)
		return dot(s, precision)
	}
	e := must(linalg.Eigen(c.Omega))(t)
	// Rounding errors outside of the range of Omega are squares: 1e-14 of S is 1e-7 of W.
	sum, outside := 0.0, 0.0
	for k, mu := range e.Values {
		u := e.Vectors.ColView(k)
		if v := mat.Inner(u, s, u); mu > rankTolerance*e.Values[len(e.Values)-1] {
			sum += v / mu
		} else {
			outside += v
		}
	}
	if outside > 1e-14*mat.Trace(s) {
		return math.Inf(1)
	}
	return sum
}

// powered returns v^r, 0 for rounding errors.
func powered(values []float64, r float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		if v > rankTolerance*values[len(values)-1] {
			out[i] = math.Pow(v, r)
		}
	}
	return out
}

// The best bias of the squared loss is the mean of what scores leave, however far
// from zero that is: rounding errors of the sum of the slopes are no direction.
func TestBiasFarFromZero(t *testing.T) {
	random := data.Stream(1, "bias")
	for range 200 {
		score, y := normals(random, 30), normals(random, 30)
		mean := 0.0
		for j := range y {
			y[j] += 1e4
			mean += (y[j] - score[j]) / 30
		}
		r, h := make([]float64, 30), make([]float64, 30)
		b := Square.bias(r, h, score, y, 0, 0, 0, weights{1. / 30})
		for range 3 {
			b = Square.bias(r, h, score, y, b, 0, 0, weights{1. / 30})
		}
		near(t, "bias", b, mean, 1e-12)
	}
}

// TestShiftedFeatures: biases are not penalised, so a constant added to a feature
// moves them and nothing else.
func TestShiftedFeatures(t *testing.T) {
	for _, loss := range []Loss{Square, Logistic} {
		s := shape{3, 5, 30, loss, false}
		for _, name := range []string{"stl", "snr2"} {
			fit := func(shift float32) *Result {
				tasks := samples(s, 1)
				for _, x := range tasks {
					for j := range x.Y {
						x.X.Row(j).Value[0] = float32(int(16*x.X.Row(j).Value[0]))/16 + shift // exactly
					}
				}
				return mustFit(t, registry[name], mustProblem(t, loss, tasks), Params{Lambda1: 1e-2}, Options{Tolerance: 1e-7})
			}
			want := fit(0)
			for _, shift := range []float32{30, 1000} {
				r := fit(shift)
				if r.Status != Converged {
					t.Errorf("%s, %s, shift %v: %s", name, loss, shift, r.Status)
				}
				near(t, name+": objective", r.Objective, want.Objective, 1e-6)
				nearMatrix(t, name+": W", r.W, want.W, 1e-3)
			}
		}
	}
}
