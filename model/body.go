package model

import (
	"fmt"
	"math"
	"slices"

	"l2mt/data"
	"l2mt/layers"
)

// Body turns a problem into E, the embeddings of its tasks, of which the
// estimator makes Phi and c.
type Body struct {
	// Params declares the body's parameters; nil if there are none.
	Params func(c Config) []Spec
	// Per says what the rows of E stand for. An estimator takes one or the other.
	Per Per
	// Width is h, the number of columns of E; nil means Config.Hidden.
	Width func(c Config) int
	// Graph says whether the body aggregates over the label graph, which is then
	// made with the payload; nil means that it never does.
	Graph func(c Config) bool
	// Statistics are what the body needs of a problem beside its rows. They cannot
	// follow a head that is trained.
	Statistics []Statistic
	// FeatureFree says that the body looks at its statistics alone. It then serves
	// problems of any number of features.
	FeatureFree bool
	// Apart says that a row of E follows from the same row of the statistics, so that
	// rows can be embedded some at a time: those of all pairs of many tasks take much
	// memory. It is for bodies that are FeatureFree.
	Apart bool
	// Build adds E to the graph. What stands in the rows of tasks that the problem
	// at hand does not have is of no matter. Permuting the tasks must permute E.
	Build func(in BodyInputs) *layers.Node
}

// Per says what the rows of a matrix stand for.
type Per int

// The two kinds of rows, for a problem of m tasks.
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
	tasks, blocks := min(toTasks, fromTasks), 1
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
	// Of computes the matrix, row-major, from the training rows.
	Of func(p *data.ProblemData) ([]float64, error)
}

// of is the statistic of a problem, of the right size and finite.
func (s Statistic) of(p *data.ProblemData) ([]float64, error) {
	v, err := s.Of(p)
	if want := s.Per.rows(len(p.Tasks)) * s.Cols; err == nil && len(v) != want {
		err = fmt.Errorf("%w: it has %d numbers; a row of %d for every %s makes %d", data.ErrInvalid, len(v), s.Cols, s.Per, want)
	}
	if i := slices.IndexFunc(v, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }); err == nil && i >= 0 {
		err = fmt.Errorf("%w: entry %d is %v; it must be finite", data.ErrInvalid, i, v[i])
	}
	if err != nil {
		return nil, fmt.Errorf("model: problem %q: statistic %q: %w", p.Name, s.Name, err)
	}
	return v, nil
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
func (in BodyInputs) Product(l *layers.Node) *layers.Node { return in.Products(l)[0] }

// Products is Product for several weight matrices, which is faster than each on its
// own.
func (in BodyInputs) Products(l ...*layers.Node) (products layers.Nodes) {
	if in.features == nil {
		return layers.Products(in.Slot, l...)
	}
	for _, w := range l {
		products = append(products, layers.Times(in.Slot, in.features, w))
	}
	return products
}

// Readout is E (tasks x h) of H (n x h) as the configuration says: each task's
// rows by the weights of the readout, and of length 1 if it is to be.
func (in BodyInputs) Readout(h *layers.Node) *layers.Node {
	e := layers.Readout(in.Slot, h)
	if in.Config.Unit {
		e = layers.Unit(e)
	}
	return e
}

// Width is h, the number of columns of E.
func (c Config) Width() int {
	if width := bodies.get(c.Body).Width; width != nil {
		return width(c)
	}
	return c.Hidden
}

// usesGraph says whether the body goes over the label graph.
func (c Config) usesGraph() bool {
	graph := bodies.get(c.Body).Graph
	return graph != nil && graph(c)
}
