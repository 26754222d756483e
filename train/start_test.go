package train

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/progress"
	"l2mt/layers"
	"l2mt/model"
	"l2mt/model/modeltest"
)

// squares is the sum of squares of f - v(o) over all tuples.
func squares(t testing.TB, n *model.Network, examples []prepared) (sum float64) {
	t.Helper()
	forward := model.NewForward(n)
	for _, e := range examples {
		estimate := datatest.Must(forward.Estimate(e.payload, e.Tuples...))(t)
		for q, f := range estimate.F {
			sum += (f - estimate.V[q]) * (f - estimate.V[q])
		}
	}
	return sum
}

// No other values of the parameters that f is linear in bring the estimates
// closer to v(o), and no other parameter is touched.
func TestTheRegressionStartIsTheLeastSquares(t *testing.T) {
	datatest.Long(t)
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
	return slices.DeleteFunc(model.Pieces()["estimator"], func(name string) bool { return model.Config{Estimator: name}.LinearEntries() == nil })
}

func TestTheRegressionStartRefusesExperienceOfZeros(t *testing.T) {
	examples := ready(t, small(1))
	for _, e := range examples {
		for _, tuple := range e.Tuples {
			clear(tuple.Omega)
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
		for _, tuple := range e.Tuples { // tr(Omega^2) is 1 for all of them
			omega, m := tuple.Omega, len(e.Problem.Tasks)
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
		datatest.Holds(t, !math.IsNaN(v) && math.Abs(v) <= 10,
			"alpha is %v", n.Params.Get("alpha"))
	}
}

// M has the inner products of the best approximation of A B whose rank is at most k, B
// being that of the normal equations over the features.
func TestTheMapIsTheRidgeRegression(t *testing.T) {
	for seed := range uint64(6) {
		r := data.Stream(seed, "feature map")
		d, n := 3+r.IntN(12), 4+r.IntN(8) // more or fewer features than tasks
		a, w := mat.NewDense(n, d, nil), mat.NewDense(n, d, nil)
		for i := range n {
			for j := range d {
				a.Set(i, j, r.NormFloat64())
				w.Set(i, j, a.At(i, j)+a.At(i, (j+1)%d)+r.NormFloat64())
			}
		}
		var normal, right, b, fitted mat.Dense
		normal.Mul(a.T(), a)
		for j, rho := 0, 0.2*mat.Trace(&normal)/float64(n); j < d; j++ {
			normal.Set(j, j, normal.At(j, j)+rho)
		}
		right.Mul(a.T(), w)
		datatest.Check(t, b.Solve(&normal, &right))
		fitted.Mul(a, &b)
		for _, k := range []int{1, 2, n, n + 3} {
			m := datatest.Must(featureMap(a, w, k))(t)
			var svd mat.SVD
			datatest.Need(t, svd.Factorize(&fitted, mat.SVDThin), "no singular values")
			var u, embedded, got, want mat.Dense
			svd.UTo(&u)
			values := svd.Values(nil)
			clear(values[min(k, len(values)):])
			u.Apply(func(_, j int, v float64) float64 { return v * values[j] }, &u)
			embedded.Mul(a, m)
			got.Mul(&embedded, embedded.T())
			want.Mul(&u, u.T())
			datatest.Holds(t, mat.EqualApprox(&got, &want, 1e-8),
				"seed %d, k = %d: inner products\n%v\nwant\n%v", seed, k, mat.Formatted(&got), mat.Formatted(&want))
		}
	}
}

// latent is experience whose tasks differ in three of forty features alone, with four
// rows of a class to learn from.
func latent(seed uint64, problems int) (examples []Example, truth [][]float64) {
	const d, tasks, rows, few = 40, 4, 80, 8
	for i := range problems {
		r := data.Stream(seed, "latent", uint64(i))
		p := modeltest.Problem(r, d, slices.Repeat([]int{rows}, tasks)...)
		p.Problem = &data.Problem{Name: fmt.Sprint("latent ", i)}
		for j := range p.Tasks {
			task := &p.Tasks[j]
			all, w := task.TrainSet, []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
			truth = append(truth, w)
			for a := range rows {
				all.Y[a] = float64(1 - 2*(a%2))
				for k, v := range w {
					all.X.Row(a).Value[k] += float32(all.Y[a] * v)
				}
			}
			for part, rows := range map[*data.Samples][2]int{&task.TrainSet: {0, few}, &task.ValidationSet: {few, 2 * few}, &task.TestSet: {2 * few, rows}} {
				*part = data.Samples{Y: all.Y[rows[0]:rows[1]]}
				var take []int
				for a := rows[0]; a < rows[1]; a++ {
					take = append(take, a)
				}
				part.X = all.X.Take(take)
			}
		}
		examples = append(examples, Example{Problem: p, Tuples: []model.Tuple{{Omega: covariance(r, tasks), O: 0.5}, {Omega: covariance(r, tasks), O: 1}}})
	}
	return examples, truth
}

// gap is the mean square of the differences between the cosines of rows and those of
// the true weights.
func gap(rows *mat.Dense, truth [][]float64) (sum float64) {
	cosine := func(a, b []float64) float64 {
		return floats.Dot(a, b) / floats.Norm(a, 2) / floats.Norm(b, 2)
	}
	n := len(truth)
	for i := range n {
		for j := range i {
			difference := cosine(rows.RawRowView(i), rows.RawRowView(j)) - cosine(truth[i], truth[j])
			sum += difference * difference * 2 / float64(n*(n-1))
		}
	}
	return sum
}

// The map knows of tasks that it was not taught by how they are related, and better than
// their few rows do.
func TestExperienceTeachesWhichFeaturesMatter(t *testing.T) {
	datatest.Long(t)
	for seed := range uint64(2) {
		examples, _ := latent(seed, 60)
		c := config(t, "default", examples)
		c.Model.Hidden = 8
		tr := trainerOf(t, c, examples, Options{Progress: progress.Silent()})
		a, w, err := tr.taskWeights(t.Context())
		datatest.Check(t, err)
		if tasks, _ := a.Dims(); tasks != 4*len(tr.training) {
			t.Fatalf("weights of %d tasks, want those of the training problems, %d", tasks, 4*len(tr.training))
		}
		m := datatest.Must(featureMap(a, w, 4))(t)
		unseen, truth := latent(100+seed, 10)
		var rows []float64
		for _, e := range unseen {
			rows = append(rows, datatest.Must(model.Means(c.Model, e.Problem))(t).RawMatrix().Data...)
		}
		raw, taught := mat.NewDense(len(truth), len(rows)/len(truth), rows), new(mat.Dense)
		taught.Mul(raw, m)
		if before, after := gap(raw, truth), gap(taught, truth); after > 0.8*before {
			t.Errorf("seed %d: cosines are off by %v (mean square), and by %v without the map", seed, after, before)
		}
	}
}

// A run from experience that is cancelled, at its start too, ends in the same bytes, and
// differs from one that starts from the regression alone.
func TestAStartFromExperienceIsResumed(t *testing.T) {
	datatest.Long(t)
	examples, _ := latent(1, 8)
	c := config(t, "default", examples)
	c.Start, c.Model.DType = FromExperience, layers.Float64
	whole, dir, other := t.TempDir(), t.TempDir(), t.TempDir()
	run(t, c, examples, Options{Out: whole})
	steps := []int{0, 12, 3} // at last in no step, before in the first epoch, first among the task weights
	_, stops := resumed(t, c, examples, Options{Out: dir}, func() (step int) {
		step, steps = steps[len(steps)-1], steps[:len(steps)-1]
		return step
	})
	datatest.Equal(t, stops, 2, "cancelled")
	compareFiles(t, "cancelled and resumed", dir, whole)
	c.Start = FromRegression
	run(t, c, examples, Options{Out: other})
	datatest.Holds(t, contents(t, other)[model.WeightsFile] != contents(t, whole)[model.WeightsFile],
		"the start does not matter")
}
