package layers

import (
	"errors"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
)

func TestBatchesRefuseTasksThatDoNotFit(t *testing.T) {
	r := data.Stream(1, "misfits")
	good := randomTasks(t, r, 3, 1, 4, 5)
	change := func(f func(tasks []Task)) []Task {
		tasks := append([]Task{}, good...)
		f(tasks)
		return tasks
	}
	for name, tasks := range map[string][]Task{
		"no tasks":        nil,
		"no rows":         {{X: PointsOf(newMatrix(t, r, 0, 3, 0))}},
		"too few weights": change(func(tasks []Task) { tasks[1].Weights = tasks[1].Weights[1:] }),
		"other features":  change(func(tasks []Task) { tasks[1].X = PointsOf(newMatrix(t, r, 5, 4, 1)) }),
		"other graph":     change(func(tasks []Task) { tasks[1].Graph = tasks[0].Graph }),
		"one graph only":  change(func(tasks []Task) { tasks[1].Graph = nil }),
	} {
		if _, err := NewBatch(Float32, NormSize, tasks); !errors.Is(err, data.ErrInvalid) && !errors.Is(err, data.ErrMismatch) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	datatest.Refused(NewBatch(Float32, "degree", good))(t, data.ErrInvalid, `"none" or "size"`)
	b := batchOf(t, Float32, NormSize, good)
	for _, rows := range [][]int{{4}, {4, 6}, {5, 4}, {4, 5, 1}} {
		other := batchOf(t, Float32, NormSize, randomTasks(t, r, 3, 1, rows...))
		if err := NewSlot(other).Put(b); !errors.Is(err, data.ErrMismatch) || other.Shape() == b.Shape() {
			t.Errorf("a graph for tasks of %v rows: the error is %v", rows, err)
		}
	}
	datatest.Check(t, NewSlot(b).Put(b))
}
