package layers

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"

	"l2mt/layers/linalg"
)

// Product is X L for the batch in the slot: every row's features (n x d) times
// a weight matrix (d x h).
func Product(s *Slot, l *Node) *Node { return Products(s, l)[0] }

// Products are X L (n x h) for several weight matrices (d x h), for which the data
// are read once, on the way forth and on the way back.
func Products(s *Slot, l ...*Node) (parts Nodes) {
	width := 0 // of X [L_1 L_2 ...]
	for _, n := range l {
		fit(n.Dims() == 2, "product with the data: the operand has shape %v; it must be a matrix", n.Shape())
		width += n.Shape()[1]
	}
	single, double := &sideBySide[float32]{slot: s, width: width}, &sideBySide[float64]{slot: s, width: width}
	all := Apply(Op{
		Name:  fmt.Sprintf("X*[%d of %d]#%s", len(l), width, s.name),
		Shape: func([]Shape) Shape { return Shape{s.rows, width} },
		F32:   single.product,
		F64:   double.product,
		Grad: func(in Nodes, _, token *Node) (grads Nodes) {
			d := in[0].Shape()[0]
			back := Apply(Op{
				Name:  fmt.Sprintf("X'*[%d of %d]#%s", len(in), width, s.name),
				Shape: func([]Shape) Shape { return Shape{d, width} },
				F32:   single.productT,
				F64:   double.productT,
			}, token) // d x width
			for from, i := 0, 0; i < len(in); i++ {
				to := from + in[i].Shape()[1]
				grads, from = append(grads, Columns(back, from, to)), to
			}
			return grads
		},
	}, l...) // n x width
	for from, i := 0, 0; i < len(l); i++ {
		to := from + l[i].Shape()[1]
		parts, from = append(parts, part(all, single, double, from, to)), to
	}
	return parts
}

// part is some columns of X [L_1 L_2 ...]. Gorgonia would add the gradients of the
// parts, but they stand side by side: each is put into its columns of one matrix, and
// what goes through the graph is a token.
func part(all *Node, single *sideBySide[float32], double *sideBySide[float64], from, to int) *Node {
	return Apply(Op{
		Name:  fmt.Sprintf("part%d:%d", from, to),
		Shape: func(in []Shape) Shape { return Shape{in[0][0], to - from} },
		F32:   columns[float32](from),
		F64:   columns[float64](from),
		Grad: func(_ Nodes, _, grad *Node) Nodes {
			return Nodes{Apply(Op{
				Name:  fmt.Sprintf("part%d:%d'#%s", from, to, single.slot.name),
				Shape: func([]Shape) Shape { return Shape{1, 1} },
				F32:   single.put(from),
				F64:   double.put(from),
			}, grad)}
		},
	}, all)
}

// sideBySide has the memory of Products in one precision.
type sideBySide[T Float] struct {
	slot    *Slot
	width   int
	weights []T // [L_1 L_2 ...], d x width
	grad    []T // of the product, n x width
}

func (p *sideBySide[T]) product(out View[T], in []View[T]) {
	p.weights = slices.Grow(p.weights[:0], in[0].Rows*p.width)[:in[0].Rows*p.width]
	from := 0
	for _, l := range in {
		beside(p.weights, p.width, from, l, l.Rows)
		from += l.Cols
	}
	stackOf[T](p.slot.batch).x.mul(out.Data, p.weights, p.width)
}

func (p *sideBySide[T]) put(from int) func(View[T], []View[T]) {
	return func(token View[T], in []View[T]) {
		if p.grad == nil {
			p.grad = make([]T, p.slot.rows*p.width)
		}
		beside(p.grad, p.width, from, in[0], p.slot.batch.rows)
		token.Data[0] = 0
	}
}

func (p *sideBySide[T]) productT(out View[T], _ []View[T]) {
	stackOf[T](p.slot.batch).x.mulT(out.Data, p.grad, p.width)
}

// beside copies rows of a matrix to columns of a wider one.
func beside[T Float](to []T, width, from int, x View[T], rows int) {
	for i := range rows {
		copy(to[i*width+from:][:x.Cols], x.Row(i))
	}
}

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

// Aggregate is P H, H being n x h: every row receives the rows of its class
// and loses its near neighbours of other classes. P is G, or G/n if the batch
// was made with NormSize. With G = C C' - S it takes O(n h + nnz(S) h) steps.
func Aggregate(s *Slot, h *Node) *Node {
	return Apply(Op{
		Name: "G*#" + s.name,
		Shape: func(in []Shape) Shape {
			s.fit("aggregation", in[0])
			return in[0]
		},
		F32:  aggregate[float32](s),
		F64:  aggregate[float64](s),
		Grad: func(_ Nodes, _, grad *Node) Nodes { return Nodes{Aggregate(s, grad)} }, // P = P'
	}, h)
}

func aggregate[T Float](s *Slot) func(View[T], []View[T]) {
	var memory []T
	return func(out View[T], in []View[T]) {
		ker, _ := kernels()
		p, h := graphOf[T](s), in[0]
		size := p.classes.Rows() * h.Cols
		memory = slices.Grow(memory[:0], size)[:size]
		sums := View[T]{p.classes.Rows(), h.Cols, memory}
		linalg.CSRMul(ker, p.classes, h.Cols, h.Data, h.Cols, sums.Data, h.Cols) // C' H
		for i, c := range p.class {
			copy(out.Row(i), sums.Row(int(c)))
		}
		linalg.CSRAddMul(ker, p.minus, h.Cols, h.Data, h.Cols, out.Data, h.Cols) // - S H
	}
}

func add[T Float](y, x []T) { linalg.Axpy(1, x, y) }

// columnSums is 1' Z, a vector: the gradient of a bias.
func columnSums(s *Slot, z *Node) *Node {
	return Apply(Op{
		Name:  "1'*#" + s.name,
		Shape: func(in []Shape) Shape { return Shape{in[0][1]} },
		F32:   columnSumsBody[float32](s),
		F64:   columnSumsBody[float64](s),
	}, z)
}

func columnSumsBody[T Float](s *Slot) func(View[T], []View[T]) {
	return func(out View[T], in []View[T]) {
		clear(out.Data)
		for i := range s.batch.rows {
			add(out.Data, in[0].Row(i))
		}
	}
}

// Penalty is the sum of squares of all entries of a matrix.
func Penalty(l *Node) *Node {
	return Apply(Op{
		Name:  "sumSquares",
		Shape: ScalarShape,
		F32:   sumSquares[float32],
		F64:   sumSquares[float64],
		Grad: func(in Nodes, _, grad *Node) Nodes {
			return Nodes{gorgonia.Must(gorgonia.HadamardProd(gorgonia.Must(gorgonia.Add(grad, grad)), in[0]))}
		},
	}, l)
}

func sumSquares[T Float](out View[T], in []View[T]) {
	var s float64
	for _, v := range in[0].Data {
		s += float64(v) * float64(v)
	}
	out.Data[0] = T(s)
}
