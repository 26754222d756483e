package layers

import (
	"fmt"

	"l2mt/data"
	"l2mt/layers/linalg"
)

// Points are the rows of one task's X, entry by entry.
type Points interface {
	Rows() int
	Cols() int
	NNZ() int
	// Visit calls entry for the stored entries of row i, columns ascending.
	Visit(i int, entry func(j int, v float64))
}

// PointsOf returns the rows of a matrix as Points.
func PointsOf(x data.Matrix) Points {
	return matrixPoints{x}
}

type matrixPoints struct{ data.Matrix }

func (x matrixPoints) Visit(i int, entry func(j int, v float64)) {
	r := x.Row(i)
	for p, v := range r.Value {
		entry(r.Column(p), float64(v))
	}
}

// Task is the input of one task.
type Task struct {
	// X is n x d.
	X Points
	// Weights are the readout's: the task is embedded as the sum of w_i h_i.
	Weights []float64
	// Graph is the label graph of the n rows; nil of all tasks when nothing is aggregated.
	Graph *data.LabelGraph
}

// Norm says how the aggregation over the label graph G is scaled.
type Norm string

// The scalings of the aggregation.
const (
	NormNone Norm = "none" // P = G, the paper's
	NormSize Norm = "size" // P = G/n
)

// Batch is the data of one multitask problem in the form the operations want:
// the rows of all tasks stacked. It never changes, so any number of graphs may
// share one.
type Batch struct {
	start []int // task j has the rows start[j]:start[j+1]
	stack any   // *stack[T] in the precision
}

// stack is the part of a batch that depends on the precision.
type stack[T Float] struct {
	x       features[T]
	task    []int // of every row
	weights []T
	graph   *aggregation[T] // nil when nothing is aggregated
}

// aggregation is P = C (scale C') - scale S of all tasks, block diagonal.
type aggregation[T Float] struct {
	class   []int32        // of every row, numbered through all tasks: C
	classes *linalg.CSR[T] // scale C', classes x n
	minus   *linalg.CSR[T] // -scale S, n x n
}

// NewBatch stacks the tasks of a problem, which has some, all of the same features.
func NewBatch(dtype DType, norm Norm, tasks []Task) (*Batch, error) {
	b := &Batch{start: []int{0}}
	for j, t := range tasks {
		n := t.X.Rows()
		if n == 0 || len(t.Weights) != n {
			return nil, data.Invalid("task %d: %d rows and %d readout weights; the numbers must be equal, and at least 1",
				j, n, len(t.Weights))
		}
		b.start = append(b.start, b.rows()+n)
	}
	if dtype == Float64 {
		b.stack = newStack[float64](norm, tasks)
	} else {
		b.stack = newStack[float32](norm, tasks)
	}
	return b, nil
}

func newStack[T Float](norm Norm, tasks []Task) *stack[T] {
	s := &stack[T]{}
	var x []Points
	for j, t := range tasks {
		x = append(x, t.X)
		for _, w := range t.Weights {
			s.task = append(s.task, j)
			s.weights = append(s.weights, T(w))
		}
	}
	s.x = newFeatures[T](x, false)
	if tasks[0].Graph != nil {
		s.graph = newAggregation[T](norm, tasks)
	}
	return s
}

// newAggregation is the aggregation of the tasks' rows over their label graphs.
func newAggregation[T Float](norm Norm, tasks []Task) *aggregation[T] {
	a := &aggregation[T]{}
	var scale []T // of every row
	var index []int32
	var value []T
	ptr := []int32{0}
	classes := 0
	for _, t := range tasks {
		g := t.Graph
		start := len(scale)
		w := T(1)
		if norm == NormSize {
			w = T(1 / float64(len(g.Class)))
		}
		for i, c := range g.Class {
			a.class = append(a.class, int32(classes)+c)
			scale = append(scale, w)
			for _, q := range g.Index[g.Ptr[i]:g.Ptr[i+1]] {
				index = append(index, int32(start)+q)
				value = append(value, -w)
			}
			ptr = append(ptr, int32(len(index)))
		}
		classes += g.Classes
	}
	a.minus = linalg.NewCSR(len(scale), ptr, index, value)
	rows := make([]int32, len(scale)+1) // of scale C, with one entry each
	for i := range rows {
		rows[i] = int32(i)
	}
	a.classes = linalg.NewCSR(classes, rows, a.class, scale).Transpose()
	return a
}

// stackOf is the batch in the graph's precision.
func stackOf[T Float](b *Batch) *stack[T] {
	return b.stack.(*stack[T])
}

// Shape names the shape of a batch, the rows of its tasks.
func (b *Batch) Shape() string {
	return fmt.Sprint(b.start)
}

// Tasks is the number of tasks.
func (b *Batch) Tasks() int {
	return len(b.start) - 1
}

func (b *Batch) rows() int {
	return b.start[b.Tasks()]
}

// Slot is the place in a graph for a batch, which others of its shape may take before a run.
type Slot struct {
	*Batch
}

// fit panics unless a matrix has the rows of the slot.
func (s *Slot) fit(what string, in Shape) {
	fit(len(in) == 2 && in[0] == s.rows(),
		"%s of an operand of shape %v; it must be a matrix with a row for each of the problem's, %d", what, in, s.rows())
}
