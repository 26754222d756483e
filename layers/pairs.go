package layers

import "fmt"

// Operations on matrices with a row for every pair of tasks: row i m + j is that of
// tasks i and j.

// Columns are the columns from..to-1 of a matrix.
func Columns(a *Node, from, to int) *Node {
	return Apply(Op{
		Name: fmt.Sprintf("columns%d:%d", from, to),
		Shape: func(in []Shape) Shape {
			fit(len(in[0]) == 2 && 0 <= from && from < to && to <= in[0][1], "columns %d to %d of an operand of shape %v; it must be a matrix that has them", from, to, in[0])
			return Shape{in[0][0], to - from}
		},
		F32: columns[float32](from),
		F64: columns[float64](from),
		Grad: func(in Nodes, _, grad *Node) Nodes {
			cols := in[0].Shape()[1]
			return Nodes{Apply(Op{
				Name:  fmt.Sprintf("columns%d:%d'%d", from, to, cols),
				Shape: func(in []Shape) Shape { return Shape{in[0][0], cols} },
				F32:   columnsGrad[float32](from),
				F64:   columnsGrad[float64](from),
			}, grad)}
		},
	}, a)
}

func columns[T Float](from int) func(View[T], []View[T]) {
	return func(out View[T], in []View[T]) {
		for i := range out.Rows {
			copy(out.Row(i), in[0].Row(i)[from:])
		}
	}
}

func columnsGrad[T Float](from int) func(View[T], []View[T]) {
	return func(out View[T], in []View[T]) {
		clear(out.Data)
		for i := range out.Rows {
			copy(out.Row(i)[from:], in[0].Row(i))
		}
	}
}

// RowInner is the inner product of every row of A with that of B, n x 1.
func RowInner(a, b *Node) *Node {
	return Apply(Op{
		Name: "rowInner",
		Shape: func(in []Shape) Shape {
			fit(len(in[0]) == 2 && len(in[1]) == 2 && in[0][0] == in[1][0] && in[0][1] == in[1][1], "inner products of the rows of operands of shapes %v and %v; they must be matrices of one shape", in[0], in[1])
			return Shape{in[0][0], 1}
		},
		F32: rowInner[float32],
		F64: rowInner[float64],
		Grad: func(in Nodes, _, grad *Node) Nodes {
			weigh := Op{Name: "scaleRows", Shape: SameShape, F32: scaleRows[float32], F64: scaleRows[float64]}
			return Nodes{Apply(weigh, in[1], grad), Apply(weigh, in[0], grad)}
		},
	}, a, b)
}

func rowInner[T Float](out View[T], in []View[T]) {
	for i := range out.Data {
		out.Data[i] = dot(in[0].Row(i), in[1].Row(i))
	}
}

func scaleRows[T Float](out View[T], in []View[T]) {
	clear(out.Data)
	for i, v := range in[1].Data {
		axpy(out.Row(i), v, in[0].Row(i))
	}
}

// Squared is the m x m matrix with the numbers of E, m^2 x 1.
func Squared(e *Node) *Node {
	m := 0
	for m*m < e.Shape().TotalSize() {
		m++
	}
	fit(m*m == e.Shape().TotalSize(), "a matrix of pairs of shape %v; it must have a row for every pair of tasks", e.Shape())
	return reshaped(e, Shape{m, m})
}

func reshaped(a *Node, to Shape) *Node {
	return Apply(Op{
		Name:  fmt.Sprintf("reshaped%v", to),
		Shape: func([]Shape) Shape { return to },
		F32:   func(out View[float32], in []View[float32]) { copy(out.Data, in[0].Data) },
		F64:   func(out View[float64], in []View[float64]) { copy(out.Data, in[0].Data) },
		Grad:  func(in Nodes, _, grad *Node) Nodes { return Nodes{reshaped(grad, Shape(in[0].Shape()))} },
	}, a)
}
