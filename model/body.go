package model

import (
	"l2mt/data"
	"l2mt/layers"
)

// Body turns a problem into E, the embeddings of its tasks, which the estimator
// turns into Phi and c. Params and Build are enough for most.
type Body struct {
	// Params declares the body's parameters; nil if there are none.
	Params func(c Config) []Spec
	// Pairs says that E has m^2 rows, row i m + j for tasks i and j, else m; an estimator takes
	// one or the other. A body of pairs looks at statistics alone, so that it serves problems of
	// any number of features. A row of its E follows from the same rows of the statistics, and
	// both are the same for two tasks in either order: pairs of many tasks take much memory, and
	// are embedded some at a time, each once.
	Pairs bool
	// Graph says whether the body aggregates over the label graph, which is then
	// made with the payload; nil means that it never does.
	Graph func(c Config) bool
	// Statistics are inputs of the body beside the rows of a problem.
	Statistics []Statistic
	// Build adds E to the graph, with Config.Hidden columns if the rows are tasks. Permuting
	// the tasks must permute E.
	Build func(in BodyInputs) *layers.Node
}

// rows is the number of rows of E for so many tasks.
func (c Config) rows(tasks int) int {
	if c.FeatureFree() {
		return tasks * tasks
	}
	return tasks
}

// Statistic is a matrix of numbers of a problem, computed once for each and an
// input of the graph: sizes of tasks, say, or inner products of their means.
type Statistic struct {
	// Name is unique within a body.
	Name string
	// Cols is the number of its columns. It has a row for each of E.
	Cols int
	// Compute looks at the training rows of a problem. The Rows it returns compute the matrix.
	Compute func(p *data.ProblemData) (Rows, error)
}

// Rows appends a row of a matrix to out.
type Rows func(out []float64, row int) []float64

// values are some rows of the statistic, which must be as many as declared and finite.
func (s Statistic) values(compute Rows, rows []int) (v []float64, err error) {
	for _, row := range rows {
		v = compute(v, row)
	}
	want := len(rows) * s.Cols
	if len(v) != want {
		return nil, data.Invalid("statistic %q: it has %d numbers; %d rows of %d have %d",
			s.Name, len(v), len(rows), s.Cols, want)
	}
	i := layers.NotFinite(v)
	if i >= 0 {
		return nil, data.Invalid("statistic %q: entry %d is %v; it must be finite",
			s.Name, i, v[i])
	}
	return v, nil
}

// BodyInputs are the inputs of a body: the problem in the graph's slot.
type BodyInputs struct {
	Config Config
	// Params and Statistics are inputs of the graph by their names.
	Params, Statistics Inputs
	// Slot is for the operations of layers on the rows of the problem.
	Slot *layers.Slot
}

// Product is X L (n x h) for a weight matrix (d x h), X being the features of the
// problem's rows.
func (in BodyInputs) Product(l *layers.Node) *layers.Node {
	if l.Dims() != 2 || l.Shape()[0] != in.Config.Features {
		panic(ErrConfig.Errorf("weights of shape %v for rows of %d features; the weights need a row for each",
			l.Shape(), in.Config.Features))
	}
	return layers.Product(in.Slot, l)
}
