package generated

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

func problems(t *testing.T, c Config) ([]*data.ProblemData, []*mat.SymDense) {
	t.Helper()
	problems, truth, err := Problems(c)
	if err != nil {
		t.Fatal(err)
	}
	return problems, truth
}

// The covariance of least-squares weights on many rows is the one that the problem
// is said to be drawn with.
func TestProblemsHaveTheCovarianceThatTheySay(t *testing.T) {
	const features, draws, tasks, rows = 40, 20, 4, 300
	families := Families()
	problems, truth := problems(t, Config{Kind: data.Regression, Problems: draws * len(families), MinTasks: tasks, MaxTasks: tasks, Rows: rows, TestRows: 2, Features: features, Seed: 1})
	off := make([]*mat.Dense, len(families))
	for k, p := range problems {
		w := mat.NewDense(features, tasks, nil)
		for i, task := range p.Tasks {
			x := mat.NewDense(rows, features, nil)
			for a := range rows {
				row := task.TrainSet.X.Row(a)
				for q, v := range row.Value {
					x.Set(a, row.Column(q), float64(v))
				}
			}
			if err := w.Slice(0, features, i, i+1).(*mat.Dense).Solve(x, mat.NewDense(rows, 1, task.TrainSet.Y)); err != nil {
				t.Fatal(err)
			}
		}
		var found mat.Dense
		found.Mul(w.T(), w)
		found.Scale(1./features, &found)
		found.Sub(&found, truth[k])
		found.Scale(1./draws, &found)
		if f := k % len(families); off[f] == nil {
			off[f] = &found
		} else {
			off[f].Add(off[f], &found)
		}
	}
	// An entry has a standard error of at most (2 / 800)^1/2 = 0.05, and noise in W
	// adds noise^2 features / rows to the diagonal.
	for f, off := range off {
		for i, v := range off.RawMatrix().Data {
			limit := 0.2
			if i%(tasks+1) == 0 {
				limit += families[f].Noise * families[f].Noise
			}
			if !(math.Abs(v) < limit) {
				t.Errorf("%s: entry %d is off by %.3f", families[f].Name, i, v)
			}
		}
	}
}

func TestProblems(t *testing.T) {
	c := Config{Kind: data.Classification, Problems: 14, MinTasks: 2, MaxTasks: 5, Rows: 2, TestRows: 30, Features: 50, Seed: 3}
	drawn, truth := problems(t, c)
	again, _ := problems(t, c)
	for k, p := range drawn {
		if err := data.CheckCovariance(truth[k], len(p.Tasks)); err != nil {
			t.Error(err)
		}
		for i, task := range p.Tasks {
			if y := task.TrainSet.Y; len(y) != 2 || !slices.Contains(y, 1) || !slices.Contains(y, -1) || task.TestSet.X.Rows() != 30 {
				t.Errorf("%s: the labels of two rows are %v, there are %d to test on", task.Name, y, task.TestSet.X.Rows())
			}
			if same := again[k].Tasks[i].TestSet; !slices.Equal(same.Y, task.TestSet.Y) || !slices.Equal(same.X.Row(7).Value, task.TestSet.X.Row(7).Value) {
				t.Errorf("%s: drawn twice, the rows differ", task.Name)
			}
		}
	}
}
