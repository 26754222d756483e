package multitask

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"

	"l2mt/data"
)

// TrainingSet is the data of problem (1), checked. It keeps the feature
// matrices without copying them, and any number of fits may share it.
//
// Tasks of more than two classes are learned class by class, each against the
// rest, with one Omega for all. W then has a block of d rows for every one of the
// C classes that the tasks have together. tr(W Omega^-1 W') is the sum over these
// blocks, and so the weights of a class lean on the weights of other tasks for the
// same class. Where a task lacks a class there are no losses, and its best weights
// reduce the block's term to the other tasks, with their part of Omega. The
// intercept is the common one, unless the class is foreign to it.
//
// A task that borrows (data.Samples.Borrows) does not count as much as another, but as much as
// its rows: its n_i is the mean n of the other tasks, if they have more rows.
type TrainingSet struct {
	loss    Loss
	cols    int  // of X, d
	classes int  // C, or 1: then W is d x m
	pairs   bool // tasks tell different classes apart, and have no common intercept
	tasks   []task
	fewer   func() *TrainingSet // fewerRows, once
}

// task is the rows of a task or, where there are C classes, of one of the C tasks
// that it is made of, a class against the rest. A class that the task lacks has no
// rows.
type task struct {
	x       data.Matrix
	y       []float64
	share   float64 // 1/n_i, with n_i the sum of what its rows count
	borrows bool
	foreign bool      // the class is of tasks alone that have no class in common with this one
	weights []float64 // of the rows of x in the loss
}

// Training returns the training rows of a problem, checked. The loss is logistic for
// classification and square for regression. Of several classes y has the number of a row's
// class. A task may lack some.
func Training(problem *data.ProblemData) (*TrainingSet, error) {
	if problem != nil && problem.Problem == nil { // tasks will do
		described := *problem
		described.Problem = &data.Problem{}
		problem = &described
	}
	err := problem.Check()
	if err != nil {
		return nil, ErrInvalidData.Errorf("%w", err)
	}
	p := &TrainingSet{
		loss:    Square,
		cols:    problem.Cols(),
		classes: max(1, problem.Several()),
	}
	if problem.Kind() == data.Classification {
		p.loss = Logistic
	}
	for _, t := range problem.Tasks {
		s := t.TrainSet
		p.pairs = p.pairs || t.Positive != problem.Tasks[0].Positive
		if t.Kind != problem.Kind() {
			return nil, ErrInvalidData.Errorf("task %q, kind: it is %s but the first task is %s", t.Name,
				t.Kind, problem.Kind())
		}
		err := p.checkSamples(s)
		if err != nil {
			return nil, fmt.Errorf("task %q: %w", t.Name, err)
		}
		for c := range p.classes {
			part := task{
				x:       s.X,
				y:       s.Y,
				borrows: s.Borrows(p.loss == Logistic),
			}
			part.weights = s.Weights()
			if p.classes > 1 {
				part.y = Against(s.Y, c)
			}
			p.tasks = append(p.tasks, part)
		}
	}
	p.share()
	for c := range p.classes {
		err := p.omit(c, problem)
		if err != nil {
			return nil, err
		}
	}
	p.fewer = sync.OnceValue(p.fewerRows)
	return p, nil
}

// share weighs the rows.
func (p *TrainingSet) share() {
	rows := 0.0
	lenders := 0.0
	for _, t := range p.tasks {
		if !t.borrows {
			rows += floats.Sum(t.weights)
			lenders++
		}
	}
	for i := range p.tasks {
		t := &p.tasks[i]
		n := cmp.Or(floats.Sum(t.weights), 1)
		if t.borrows && lenders > 0 {
			n = max(n, rows/lenders)
		}
		t.share = 1 / n
		t.weights = slices.Clone(t.weights)
		floats.Scale(t.share, t.weights)
	}
}

// omit leaves out the rows of tasks that lack a class of several, unless it is in tasks alone
// that have no other.
func (p *TrainingSet) omit(class int, problem *data.ProblemData) error {
	if p.loss == Square {
		return nil
	}
	var labels []float64
	contrast := false // a task has rows of the class and others
	for i := class; i < len(p.tasks); i += p.classes {
		y := p.tasks[i].y
		labels = append(labels, y...)
		contrast = contrast || slices.Contains(y, 1) && slices.Contains(y, -1)
	}
	n := len(labels)
	if n == 0 || slices.Min(labels) == slices.Max(labels) &&
		(p.classes == 1 || labels[0] > 0) {
		return ErrInvalidData.Errorf("y: all %d training rows of all tasks have the same label; there must be two labels", n)
	}
	known := slices.Contains(labels, 1)
	if p.classes == 1 || known && !contrast {
		return nil
	}
	for i, foreign := range problem.Foreign(class) {
		t := &p.tasks[i*p.classes+class]
		if !slices.Contains(t.y, 1) {
			t.foreign = foreign || !known
			t.x = t.x.Take(nil)
			t.y = nil
			t.weights = nil
		}
	}
	return nil
}

// Against has +1 for the rows of a class and -1 for the rest.
func Against(y []float64, class int) []float64 {
	side := make([]float64, len(y))
	for i, v := range y {
		side[i] = -1
		if v == float64(class) {
			side[i] = 1
		}
	}
	return side
}

// checkSamples refuses rows of a task that are unfit for training.
func (p *TrainingSet) checkSamples(s data.Samples) error {
	if s.X.Cols() == 0 {
		return ErrInvalidData.Errorf("features: there are none; a task needs at least one")
	}
	for i, v := range s.X.SquaredNorms() {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return ErrInvalidData.Errorf("features, row %d: every entry must be finite", i)
		}
	}
	classes := float64(p.classes)
	for i, y := range s.Y {
		switch {
		case math.IsNaN(y) || math.IsInf(y, 0):
			return ErrInvalidData.Errorf("y, row %d: it is %v; it must be finite", i, y)
		case classes > 1 && (y < 0 || y >= classes || y != math.Trunc(y)):
			return ErrInvalidData.Errorf("y, row %d: it is %v; the classes have the numbers 0 to %d",
				i, y, p.classes-1)
		case classes == 1 && p.loss == Logistic && y != 1 && y != -1:
			return ErrInvalidData.Errorf("y, row %d: the label is %v; the logistic loss needs -1 or +1", i, y)
		}
	}
	return nil
}

// Tasks is the number of tasks m.
func (p *TrainingSet) Tasks() int {
	return len(p.tasks) / p.classes
}

// Cols is the number of features d.
func (p *TrainingSet) Cols() int {
	return p.cols
}

// Parts are the rows of every task. Tasks of more than two classes are that many parts, a
// class against the rest. The part of a class that a task lacks has no rows.
func (p *TrainingSet) Parts() []data.Samples {
	parts := make([]data.Samples, len(p.tasks))
	for i, t := range p.tasks {
		parts[i] = data.Samples{
			X: t.x,
			Y: t.y,
		}
	}
	return parts
}

// Derivatives are the first and second derivatives of the loss of every row of a part at
// its predictions f, over the number of rows.
func (p *TrainingSet) Derivatives(part int, f []float64, params Params) (first, second []float64) {
	t := p.weighted(params).tasks[part]
	first = make([]float64, len(f))
	second = make([]float64, len(f))
	p.loss.slopes(first, second, f, t.y, 0, t.weights)
	return first, second
}
