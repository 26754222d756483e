package layers

import (
	"fmt"
	"math"

	"gorgonia.org/tensor"

	"l2mt/layers/internal/blas"
)

// Product is X L for the batch in the slot: every row's features (n x d) times
// a weight matrix (d x h).
func Product(s *Slot, l *Node) *Node {
	return Apply(Op{
		Name: "X*#" + s.name,
		Shape: func(in []tensor.Shape) tensor.Shape {
			fit(in[0].Dims() == 2, "product with the data: the operand has shape %v; it must be a matrix", in[0])
			return tensor.Shape{s.rows, in[0][1]}
		},
		F32:  product[float32](s),
		F64:  product[float64](s),
		Grad: func(in Nodes, _, grad *Node) Nodes { return Nodes{productT(s, in[0].Shape()[0], grad)} },
	}, l)
}

func product[T Float](s *Slot) func(View[T], []View[T]) {
	return func(out View[T], in []View[T]) {
		stackOf[T](s.batch).x.mul(out.Data, in[0].Data, out.Cols)
	}
}

// productT is X' G (d x h), the gradient of Product.
func productT(s *Slot, d int, g *Node) *Node {
	return Apply(Op{
		Name:  "X'*#" + s.name,
		Shape: func(in []tensor.Shape) tensor.Shape { return tensor.Shape{d, in[0][1]} },
		F32:   productTBody[float32](s),
		F64:   productTBody[float64](s),
	}, g)
}

func productTBody[T Float](s *Slot) func(View[T], []View[T]) {
	return func(out View[T], in []View[T]) {
		stackOf[T](s.batch).x.mulT(out.Data, in[0].Data, out.Cols)
	}
}

// Aggregate is P H, H being n x h: every row receives the rows of its class
// and loses its near neighbours of other classes. P is G, or G/n if the batch
// was made with NormSize. With G = C C' - S it takes O(n h + nnz(S) h) steps.
func Aggregate(s *Slot, h *Node) *Node {
	return Apply(Op{
		Name:  "G*#" + s.name,
		Shape: sameShape,
		F32:   aggregate[float32](s),
		F64:   aggregate[float64](s),
		Grad:  func(_ Nodes, _, grad *Node) Nodes { return Nodes{Aggregate(s, grad)} }, // P = P'
	}, h)
}

func aggregate[T Float](s *Slot) func(View[T], []View[T]) {
	return func(out View[T], in []View[T]) {
		ker, _ := kernels()
		p, h := graphOf[T](s), in[0]
		sums := View[T]{p.classes.Rows(), h.Cols, make([]T, p.classes.Rows()*h.Cols)}
		blas.CSRMul(ker, p.classes, h.Cols, h.Data, h.Cols, sums.Data, h.Cols) // C' H
		for i, c := range p.class {
			copy(out.Row(i), sums.Row(int(c)))
		}
		blas.CSRAddMul(ker, p.minus, h.Cols, h.Data, h.Cols, out.Data, h.Cols) // - S H
	}
}

func add[T Float](y, x []T) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += v
	}
}

// Activation is the nonlinearity of a layer.
type Activation string

// The activations.
const (
	ActReLU     Activation = "relu"
	ActTanh     Activation = "tanh"
	ActSoftplus Activation = "softplus" // ln(1 + e^z)
	ActIdentity Activation = "identity"
)

// Activations lists the names of all activations.
func Activations() []Activation { return []Activation{ActReLU, ActTanh, ActSoftplus, ActIdentity} }

// Activate is act(Z_1 + Z_2 + ... + 1 b'), every Z being n x h and b of length h.
func Activate(s *Slot, act Activation, b *Node, z ...*Node) *Node {
	return Apply(Op{
		Name: fmt.Sprintf("%s#%s", act, s.name),
		Shape: func(in []tensor.Shape) tensor.Shape {
			fit(len(in) > 1 && in[0].Dims() == 1 && in[1].Dims() == 2 && in[0][0] == in[1][1],
				"activation: the bias has shape %v, the operands %v; their columns must agree", in[0], in[1:])
			return in[1].Clone()
		},
		F32: activate[float32](s, act),
		F64: activate[float64](s, act),
		Grad: func(in Nodes, out, grad *Node) Nodes {
			dz := activateGrad(s, act, out, grad)
			n := Nodes{columnSums(s, dz)}
			for range in[1:] {
				n = append(n, dz)
			}
			return n
		},
	}, append(Nodes{b}, z...)...)
}

func activate[T Float](s *Slot, act Activation) func(View[T], []View[T]) {
	return func(out View[T], in []View[T]) {
		for i := range s.batch.rows {
			y := out.Row(i)
			copy(y, in[0].Data)
			for _, z := range in[1:] {
				add(y, z.Row(i))
			}
			switch act {
			case ActReLU:
				for k, v := range y {
					y[k] = max(v, 0)
				}
			case ActTanh:
				for k, v := range y {
					y[k] = T(math.Tanh(float64(v)))
				}
			case ActSoftplus:
				for k, v := range y { // max(v,0) + ln(1+e^-|v|), which cannot overflow
					y[k] = max(v, 0) + T(math.Log1p(math.Exp(-math.Abs(float64(v)))))
				}
			}
		}
	}
}

// activateGrad is grad * act'(z), with the derivative taken from y = act(z).
func activateGrad(s *Slot, act Activation, y, grad *Node) *Node {
	return Apply(Op{
		Name:  fmt.Sprintf("%s'#%s", act, s.name),
		Shape: sameShape,
		F32:   activateGradBody[float32](s, act),
		F64:   activateGradBody[float64](s, act),
	}, y, grad)
}

func activateGradBody[T Float](s *Slot, act Activation) func(View[T], []View[T]) {
	return func(out View[T], in []View[T]) {
		n := s.batch.rows * out.Cols
		y, g, dz := in[0].Data[:n], in[1].Data[:n], out.Data[:n]
		switch act {
		case ActReLU:
			for k, v := range y { // a product with 0 or 1: the signs are random, and a branch on them is slow
				step := 0
				if v > 0 {
					step = 1
				}
				dz[k] = g[k] * T(step)
			}
		case ActTanh:
			for k, v := range y {
				dz[k] = g[k] * (1 - v*v)
			}
		case ActSoftplus:
			for k, v := range y { // y = ln(1+e^z), so that the sigmoid of z is 1 - e^-y
				dz[k] = -g[k] * T(math.Expm1(-float64(v)))
			}
		case ActIdentity:
			copy(dz, g)
		}
	}
}

// columnSums is 1' Z, a vector: the gradient of a bias.
func columnSums(s *Slot, z *Node) *Node {
	return Apply(Op{
		Name:  "1'*#" + s.name,
		Shape: func(in []tensor.Shape) tensor.Shape { return tensor.Shape{in[0][1]} },
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
		Shape: func([]tensor.Shape) tensor.Shape { return tensor.ScalarShape() },
		F32:   sumSquares[float32],
		F64:   sumSquares[float64],
		Grad: func(in Nodes, _, grad *Node) Nodes {
			return Nodes{Scale(Scale(constant(grad.Dtype(), 2), grad), in[0])}
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
