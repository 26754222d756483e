package layers

import (
	"fmt"
	"math"

	"l2mt/layers/linalg"
)

// The usual operations. Gorgonia has them too, but gives their results memory anew in
// every run, and computes some gradients wrongly.

// Add is A + B, of equal shapes or one of them a scalar.
func Add(a, b *Node) *Node {
	return zip("+", a, b, sum[float32], sum[float64], func(_ Nodes, _, g *Node) Nodes { return Nodes{g, g} })
}

// Sub is A - B, of equal shapes or one of them a scalar.
func Sub(a, b *Node) *Node {
	return zip("-", a, b, difference[float32], difference[float64], func(_ Nodes, _, g *Node) Nodes { return Nodes{g, Neg(g)} })
}

// Hadamard is the product of A and B entry by entry, or by a scalar.
func Hadamard(a, b *Node) *Node {
	return zip("*", a, b, multiple[float32], multiple[float64], func(in Nodes, _, g *Node) Nodes {
		return Nodes{Hadamard(g, in[1]), Hadamard(g, in[0])}
	})
}

// Div is A / B entry by entry, or by a scalar.
func Div(a, b *Node) *Node {
	return zip("/", a, b, ratio[float32], ratio[float64], func(in Nodes, out, g *Node) Nodes {
		return Nodes{Div(g, in[1]), Neg(Hadamard(g, Div(out, in[1])))}
	})
}

func sum[T Float](x, y T) T        { return x + y }
func difference[T Float](x, y T) T { return x - y }
func multiple[T Float](x, y T) T   { return x * y }
func ratio[T Float](x, y T) T      { return x / y }

// zip is f of the entries of two operands. Of a scalar the gradient is a sum.
func zip(name string, a, b *Node, f32 func(x, y float32) float32, f64 func(x, y float64) float64, grad func(in Nodes, out, g *Node) Nodes) *Node {
	return Apply(Op{
		Name: name,
		Shape: func(in []Shape) Shape {
			fit(len(in[0]) == 0 || len(in[1]) == 0 || fmt.Sprint(in[0]) == fmt.Sprint(in[1]),
				"operands of shapes %v and %v; they must be equal, or one a scalar", in[0], in[1])
			if len(in[0]) == 0 {
				return in[1]
			}
			return in[0]
		},
		F32: zipped(f32),
		F64: zipped(f64),
		Grad: func(in Nodes, out, g *Node) Nodes {
			grads := grad(in, out, g)
			for i, n := range in {
				if n.IsScalar() && !out.IsScalar() {
					grads[i] = Sum(grads[i])
				}
			}
			return grads
		},
	}, a, b)
}

func zipped[T Float](f func(x, y T) T) func(View[T], []View[T]) {
	return func(out View[T], in []View[T]) {
		x, y := in[0].Data, in[1].Data
		switch out := out.Data; {
		case len(x) == len(y):
			for i, v := range x {
				out[i] = f(v, y[i])
			}
		case len(x) == 1:
			for i, v := range y {
				out[i] = f(x[0], v)
			}
		default:
			for i, v := range x {
				out[i] = f(v, y[0])
			}
		}
	}
}

// plus is the sum of matrices of one shape.
func plus[T Float](out View[T], in []View[T]) {
	copy(out.Data, in[0].Data)
	add(out.Data, in[1].Data)
}

// Scale is s A for a scalar s.
func Scale(s, a *Node) *Node {
	fit(s.IsScalar(), "scale: the factor has shape %v; it must be a scalar", s.Shape())
	return Hadamard(s, a)
}

// Neg is -A.
func Neg(a *Node) *Node {
	return each("neg", a, func(x float64) float64 { return -x }, func(_, _ float64) float64 { return -1 })
}

// Abs is |A|.
func Abs(a *Node) *Node {
	return each("abs", a, math.Abs, func(x, _ float64) float64 {
		if x == 0 {
			return 0
		}
		return math.Copysign(1, x)
	})
}

// Square is the square of every entry.
func Square(a *Node) *Node {
	return each("square", a, func(x float64) float64 { return x * x }, func(x, _ float64) float64 { return 2 * x })
}

// Sqrt is the square root of every entry.
func Sqrt(a *Node) *Node {
	return each("sqrt", a, math.Sqrt, func(_, y float64) float64 { return 0.5 / y })
}

// Exp is the exponential of every entry.
func Exp(a *Node) *Node {
	return each("exp", a, math.Exp, func(_, y float64) float64 { return y })
}

// Log is the natural logarithm of every entry.
func Log(a *Node) *Node {
	return each("log", a, math.Log, func(x, _ float64) float64 { return 1 / x })
}

// Tanh is the hyperbolic tangent of every entry.
func Tanh(a *Node) *Node {
	return each("tanh", a, math.Tanh, func(_, y float64) float64 { return 1 - y*y })
}

// Rectify is max(a, 0) of every entry.
func Rectify(a *Node) *Node {
	return each("rectify", a, func(x float64) float64 { return max(x, 0) }, func(x, _ float64) float64 {
		if x > 0 {
			return 1
		}
		return 0
	})
}

// each is y = f(x) of every entry x, with the derivative d(x, y).
func each(name string, a *Node, f func(x float64) float64, d func(x, y float64) float64) *Node {
	return Apply(Op{
		Name:  name,
		Shape: SameShape,
		F32:   eachBody[float32](f),
		F64:   eachBody[float64](f),
		Grad: func(in Nodes, out, grad *Node) Nodes {
			return Nodes{Apply(Op{Name: name + "'", Shape: SameShape, F32: eachGrad[float32](d), F64: eachGrad[float64](d)}, in[0], out, grad)}
		},
	}, a)
}

func eachBody[T Float](f func(float64) float64) func(View[T], []View[T]) {
	return func(out View[T], in []View[T]) {
		for i, x := range in[0].Data {
			out.Data[i] = T(f(float64(x)))
		}
	}
}

func eachGrad[T Float](d func(x, y float64) float64) func(View[T], []View[T]) {
	return func(out View[T], in []View[T]) {
		y, g := in[1].Data, in[2].Data
		for i, x := range in[0].Data {
			out.Data[i] = g[i] * T(d(float64(x), float64(y[i])))
		}
	}
}

// MatMul is the matrix product A B.
func MatMul(a, b *Node) *Node { return matMul(a, b, linalg.NoTrans, linalg.NoTrans) }

// matMul is op(A) op(B), of which only A B has a gradient.
func matMul(a, b *Node, tA, tB linalg.Transpose) *Node {
	op := Op{
		Name: fmt.Sprintf("matMul%c%c", tA, tB),
		Shape: func(in []Shape) Shape {
			fit(len(in[0]) == 2 && len(in[1]) == 2, "matrix product of operands of shapes %v and %v; they must be matrices", in[0], in[1])
			m, k := turned(in[0], tA)
			l, n := turned(in[1], tB)
			fit(k == l, "matrix product of operands of shapes %v and %v; the inner dimensions must agree", in[0], in[1])
			return Shape{m, n}
		},
		F32: matMulBody[float32](tA, tB),
		F64: matMulBody[float64](tA, tB),
	}
	if tA == linalg.NoTrans && tB == linalg.NoTrans {
		op.Grad = func(in Nodes, _, grad *Node) Nodes {
			return Nodes{matMul(grad, in[1], linalg.NoTrans, linalg.Trans), matMul(in[0], grad, linalg.Trans, linalg.NoTrans)}
		}
	}
	return Apply(op, a, b)
}

func turned(s Shape, t linalg.Transpose) (rows, cols int) {
	if t == linalg.Trans {
		return s[1], s[0]
	}
	return s[0], s[1]
}

func matMulBody[T Float](tA, tB linalg.Transpose) func(View[T], []View[T]) {
	return func(out View[T], in []View[T]) {
		ker, _ := kernels() // Build has returned its error
		a, b := in[0], in[1]
		_, k := turned(Shape{a.Rows, a.Cols}, tA)
		linalg.Gemm(ker, tA, tB, out.Rows, out.Cols, k, 1, a.Data, a.Cols, b.Data, b.Cols, 0, out.Data, out.Cols)
	}
}

// Transpose is A'.
func Transpose(a *Node) *Node {
	return Apply(Op{
		Name: "transpose",
		Shape: func(in []Shape) Shape {
			fit(len(in[0]) == 2, "transpose of an operand of shape %v; it must be a matrix", in[0])
			return Shape{in[0][1], in[0][0]}
		},
		F32:  transposeBody[float32],
		F64:  transposeBody[float64],
		Grad: func(_ Nodes, _, grad *Node) Nodes { return Nodes{Transpose(grad)} },
	}, a)
}

func transposeBody[T Float](out View[T], in []View[T]) {
	for i := range out.Rows {
		for j := range out.Cols {
			out.Row(i)[j] = in[0].Row(j)[i]
		}
	}
}

// AddRow is A + 1 b': the vector b added to every row.
func AddRow(a, b *Node) *Node {
	return Apply(Op{
		Name: "addRow",
		Shape: func(in []Shape) Shape {
			fit(len(in[0]) == 2 && len(in[1]) == 1 && in[0][1] == in[1][0], "a vector of shape %v added to the rows of a matrix of shape %v; it must be as long as these", in[1], in[0])
			return in[0]
		},
		F32: addRow[float32],
		F64: addRow[float64],
		Grad: func(_ Nodes, _, grad *Node) Nodes {
			return Nodes{grad, Apply(Op{
				Name:  "addRow'",
				Shape: func(in []Shape) Shape { return Shape{in[0][1]} },
				F32:   addRowGrad[float32],
				F64:   addRowGrad[float64],
			}, grad)}
		},
	}, a, b)
}

func addRow[T Float](out View[T], in []View[T]) {
	copy(out.Data, in[0].Data)
	for i := range out.Rows {
		add(out.Row(i), in[1].Data)
	}
}

func addRowGrad[T Float](out View[T], in []View[T]) {
	clear(out.Data)
	for i := range in[0].Rows {
		add(out.Data, in[0].Row(i))
	}
}

// Sum is the sum of all entries.
func Sum(a *Node) *Node { return total("sum", a, func(int) float64 { return 1 }) }

// Mean is the mean of all entries.
func Mean(a *Node) *Node { return total("mean", a, func(n int) float64 { return 1 / float64(n) }) }

// total is the sum of all n entries times a weight.
func total(name string, a *Node, weight func(n int) float64) *Node {
	return Apply(Op{
		Name:  name,
		Shape: ScalarShape,
		F32:   totalBody[float32](weight),
		F64:   totalBody[float64](weight),
		Grad: func(in Nodes, _, grad *Node) Nodes {
			return Nodes{Apply(Op{Name: name + "'", Shape: SameShape, F32: totalGrad[float32](weight), F64: totalGrad[float64](weight)}, in[0], grad)}
		},
	}, a)
}

func totalBody[T Float](weight func(n int) float64) func(View[T], []View[T]) {
	return func(out View[T], in []View[T]) {
		s := 0.0
		for _, v := range in[0].Data {
			s += float64(v)
		}
		out.Data[0] = T(s * weight(len(in[0].Data)))
	}
}

func totalGrad[T Float](weight func(n int) float64) func(View[T], []View[T]) {
	return func(out View[T], in []View[T]) {
		g := in[1].Data[0] * T(weight(len(out.Data)))
		for i := range out.Data {
			out.Data[i] = g
		}
	}
}
