package layers

import "gorgonia.org/gorgonia"

// Activate is ReLU(Z_1 + Z_2 + ... + 1 b'), every Z being n x h and b of length h.
func Activate(b *Node, z ...*Node) *Node {
	return Apply(Op{
		Name: "activate",
		Shape: func(in []Shape) Shape {
			fit(len(in) > 1 && len(in[0]) == 1 &&
				len(in[1]) == 2 && in[0][0] == in[1][1],
				"activation: the bias has shape %v, the operands %v; their columns must agree", in[0], in[1:])
			return in[1]
		},
		F32: activate[float32],
		F64: activate[float64],
		Grad: func(in Nodes, out, grad *Node) Nodes {
			grad = Apply(Op{
				Name: "relu'", Shape: SameShape,
				F32: reluGrad[float32], F64: reluGrad[float64],
			}, out, grad)
			n := Nodes{gorgonia.Must(gorgonia.Sum(grad, 0))}
			for range in[1:] {
				n = append(n, grad)
			}
			return n
		},
	}, append(Nodes{b}, z...)...)
}

// activate takes a row at a time, which stays in the nearest cache.
func activate[T Float](out View[T], in []View[T]) {
	for i := range out.Rows {
		y := out.Row(i)
		copy(y, in[1].Row(i))
		for _, z := range in[2:] {
			add(y, z.Row(i))
		}
		add(y, in[0].Data)
		for k, v := range y {
			y[k] = max(v, 0)
		}
	}
}

// reluGrad is the gradient with respect to z, given relu(z) and its gradient. It
// multiplies by 0 or 1: the signs are random, and a branch on them is slow.
func reluGrad[T Float](out View[T], in []View[T]) {
	g := in[1].Data
	for k, v := range in[0].Data {
		step := 0
		if v > 0 {
			step = 1
		}
		out.Data[k] = g[k] * T(step)
	}
}
