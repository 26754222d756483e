package multitask

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"l2mt/data"
)

// TrainingSet is the data of problem (1), checked. It keeps the feature
// matrices without copying them, and any number of fits may share it.
type TrainingSet struct {
	loss     Loss
	d        int // columns of X
	features int // d of g(Omega), which is more in a narrow
	tasks    []task

	once  sync.Once
	inner *narrow
}

type task struct {
	name string
	x    data.Matrix
	y    []float64
}

// NewTrainingSet checks the training data of the tasks. Names, one a task, serve
// error messages and may be left out.
func NewTrainingSet(loss Loss, tasks []data.Samples, names ...string) (*TrainingSet, error) {
	if loss != Logistic && loss != Square {
		return nil, fmt.Errorf("multitask: loss %q: %w: it is %q or %q", loss, ErrInvalidParams, Logistic, Square)
	}
	if len(tasks) == 0 {
		return nil, fmt.Errorf("multitask: %w: there are no tasks", ErrInvalidData)
	}
	p := &TrainingSet{loss: loss, tasks: make([]task, len(tasks))}
	for i, s := range tasks {
		name := fmt.Sprintf("task %d", i)
		if i < len(names) {
			name = fmt.Sprintf("task %q", names[i])
		}
		if err := checkSamples(s, loss == Logistic); err != nil {
			return nil, fmt.Errorf("multitask: %s: %w", name, err)
		}
		if i == 0 {
			p.d, p.features = s.X.Cols(), s.X.Cols()
		}
		if s.X.Cols() != p.d {
			return nil, fmt.Errorf("multitask: %s, X: %w: it has %d features but the first task has %d", name, ErrInvalidData, s.X.Cols(), p.d)
		}
		p.tasks[i] = task{name: name, x: s.X, y: s.Y}
	}
	return p, nil
}

// Training returns the training rows of a problem, with the given loss or, if
// that is empty, the one that suits the kind of its tasks: logistic for
// classification and square for regression.
func Training(p *data.ProblemData, loss Loss) (*TrainingSet, error) {
	samples := make([]data.Samples, len(p.Tasks))
	names := make([]string, len(p.Tasks))
	for i, t := range p.Tasks {
		samples[i], names[i] = t.TrainSet, t.Name
		if t.Kind != p.Tasks[0].Kind {
			return nil, fmt.Errorf("multitask: task %q, kind: %w: it is %s but that of the first task is %s", t.Name, ErrInvalidData, t.Kind, p.Tasks[0].Kind)
		}
	}
	if loss == "" {
		loss = Square
		if len(p.Tasks) > 0 && p.Tasks[0].Kind == data.Classification {
			loss = Logistic
		}
	}
	return NewTrainingSet(loss, samples, names...)
}

// checkSamples reports what makes the rows of one task unfit for training.
func checkSamples(s data.Samples, labels bool) error {
	if s.X == nil || s.X.Rows() == 0 || s.X.Cols() == 0 {
		return fmt.Errorf("features: %w: it needs at least one row and one feature", ErrInvalidData)
	}
	if len(s.Y) != s.X.Rows() {
		return fmt.Errorf("y: %w: it has %d entries for %d rows", ErrInvalidData, len(s.Y), s.X.Rows())
	}
	for i, v := range s.X.SquaredNorms() {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("features, row %d: %w: every entry must be finite", i, ErrInvalidData)
		}
	}
	positive := 0
	for i, y := range s.Y {
		if math.IsNaN(y) || math.IsInf(y, 0) {
			return fmt.Errorf("y, row %d: %w: it is %v; it must be finite", i, ErrInvalidData, y)
		}
		if labels && y != 1 && y != -1 {
			return fmt.Errorf("y, row %d: %w: the label is %v; the logistic loss needs -1 or +1", i, ErrInvalidData, y)
		}
		if y > 0 {
			positive++
		}
	}
	if labels && (positive == 0 || positive == len(s.Y)) {
		return fmt.Errorf("y: %w: all %d training rows have one label; both are needed", ErrInvalidData, len(s.Y))
	}
	return nil
}

// Tasks is the number of tasks m.
func (p *TrainingSet) Tasks() int { return len(p.tasks) }

// Cols is the number of features d.
func (p *TrainingSet) Cols() int { return p.d }

// each calls f for every task on the given number of goroutines.
func (p *TrainingSet) each(workers int, f func(i int, t *task)) {
	if workers <= 1 {
		for i := range p.tasks {
			f(i, &p.tasks[i])
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(workers, len(p.tasks)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(p.tasks); i = int(next.Add(1)) - 1 {
				f(i, &p.tasks[i])
			}
		})
	}
	wg.Wait()
}
