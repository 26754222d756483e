package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/progress"
	"l2mt/layers"
	"l2mt/model"
	"l2mt/model/modeltest"
)

// randomLessons are of problems with one to four tasks.
func randomLessons(r *rand.Rand, problems, d int) *lessons {
	l := &lessons{}
	for k := range problems {
		for range 1 + r.IntN(4) {
			l.problem = append(l.problem, k)
		}
	}
	n := len(l.problem)
	l.means, l.weights = mat.NewDense(n, d, nil), mat.NewDense(n, d, nil)
	for i := range n {
		for j := range d {
			l.means.Set(i, j, r.NormFloat64())
			l.weights.Set(i, j, l.means.At(i, j)+l.means.At(i, (j+1)%d)+r.NormFloat64())
		}
	}
	return l
}

// solved is B of the rows that keep tells, from the normal equations over the features.
func (l *lessons) solved(t *testing.T, rho float64, keep func(problem int) bool) *mat.Dense {
	t.Helper()
	_, d := l.means.Dims()
	normal, right := mat.NewDense(d, d, nil), mat.NewDense(d, d, nil)
	for j := range d {
		normal.Set(j, j, rho)
	}
	for i, k := range l.problem {
		if keep(k) {
			normal.RankOne(normal, 1, l.means.RowView(i), l.means.RowView(i))
			var outer mat.Dense
			outer.Outer(1, l.means.RowView(i), l.weights.RowView(i))
			right.Add(right, &outer)
		}
	}
	var b mat.Dense
	if err := b.Solve(normal, right); err != nil {
		t.Fatal(err)
	}
	return &b
}

func products(a *mat.Dense) *mat.SymDense {
	var s mat.SymDense
	s.SymOuterK(1, a)
	return &s
}

// What is left out is what maps learnt without a problem say of it, and M has the inner
// products of the best approximation of A B whose rank is at most k.
func TestTheMapIsTheRidgeRegression(t *testing.T) {
	for seed := range uint64(6) {
		r := data.Stream(seed, "lessons")
		d := 3 + r.IntN(12) // more or fewer than tasks
		l := randomLessons(r, 4, d)
		n := len(l.problem)
		rg := must(newRidge(l))(t)
		for _, rho := range []float64{0.03, 1, 40} {
			want := 0.0
			for p := range 4 {
				b := l.solved(t, rho, func(k int) bool { return k != p })
				for i, k := range l.problem {
					if k == p {
						var said mat.VecDense
						said.MulVec(b.T(), l.means.RowView(i))
						said.SubVec(l.weights.RowView(i), &said)
						want += mat.Dot(&said, &said)
					}
				}
			}
			if got := rg.leftOut(rho); math.Abs(got-want) > 1e-8*want {
				t.Errorf("seed %d, rho %v: left out %v, want %v", seed, rho, got, want)
			}
		}
		fitted := new(mat.Dense)
		fitted.Mul(l.means, l.solved(t, rg.choose(), func(int) bool { return true }))
		for _, k := range []int{1, 2, n, n + 3} {
			m := must(l.mapping(k))(t)
			var svd mat.SVD
			if !svd.Factorize(fitted, mat.SVDThin) {
				t.Fatal("no singular values")
			}
			var u, embedded mat.Dense
			svd.UTo(&u)
			values := svd.Values(nil)
			for j := range values {
				if j >= k {
					values[j] = 0
				}
			}
			u.Apply(func(_, j int, v float64) float64 { return v * values[j] }, &u)
			embedded.Mul(l.means, m)
			if got, want := products(&embedded), products(&u); !mat.EqualApprox(got, want, 1e-8) {
				t.Errorf("seed %d, k = %d: inner products\n%v\nwant\n%v", seed, k, mat.Formatted(got), mat.Formatted(want))
			}
		}
	}
}

// latent is experience whose tasks differ in three of forty features alone, with four
// rows of a class to learn from.
func latent(seed uint64, problems int) (examples []Example, truth [][]float64) {
	const d, tasks, rows, few = 40, 4, 80, 8
	for i := range problems {
		r := data.Stream(seed, "latent", uint64(i))
		p := modeltest.Problem(r, d, equal(tasks, rows)...)
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
	for seed := range uint64(3) {
		examples, _ := latent(seed, 60)
		c := config(t, "default", examples)
		c.Model.Hidden = 8
		tr := trainerOf(t, c, examples, Options{Progress: progress.Silent()})
		l := must(tr.lessons(t.Context(), InMemory(examples)))(t)
		if want := 4 * len(tr.training); len(l.problem) != want {
			t.Fatalf("%d lessons, want those of the training problems, %d", len(l.problem), want)
		}
		m := must(l.mapping(4))(t)
		unseen, truth := latent(100+seed, 10)
		raw, taught := new(mat.Dense), new(mat.Dense)
		for _, e := range unseen {
			a := must(model.Means(c.Model, e.Problem))(t)
			if raw.IsEmpty() {
				raw.CloneFrom(a)
				continue
			}
			var both mat.Dense
			both.Stack(raw, a)
			raw.CloneFrom(&both)
		}
		taught.Mul(raw, m)
		if before, after := gap(raw, truth), gap(taught, truth); after > 0.8*before {
			t.Errorf("seed %d: cosines are off by %v (mean square), and by %v without the map", seed, after, before)
		}
	}
}

// A run from experience that is cancelled, at its start too, ends in the same bytes, and
// differs from one that starts from the regression alone.
func TestAStartFromExperienceIsResumed(t *testing.T) {
	examples, _ := latent(1, 8)
	c := config(t, "default", examples)
	c.Start, c.Model.DType = FromExperience, layers.Float64
	whole, dir, other := t.TempDir(), t.TempDir(), t.TempDir()
	run(t, c, examples, Options{Out: whole})
	for _, at := range []int{3, 12} { // among the lessons, and in the first epoch
		ctx, cancel := context.WithCancel(t.Context())
		_, err := Run(ctx, c, InMemory(examples), Options{Out: dir, Progress: &spy{at: at, stop: cancel}})
		if cancel(); !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped at %d: %v", at, err)
		}
	}
	run(t, c, examples, Options{Out: dir})
	compareFiles(t, "cancelled and resumed", dir, whole)
	c.Start = FromRegression
	run(t, c, examples, Options{Out: other})
	if contents(t, other)[model.WeightsFile] == contents(t, whole)[model.WeightsFile] {
		t.Error("the start does not matter")
	}
}
