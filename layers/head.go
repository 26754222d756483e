package layers

import (
	"fmt"
)

// At is entry i of a vector, a scalar.
func At(v *Node, i int) *Node {
	return Apply(Op{
		Name: fmt.Sprintf("at%d", i),
		Shape: func(in []Shape) Shape {
			fit(len(in[0]) == 1 && i < in[0][0], "entry %d of an operand of shape %v; it must be a vector with that entry", i, in[0])
			return Shape{}
		},
		F32: at[float32](i),
		F64: at[float64](i),
		Grad: func(in Nodes, _, grad *Node) Nodes {
			n := in[0].Shape()[0]
			return Nodes{Apply(Op{
				Name:  fmt.Sprintf("at%d'%d", i, n),
				Shape: func([]Shape) Shape { return Shape{n} },
				F32:   atGrad[float32](i),
				F64:   atGrad[float64](i),
			}, grad)}
		},
	}, v)
}

func at[T Float](i int) func(View[T], []View[T]) {
	return func(out View[T], in []View[T]) { out.Data[0] = in[0].Data[i] }
}

func atGrad[T Float](i int) func(View[T], []View[T]) {
	return func(out View[T], in []View[T]) {
		clear(out.Data)
		out.Data[i] = in[0].Data[0]
	}
}

// Inner is the vector of <Phi, Omega_q> for the covariances in the rows of
// omegas (tuples x m^2, each row-major). The covariances are data: there is no
// gradient to them.
func Inner(phi, omegas *Node) *Node {
	return Apply(Op{
		Name: "inner",
		Shape: func(in []Shape) Shape {
			fit(len(in[0]) == 2 && len(in[1]) == 2 && in[0].Size() == in[1][1],
				"inner product of Phi, shape %v, with covariances, shape %v; every row must be as long as Phi", in[0], in[1])
			return Shape{in[1][0]}
		},
		F32:      inner[float32],
		F64:      inner[float64],
		Constant: []bool{false, true},
		Grad: func(in Nodes, _, grad *Node) Nodes {
			return Nodes{Apply(Op{Name: "inner'", Shape: SameShape, F32: innerGrad[float32], F64: innerGrad[float64]}, in[0], in[1], grad), nil}
		},
	}, phi, omegas)
}

func inner[T Float](out View[T], in []View[T]) {
	for q := range out.Data {
		out.Data[q] = dot(in[0].Data, in[1].Row(q))
	}
}

// innerGrad is sum_q g_q Omega_q.
func innerGrad[T Float](out View[T], in []View[T]) {
	clear(out.Data)
	for q, g := range in[2].Data {
		axpy(out.Data, g, in[1].Row(q))
	}
}

// TanhLink is tanh(gamma_1 o + gamma_2), the paper's link, for a vector o.
func TanhLink(gamma, o *Node) *Node {
	return Tanh(Add(Scale(At(gamma, 0), o), At(gamma, 1)))
}

// LogLink is ln(e^gamma_1 o + e^gamma_2), the paper's alternative, for a vector o.
func LogLink(gamma, o *Node) *Node {
	return Log(Add(Scale(Exp(At(gamma, 0)), o), Exp(At(gamma, 1))))
}
