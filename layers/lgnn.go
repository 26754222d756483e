package layers

import "l2mt/layers/linalg"

// Product is X L for the batch in the slot: every row's features (n x d) times a weight
// matrix (d x h).
func Product(s *Slot, l *Node) *Node {
	return Apply(Op{
		Name: "product",
		Shape: func(in []Shape) Shape {
			fit(len(in[0]) == 2, "product with the data: the operand has shape %v; it must be a matrix", in[0])
			return Shape{s.rows(), in[0][1]}
		},
		F32:     product[float32](s, noTrans),
		F64:     product[float64](s, noTrans),
		Slope32: product[float32](s, firstTrans),
		Slope64: product[float64](s, firstTrans),
	}, l)
}

// product is X, or X', times the last operand.
func product[T Float](s *Slot, turn [2]linalg.Transpose) Body[T] {
	return func(out View[T], in []View[T]) {
		x := stackOf[T](s.Batch).x
		right := in[len(in)-1]
		if x.sparse == nil {
			gemm(turn, x.View, right, out)
			return
		}
		sparse := x.sparse
		if turn == firstTrans {
			sparse = x.sparseT
		}
		linalg.CSRMul(kernels(), sparse,
			right.Cols, right.Data, out.Data, false)
	}
}

// Aggregate is P H, H being n x h: every row receives the rows of its class
// and loses its near neighbours of other classes. P is G, or G/n if the batch
// was made with NormSize. With G = C C' - S it takes O(n h + nnz(S) h) steps.
func Aggregate(s *Slot, h *Node) *Node {
	return Apply(Op{
		Name: "aggregation",
		Shape: func(in []Shape) Shape {
			s.fit("aggregation", in[0])
			return in[0]
		},
		F32: aggregate[float32](s),
		F64: aggregate[float64](s),
		Grad: func(_ Nodes, _, grad *Node) Nodes {
			return Nodes{Aggregate(s, grad)}
		}, // P = P'
	}, h)
}

func aggregate[T Float](s *Slot) Body[T] {
	return func(out View[T], in []View[T]) {
		p := stackOf[T](s.Batch).graph
		h := in[0]
		sums := NewView[T](p.classes.Rows(), h.Cols)
		linalg.CSRMul(kernels(), p.classes,
			h.Cols, h.Data, sums.Data, false) // C' H
		for i, c := range p.class {
			copy(out.Row(i), sums.Row(int(c)))
		}
		linalg.CSRMul(kernels(), p.minus,
			h.Cols, h.Data, out.Data, true) // - S H
	}
}

func add[T Float](y, x []T) {
	linalg.Axpy(1, x, y)
}

// columnSums is 1' Z, a vector: the gradient of a bias.
func columnSums[T Float](out View[T], in []View[T]) {
	clear(out.Data)
	for i := range in[0].Rows {
		add(out.Data, in[0].Row(i))
	}
}

// Penalty is the sum of squares of all entries of a matrix. Gorgonia's gradient of one makes
// steps on sparse rows a fifth longer.
func Penalty(l *Node) *Node {
	return Apply(Op{
		Name:    "sumSquares",
		Shape:   ScalarShape,
		F32:     sumSquares[float32],
		F64:     sumSquares[float64],
		Slope32: squaresSlope[float32],
		Slope64: squaresSlope[float64],
	}, l)
}

func sumSquares[T Float](out View[T], in []View[T]) {
	var s float64
	for _, v := range in[0].Data {
		s += float64(v) * float64(v)
	}
	out.Data[0] = T(s)
}

func squaresSlope[T Float](out View[T], in []View[T]) {
	clear(out.Data)
	axpy(out.Data, 2*in[2].Data[0], in[0].Data)
}
