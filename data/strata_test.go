package data

import (
	"testing"

	"l2mt/data/datatest"
)

// Rows of a task that differ in their class alone are dealt at random: no fold has its share of each.
func TestFoldsAreNoStrata(t *testing.T) {
	p := &ProblemData{Problem: &Problem{Name: "p"}}
	for i := range 100 {
		s := Samples{}
		for j := range 10 {
			s.Y = append(s.Y, float64(2*(j%2)-1))
		}
		x := make([]float32, 10)
		for j := range x {
			x[j] = float32(i)
		}
		s.X, _ = NewDense(10, 1, x)
		p.Tasks = append(p.Tasks, TaskData{Task: &Task{Name: string(rune('a' + i)), Kind: Classification}, TrainSet: s})
	}
	uneven := 0
	for _, fold := range datatest.Must(p.Folds(5, 1, nil))(t) {
		for _, task := range fold.Tasks {
			if y := task.ValidationSet.Y; y[0] == y[1] {
				uneven++
			}
		}
	}
	// Two of ten rows, five of each class, are of one class with a probability of 4/9.
	if uneven < 180 || uneven > 265 {
		t.Errorf("%d of 500 pairs are of one class; 222 are expected", uneven)
	}
}
