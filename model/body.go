package model

import (
	"fmt"
	"math"
	"slices"

	"l2mt/data"
	"l2mt/layers"
)

// Body turns a problem into E, the embeddings of its tasks, of which the
// estimator makes Phi and c. Params and Build are enough for most.
type Body struct {
	// Params declares the body's parameters; nil if there are none.
	Params func(c Config) []Spec
	// Per says what the rows of E stand for. An estimator takes one or the other.
	Per Per
	// Graph says whether the body aggregates over the label graph, which is then
	// made with the payload; nil means that it never does.
	Graph func(c Config) bool
	// Statistics are what the body needs of a problem beside its rows. They cannot
	// follow a head that is trained.
	Statistics []Statistic
	// Build adds E to the graph, with Config.Hidden columns if the rows are tasks. What
	// stands in the rows of tasks that the problem at hand does not have is of no
	// matter. Permuting the tasks must permute E.
	Build func(in BodyInputs) *layers.Node
}

// Per says what the rows of a matrix stand for.
type Per int

// The two kinds of rows, for a problem of m tasks. A body of pairs looks at statistics
// alone, so that it serves problems of any number of features. A row of its E follows
// from the same rows of the statistics, and both are the same for two tasks in either
// order: pairs of many tasks take much memory, and are embedded some at a time, each once.
const (
	PerTask Per = iota // m rows
	PerPair            // m^2 rows, row i m + j being that of tasks i and j
)

// String is what a row stands for, in words.
func (p Per) String() string { return [...]string{"task", "pair of tasks"}[p] }

func (p Per) rows(tasks int) int {
	if p == PerPair {
		return tasks * tasks
	}
	return tasks
}

// move copies rows of the given width from a matrix for so many tasks to one for
// more or fewer: those of the tasks that both have.
func (p Per) move(to []float64, toTasks int, from []float64, fromTasks, width int) {
	tasks := min(toTasks, fromTasks)
	blocks := 1
	if p == PerPair {
		blocks = tasks
	}
	for i := range blocks {
		copy(to[i*toTasks*width:][:tasks*width], from[i*fromTasks*width:])
	}
}

// Statistic is a matrix of numbers of a problem, computed once for each and an
// input of the graph: sizes of tasks, say, or inner products of their means.
type Statistic struct {
	// Name is unique within a body.
	Name string
	// Per says what its rows stand for, and Cols how many columns it has.
	Per  Per
	Cols int
	// Of looks at the training rows of a problem. What it returns computes the matrix.
	Of func(p *data.ProblemData) (Rows, error)
}

// Rows appends the rows of a matrix from one up to another to out.
type Rows func(out []float64, from, to int) []float64

// RowsOf is a matrix of so many columns, row-major.
func RowsOf(values []float64, cols int) Rows {
	return func(out []float64, from, to int) []float64 {
		end := min(to*cols, len(values))
		return append(out, values[min(from*cols, end):end]...)
	}
}

// of is the statistic of a problem. Its rows are computed once, or of many tasks, where
// they are taken once and some at a time, when they are.
func (s Statistic) of(p *data.ProblemData, inParts bool) (Rows, error) {
	rows, err := s.Of(p)
	if err != nil {
		return nil, s.wrong(p, err)
	}
	if inParts {
		return rows, nil
	}
	count := s.Per.rows(len(p.Tasks))
	v := rows(make([]float64, 0, count*s.Cols), 0, count)
	if err := s.check(v, count); err != nil {
		return nil, s.wrong(p, err)
	}
	return RowsOf(v, s.Cols), nil
}

func (s Statistic) wrong(p *data.ProblemData, err error) error {
	return fmt.Errorf("problem %q: statistic %q: %w", p.Name, s.Name, err)
}

// check tells what is wrong with a number of rows.
func (s Statistic) check(v []float64, rows int) error {
	if len(v) != rows*s.Cols {
		return data.ErrInvalid.Errorf("it has %d numbers; a row of %d for every %s makes %d", len(v), s.Cols, s.Per, rows*s.Cols)
	}
	if i := slices.IndexFunc(v, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }); i >= 0 {
		return data.ErrInvalid.Errorf("entry %d is %v; it must be finite", i, v[i])
	}
	return nil
}

// BodyInputs are what a body builds on: the problem in the graph's slot.
type BodyInputs struct {
	Config Config
	// Params and Statistics are inputs of the graph by their names.
	Params, Statistics Inputs
	// Slot is for the operations of layers on the rows of the problem.
	Slot *layers.Slot

	features *layers.Node // what layers of a head make of the rows; nil without
}

// Product is X L (n x h) for a weight matrix (d x h), X being the features of the
// problem's rows, or what the head makes of them.
func (in BodyInputs) Product(l *layers.Node) *layers.Node {
	if l.Dims() != 2 || l.Shape()[0] != in.Config.Features {
		panic(ErrConfig.Errorf("weights of shape %v for rows of %d features", layers.Shape(l.Shape()), in.Config.Features))
	}
	if in.features == nil {
		return layers.Product(in.Slot, l)
	}
	return layers.Times(in.Slot, in.features, l)
}

// usesGraph says whether the body goes over the label graph.
func (c Config) usesGraph() bool {
	graph := bodies.get(c.Body).Graph
	return graph != nil && graph(c)
}
