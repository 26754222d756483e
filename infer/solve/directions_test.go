package solve

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/model"
	"l2mt/model/evidence"
)

// subspace is a problem of 30 features whose tasks differ in the first three.
func subspace(t *testing.T, seed uint64) *data.ProblemData {
	t.Helper()
	const d, tasks, few = 30, 4, 14
	r := data.Stream(seed, "subspace")
	p := &data.ProblemData{Problem: &data.Problem{Name: fmt.Sprint("subspace ", seed)}}
	for i := range tasks {
		w := [3]float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
		rows := func(n int) data.Samples {
			values, y := make([]float32, n*d), make([]float64, n)
			for a := range n {
				y[a] = float64(a%2*2 - 1)
				for j := range d {
					v := r.NormFloat64()
					if j < len(w) {
						v += y[a] * w[j]
					}
					values[a*d+j] = float32(v)
				}
			}
			x := must(data.NewDense(n, d, values))(t)
			return data.Samples{X: x, Y: y}
		}
		p.Tasks = append(p.Tasks, data.TaskData{Task: &data.Task{Name: fmt.Sprint("task ", i), Kind: data.Classification}, TrainSet: rows(few), TestSet: rows(400)})
	}
	return p
}

// along is the shipped network with directions of three features from the first.
func along(t *testing.T, first int) *Finder {
	t.Helper()
	n := *shipped(t).of
	m := mat.NewDense(30, 3, nil)
	for j := range 3 {
		m.Set(first+j, j, 1)
	}
	n.Directions = &model.Directions{M: m, Signal: 5} // as problems have that differ nowhere else
	f := must(NewFinder(&n))(t)
	return f
}

// Directions in which tasks differ help, and held-out rows leave those that say nothing of
// a problem: what is found then is what is found without, to the last bit.
func TestHeldOutRowsChooseTheDirections(t *testing.T) {
	right, wrong, none := along(t, 0), along(t, 10), shipped(t)
	var with, without []float64
	for seed := range uint64(6) {
		p := subspace(t, seed)
		a, x := solved(t, right, p, Options{}, Parts{})
		b, y := solved(t, none, p, Options{}, Parts{})
		with, without = append(with, x.Test.Mean), append(without, y.Test.Mean)
		if !a.Directed || b.Directed {
			t.Errorf("seed %d: directions that help are used: %t, none: %t", seed, a.Directed, b.Directed)
		}
		c, left := solved(t, wrong, p, Options{}, Parts{})
		if c.Directed || !c.Tried[0].Directed {
			t.Errorf("seed %d: directions of other features are used", seed)
		}
		_, leftOut := solved(t, right, p, Options{}, Parts{NoDirections: true})
		for what, got := range map[string]*evidence.Tuned{"left": left, "left out": leftOut} {
			if !mat.Equal(got.Result.W, y.Result.W) || !mat.Equal(got.Omega, y.Omega) {
				t.Errorf("seed %d: where directions are %s there is another W than without", seed, what)
			}
		}
		if rows, _ := x.Result.W.Dims(); rows != p.Cols() {
			t.Errorf("seed %d: W has %d rows, want one for each of %d features", seed, rows, p.Cols())
		}
		p.Features = make([]string, p.Cols()) // other features
		if bench(t, right, p, Options{}).First(Parts{}).Directed {
			t.Errorf("seed %d: directions are taken for other features", seed)
		}
	}
	if a, b := stat.Mean(with, nil), stat.Mean(without, nil); a > 0.8*b {
		t.Errorf("mean error %v with directions, %v without", a, b)
	}
}

// Directions along which a problem has little of the usual signal have to convince: fewer
// problems keep them, and those that differ there still do.
func TestStrangeDirectionsHaveToConvince(t *testing.T) {
	kept := func(first int, usual float64) (count int) {
		f := along(t, first)
		f.of.Directions.Signal = usual
		for seed := range uint64(12) {
			tried := choose(t, bench(t, f, subspace(t, seed), Options{}), Parts{}).Tried
			if without := tried[1]; without.Directed || !tried[0].Directed {
				t.Fatalf("seed %d: %s is followed by %s", seed, tried[0].Name(), without.Name())
			} else if without.Verdict != Taken {
				count++
			}
		}
		return count
	}
	if a, b := kept(0, 1), kept(0, 1e6); a != 12 || b < 10 {
		t.Errorf("of 12 problems that differ along the directions %d keep them, %d where the signal is little", a, b)
	}
	if a, b := kept(2, 0), kept(2, 1e6); b >= a {
		t.Errorf("along one direction that helps and two that do not %d of 12 problems keep them, %d where the signal is little", a, b)
	}
}

// Problems that differ along the directions have the usual signal there, and others have
// little; nobody knows where training problems had none.
func TestDirectionsOfAProblem(t *testing.T) {
	p := subspace(t, 3)
	for _, c := range []struct {
		first         int
		usual         float64
		least, margin float64
		most          float64
	}{
		{0, 5, 0.5, leave, 2}, {10, 5, 0, -keep, 0.4}, {0, 500, 0, -keep, 0.02}, {0, 0, math.NaN(), 0, math.NaN()},
	} {
		f := along(t, c.first)
		f.of.Directions.Signal = c.usual
		d := f.Directions(p)
		if d.Signal < c.least || d.Signal > c.most || math.IsNaN(d.Signal) != (c.usual == 0) || d.Margin() != c.margin {
			t.Errorf("directions from feature %d, usual signal %v: signal %v, margin %v; want %v to %v, %v", c.first, c.usual, d.Signal, d.Margin(), c.least, c.most, c.margin)
		}
	}
	if d := shipped(t).Directions(p); d != nil {
		t.Errorf("without experience of these features there are directions: %v", d)
	}
}
