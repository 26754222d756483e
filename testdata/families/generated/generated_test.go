package generated

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

// The covariance of least-squares weights on many rows is the one that problems are
// said to be drawn with.
func TestProblemsHaveTheCovarianceThatTheySay(t *testing.T) {
	const features, draws, tasks, rows = 40, 20, 4, 300
	for _, family := range []Family{Unrelated, Alike} {
		off := mat.NewDense(tasks, tasks, nil)
		for seed := range uint64(draws) {
			p, truth, err := Problem(Config{Kind: data.Regression, Family: family, MinTasks: tasks, MaxTasks: tasks, Rows: rows, TestRows: 2, Features: features, Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			w := mat.NewDense(features, tasks, nil)
			for i, task := range p.Tasks {
				x := mat.NewDense(rows, features, nil)
				for a := range rows {
					for q, v := range task.TrainSet.X.Row(a).Value {
						x.Set(a, q, float64(v))
					}
				}
				if err := w.Slice(0, features, i, i+1).(*mat.Dense).Solve(x, mat.NewDense(rows, 1, task.TrainSet.Y)); err != nil {
					t.Fatal(err)
				}
			}
			var found mat.Dense
			found.Mul(w.T(), w)
			found.Scale(1./features, &found)
			found.Sub(&found, truth)
			found.Scale(1./draws, &found)
			off.Add(off, &found)
		}
		// An entry has a standard error of at most (2 / 800)^1/2 = 0.05, and noise in W
		// adds noise^2 features / rows to the diagonal.
		for i, v := range off.RawMatrix().Data {
			limit := 0.2
			if i%(tasks+1) == 0 {
				limit += noise * noise
			}
			if !(math.Abs(v) < limit) {
				t.Errorf("%s: entry %d is off by %.3f", family, i, v)
			}
		}
	}
}

func TestProblemsOfFewRowsHaveBothClasses(t *testing.T) {
	for seed := range uint64(10) {
		p, _, err := Problem(Config{Kind: data.Classification, Family: Alike, MinTasks: 5, MaxTasks: 5, Rows: 2, TestRows: 30, Features: 50, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range p.Tasks {
			if y := task.TrainSet.Y; len(y) != 2 || !slices.Contains(y, 1) || !slices.Contains(y, -1) || task.TestSet.X.Rows() != 30 {
				t.Errorf("%s: the labels of two rows are %v, there are %d to test on", task.Name, y, task.TestSet.X.Rows())
			}
		}
	}
}
