package data

import (
	"math"
	"slices"
	"testing"

	"l2mt/data/datatest"
)

// Groups of a dataset with three classes are tasks of those that they have, and
// come back from the file with the numbers of their classes.
func TestProblemsOfSeveralClasses(t *testing.T) {
	d := madeClasses(t, 30, 30, 30)
	d.Groups, d.Group = []string{"g0", "g1"}, make([]int32, 90)
	for i, c := range d.Label {
		if c == 2 || i%2 == 0 {
			d.Group[i] = 1 // the first group lacks the last class
		}
	}
	train, _, err := GroupProblems(d, SampleConfig{All: true})
	datatest.Check(t, err)
	raw := datatest.Must(train.Encode())(t)
	file := datatest.Must(parseProblems(raw))(t)
	problems := datatest.Must(file.Bind(d))(t)
	p := problems[0]
	if p.Several() != 3 || !slices.Equal(p.Classes, d.Classes) {
		t.Fatalf("classes %q", p.Classes)
	}
	for i, want := range [][]float64{{0, 1}, {0, 1, 2}} {
		task := p.Tasks[i]
		for k, s := range task.sets() {
			for j, y := range s.Y {
				if row := task.splits()[k].rows[j]; int32(y) != d.Label[row] || d.Group[row] != int32(i) {
					t.Errorf("task %q: row %d of class %d in group %d has %v", task.Name, row, d.Label[row], d.Group[row], y)
				}
			}
			have := slices.Compact(slices.Sorted(slices.Values(s.Y)))
			datatest.Equal(t, have, want, "task %q: split %d has the classes", task.Name, k)
		}
	}
}

func TestRowsOfAClassThatTheProblemDoesNotList(t *testing.T) {
	text := `{"schema": 1, "dataset": {"path": "made"}, "problems": [{"name": "p", "classes": ["c0", "c1", "c2"], "tasks": [{"name": "t", "kind": "classification", "train": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]}]}]}`
	datatest.Refused(datatest.Must(parseProblems([]byte(text)))(t).Bind(madeClasses(t, 3, 3, 3, 3)))(t, nil, `has the class "c3", which the problem does not list`)
}

// Probabilities are as NumPy has them: p = 1/(1 + exp(-f/2)), p /= p.sum().
func TestProbabilitiesOfClasses(t *testing.T) {
	p := make([]float64, 3)
	Probabilities(p, []float64{1, -3, math.Inf(-1)}, 2)
	first, second := 1/(1+math.Exp(-0.5)), 1/(1+math.Exp(1.5))
	near(t, "p, and that of what the task lacks", 0, p, []float64{first / (first + second), second / (first + second), 0})
	Probabilities(p, []float64{-800, -801, -900}, 1)
	near(t, "p of small scores", 0, p[:1], []float64{1 / (1 + math.Exp(-1))})
}
