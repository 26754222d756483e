package layers

import (
	"fmt"
	"math"

	"l2mt/layers/linalg"
)

// Readout is E (tasks x h) from H (n x h): every task's row is the sum of
// w_i h_i over the task's rows, with the weights of the batch.
func Readout(s *Slot, h *Node) *Node {
	return Apply(Op{
		Name: "readout",
		Shape: func(in []Shape) Shape {
			s.fit("readout", in[0])
			return Shape{s.Tasks(), in[0][1]}
		},
		F32:     readout[float32](s),
		F64:     readout[float64](s),
		Slope32: readoutSlope[float32](s),
		Slope64: readoutSlope[float64](s),
	}, h)
}

func readout[T Float](s *Slot) Body[T] {
	return func(out View[T], in []View[T]) {
		b := stackOf[T](s.Batch)
		clear(out.Data)
		for i, w := range b.weights {
			axpy(out.Row(b.task[i]), w, in[0].Row(i))
		}
	}
}

// readoutSlope spreads the gradient of a task's row over the task's rows.
func readoutSlope[T Float](s *Slot) Body[T] {
	return func(out View[T], in []View[T]) {
		b := stackOf[T](s.Batch)
		clear(out.Data)
		for i, w := range b.weights {
			axpy(out.Row(i), w, in[2].Row(b.task[i]))
		}
	}
}

// Rows are the rows of task j in H (n x h).
func Rows(s *Slot, h *Node, j int) *Node {
	s.fit("rows of a task", h.Shape())
	return Slice(h, s.start[j], s.start[j+1])
}

// Slice are rows of a matrix, from one up to another. Gorgonia confuses its own slices where bounds
// differ by 256.
func Slice(x *Node, from, to int) *Node {
	name := fmt.Sprintf("rows %d:%d", from, to)
	return Apply(Op{
		Name: name,
		Shape: func(in []Shape) Shape {
			fit(len(in[0]) == 2 && 0 <= from && from < to && to <= in[0][0],
				"%s of an operand of shape %v; it must be a matrix with these rows", name, in[0])
			return Shape{to - from, in[0][1]}
		},
		F32:     sliced[float32](from, 0),
		F64:     sliced[float64](from, 0),
		Slope32: spread[float32](from, 0),
		Slope64: spread[float64](from, 0),
	}, x)
}

// Stack are matrices one below the other, such as the Rows of all tasks.
func Stack(parts ...*Node) *Node {
	return Apply(Op{
		Name: "stack",
		Shape: func(in []Shape) Shape {
			rows := 0
			for _, s := range in {
				fit(len(s) == 2 && s[1] == in[0][1], "stack of operands of shapes %v; they must be matrices with the same number of columns", in)
				rows += s[0]
			}
			return Shape{rows, in[0][1]}
		},
		F32: stacked[float32],
		F64: stacked[float64],
		Grad: func(in Nodes, _, grad *Node) (n Nodes) {
			from := 0
			for _, part := range in {
				to := from + part.Shape()[0]
				n = append(n, Slice(grad, from, to))
				from = to
			}
			return n
		},
	}, parts...)
}

func stacked[T Float](out View[T], in []View[T]) {
	rest := out.Data
	for _, part := range in {
		rest = rest[copy(rest, part.Data):]
	}
}

func axpy[T Float](y []T, a T, x []T) {
	linalg.Axpy(a, x, y)
}

func dot[T Float](x, y []T) (s T) {
	y = y[:len(x)]
	for i, v := range x {
		s += v * y[i]
	}
	return s
}

// Unit scales every row of E to length 1; a zero row stays zero.
func Unit(e *Node) *Node {
	return Apply(Op{
		Name:    "unit",
		Shape:   SameShape,
		F32:     unit[float32],
		F64:     unit[float64],
		Slope32: unitSlope[float32],
		Slope64: unitSlope[float64],
	}, e)
}

func unit[T Float](out View[T], in []View[T]) {
	clear(out.Data)
	for i := range out.Rows {
		r := length(in[0].Row(i))
		if r > 0 {
			axpy(out.Row(i), 1/r, in[0].Row(i))
		}
	}
}

// unitSlope is (g - u <u, g>)/||e|| with u = e/||e||.
func unitSlope[T Float](out View[T], in []View[T]) {
	clear(out.Data)
	for i := range out.Rows {
		u := in[1].Row(i)
		g := in[2].Row(i)
		r := length(in[0].Row(i))
		if r > 0 {
			axpy(out.Row(i), 1/r, g)
			axpy(out.Row(i), -dot(u, g)/r, u)
		}
	}
}

func length[T Float](x []T) T {
	return T(math.Sqrt(float64(dot(x, x))))
}
