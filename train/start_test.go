package train

import (
	"math"
	"slices"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/model"
)

// squares is the sum of squares of f - v(o) over all tuples.
func squares(t testing.TB, n *model.Network, examples []prepared) (sum float64) {
	t.Helper()
	forward := datatest.Must(model.NewForward(n))(t)
	for _, e := range examples {
		payload, tuples := e.payload, e.tuples
		estimate := datatest.Must(forward.Estimate(payload, tuples...))(t)
		for q, f := range estimate.F {
			sum += (f - estimate.V[q]) * (f - estimate.V[q])
		}
	}
	return sum
}

// No other values of the parameters that f is linear in bring the estimates
// closer to v(o), and no other parameter is touched.
func TestTheRegressionStartIsTheLeastSquares(t *testing.T) {
	for _, estimator := range estimators() {
		for seed := range uint64(3) {
			examples := ready(t, small(seed))
			c := config(t, "default", small(seed)).Model
			c.Estimator = estimator
			n := datatest.Must(model.NewNetwork(c, seed))(t)
			before := n.Params.Clone()
			datatest.Check(t, regress(n, examples))
			least := squares(t, n, examples)
			for _, e := range c.LinearEntries() {
				value := n.Params.Get(e.Param)
				found := value[e.Index]
				for _, step := range []float64{-1e-2, 1e-2} {
					value[e.Index] = found + step
					if s := squares(t, n, examples); s < least {
						t.Errorf("estimator %s, seed %d: %s[%d] = %v has the sum of squares %v, but %v has %v", estimator, seed, e.Param, e.Index, found, least, value[e.Index], s)
					}
				}
				value[e.Index] = before.Get(e.Param)[e.Index]
			}
			if was := squares(t, n, examples); was <= least {
				t.Errorf("estimator %s, seed %d: the start is no better (%v) than the declared one (%v)", estimator, seed, least, was)
			}
			for i := range before {
				if !slices.Equal(n.Params[i].Value, before[i].Value) { // its linear entries are put back above
					t.Errorf("estimator %s, seed %d: the start changes other entries of %s", estimator, seed, before[i].Name)
				}
			}
		}
	}
}

// estimators are those with parameters that f is linear in.
func estimators() []string {
	return slices.DeleteFunc(model.Estimators(), func(name string) bool { return model.Config{Estimator: name}.LinearEntries() == nil })
}

func TestTheRegressionStartRefusesExperienceOfZeros(t *testing.T) {
	examples := ready(t, small(1))
	for _, e := range examples {
		tuples := e.tuples
		for q := range tuples {
			clear(tuples[q].Omega)
		}
	}
	n := datatest.Must(model.NewNetwork(config(t, "default", small(1)).Model, 1))(t)
	datatest.Says(t, regress(n, examples), ErrConfig)
}

// A ridge keeps the start finite where two terms are proportional.
func TestTheRegressionStartSurvivesProportionalTerms(t *testing.T) {
	examples := ready(t, small(1)[:2])
	r := data.Stream(1, "rank one")
	for _, e := range examples {
		tuples := e.tuples
		for q := range tuples { // tr(Omega^2) is 1 for all of them
			omega, m := tuples[q].Omega, e.payload.Tasks()
			u, norm := make([]float64, m), 0.0
			for j := range u {
				u[j] = r.NormFloat64()
				norm += u[j] * u[j]
			}
			for a := range u {
				for b := range u {
					omega[a*m+b] = u[a] * u[b] / norm
				}
			}
		}
	}
	c := config(t, "default", small(1)).Model
	c.Estimator = "relu" // two terms, of which one can vanish
	n := datatest.Must(model.NewNetwork(c, 1))(t)
	clear(n.Params.Get("L")) // F is 0, and so is its term
	datatest.Check(t, regress(n, examples))
	for _, v := range n.Params.Get("alpha") {
		if math.IsNaN(v) || math.Abs(v) > 10 {
			t.Errorf("alpha is %v", n.Params.Get("alpha"))
		}
	}
}
