package data

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// The covariance of least-squares weights on many rows is the one that the problem
// is said to be drawn with.
func TestGeneratedProblemsHaveTheCovarianceThatTheySay(t *testing.T) {
	const features, draws, tasks, rows = 40, 20, 4, 300
	families := Families()
	for _, words := range []bool{false, true} {
		d, file, truth, err := Generate(GenerateConfig{Kind: Regression, Problems: draws * len(families), MinTasks: tasks, MaxTasks: tasks, Rows: rows, TestRows: 2, Features: features, Words: words, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		problems, err := file.Bind(d, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		off := make([]*mat.Dense, len(families))
		for k, p := range problems {
			w := mat.NewDense(features, tasks, nil)
			for i, task := range p.Tasks {
				x := mat.NewDense(rows, features, nil)
				for a := range rows {
					addRow(x.RawRowView(a), 1, task.TrainSet.X.Row(a))
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
		// adds noise^2 features / rows to the diagonal, more where words are rare.
		for f, off := range off {
			for i, v := range off.RawMatrix().Data {
				limit := 0.2
				if i%(tasks+1) == 0 {
					limit += families[f].Noise * families[f].Noise
				}
				if !(math.Abs(v) < limit) {
					t.Errorf("%s, words %v: entry %d is off by %.3f", families[f].Name, words, i, v)
				}
			}
		}
	}
}

func TestGenerate(t *testing.T) {
	c := GenerateConfig{Kind: Classification, Problems: 14, MinTasks: 2, MaxTasks: 5, Rows: 2, TestRows: 30, Features: 50, Seed: 3}
	for _, c.Words = range []bool{false, true} {
		d, file, truth, err := Generate(c)
		if err != nil {
			t.Fatal(err)
		}
		again, _, _, err := Generate(c)
		if err != nil || again.Fingerprint() != d.Fingerprint() {
			t.Errorf("words %v: drawn twice, the dataset differs (%v)", c.Words, err)
		}
		raw, err := file.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if file, err = parseProblems(bytes.Replace(raw, []byte(`"path":""`), []byte(`"path":"generated.npz"`), 1)); err != nil {
			t.Fatal(err)
		}
		problems, err := file.Bind(d, "", nil)
		if err != nil || len(problems) != c.Problems {
			t.Fatal(len(problems), err)
		}
		for k, p := range problems {
			if err := CheckCovariance(truth[k], len(p.Tasks)); err != nil {
				t.Error(err)
			}
			for _, task := range p.Tasks {
				if y := task.TrainSet.Y; len(y) != 2 || !slices.Contains(y, 1) || !slices.Contains(y, -1) || task.TestSet.X.Rows() != 30 {
					t.Errorf("%s: the labels of two rows are %v, there are %d to test on", task.Name, y, task.TestSet.X.Rows())
				}
			}
		}
	}
	for want, change := range map[string]func(c *GenerateConfig){
		`"ranking"`: func(c *GenerateConfig) { c.Kind = "ranking" }, "0 problems": func(c *GenerateConfig) { c.Problems = 0 },
		"3 to 2": func(c *GenerateConfig) { c.MinTasks, c.MaxTasks = 3, 2 }, "1 and 30 rows": func(c *GenerateConfig) { c.Rows = 1 },
		"0 features": func(c *GenerateConfig) { c.Features, c.Words = 0, false }, "39 features": func(c *GenerateConfig) { c.Features, c.Words = 39, true },
	} {
		wrong := c
		change(&wrong)
		if _, _, _, err := Generate(wrong); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
