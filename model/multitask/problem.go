package multitask

import (
	"l2mt/data"
)

// Loss is the loss of problem (1) as a function of the prediction f and y.
type Loss string

// The losses.
const (
	// Logistic is ln(1 + exp(-y f)), for labels -1 and +1.
	Logistic Loss = "logistic"
	// Square is (y - f)^2.
	Square Loss = "square"
)

// Problem is the training data of problem (1), checked. It keeps the feature
// matrices without copying them, and any number of fits may share it.
type Problem struct {
	loss  Loss
	d     int
	tasks []task
}

type task struct {
	name string
	x    data.Matrix
	y    []float64
}

// NewProblem checks the training data of the tasks. Names, one a task, serve
// error messages and may be left out.
func NewProblem(loss Loss, tasks []data.Samples, names ...string) (*Problem, error) { return nil, nil }

// Training returns the training rows of a problem, with the given loss or, if
// that is empty, the one that suits the kind of its tasks: logistic for
// classification and square for regression.
func Training(p *data.ProblemData, loss Loss) (*Problem, error) { return nil, nil }

// Tasks is the number of tasks m.
func (p *Problem) Tasks() int { return len(p.tasks) }

// Cols is the number of features d.
func (p *Problem) Cols() int { return p.d }
