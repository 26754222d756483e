package layers

import (
	"fmt"
	"math"
)

// Activation is the nonlinearity of a layer.
type Activation string

// The activations.
const (
	ActReLU     Activation = "relu" // max(z, 0)
	ActTanh     Activation = "tanh"
	ActSoftplus Activation = "softplus" // ln(1 + e^z)
	ActIdentity Activation = "identity"
)

// Activations lists the names of all activations.
func Activations() []Activation { return []Activation{ActReLU, ActTanh, ActSoftplus, ActIdentity} }

// curveOf is an activation in one precision.
func curveOf[T Float](act Activation) (c curve[T]) {
	switch act {
	case ActReLU:
		return curve[T]{relu[T], reluGrad[T]}
	case ActTanh:
		return curve[T]{tanh[T], tanhGrad[T]}
	case ActSoftplus:
		return curve[T]{softplus[T], softplusGrad[T]}
	case ActIdentity:
		return curve[T]{identity[T], identityGrad[T]}
	}
	fit(false, "the activation is %q; it must be one of %q", act, Activations())
	return c
}

// curve is an activation on many numbers at once, in one precision.
type curve[T Float] struct {
	act  func(z []T)        // z becomes act(z)
	grad func(dz, y, g []T) // dz becomes g act'(z), with the derivative taken from y = act(z)
}

func relu[T Float](z []T) {
	for k, v := range z {
		z[k] = max(v, 0)
	}
}

// reluGrad multiplies by 0 or 1: the signs are random, and a branch on them is slow.
func reluGrad[T Float](dz, y, g []T) {
	for k, v := range y {
		step := 0
		if v > 0 {
			step = 1
		}
		dz[k] = g[k] * T(step)
	}
}

func tanh[T Float](z []T) {
	for k, v := range z {
		z[k] = T(math.Tanh(float64(v)))
	}
}

func tanhGrad[T Float](dz, y, g []T) {
	for k, v := range y {
		dz[k] = g[k] * (1 - v*v)
	}
}

// softplus is max(z, 0) + ln(1 + e^-|z|), which cannot overflow.
func softplus[T Float](z []T) {
	for k, v := range z {
		z[k] = max(v, 0) + T(math.Log1p(math.Exp(-math.Abs(float64(v)))))
	}
}

// softplusGrad has the sigmoid of z as 1 - e^-y.
func softplusGrad[T Float](dz, y, g []T) {
	for k, v := range y {
		dz[k] = -g[k] * T(math.Expm1(-float64(v)))
	}
}

func identity[T Float]([]T)              {}
func identityGrad[T Float](dz, _, g []T) { copy(dz, g) }

// Activate is act(Z_1 + Z_2 + ... + 1 b'), every Z being n x h and b of length h.
func Activate(s *Slot, act Activation, b *Node, z ...*Node) *Node {
	return Apply(Op{
		Name: fmt.Sprintf("%s#%s", act, s.name),
		Shape: func(in []Shape) Shape {
			fit(len(in) > 1 && len(in[0]) == 1 && len(in[1]) == 2 && in[0][0] == in[1][1],
				"activation: the bias has shape %v, the operands %v; their columns must agree", in[0], in[1:])
			return in[1]
		},
		F32: activate(s, curveOf[float32](act)),
		F64: activate(s, curveOf[float64](act)),
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

// activate takes some rows at a time, which stay in the nearest cache.
func activate[T Float](s *Slot, c curve[T]) func(View[T], []View[T]) {
	return func(out View[T], in []View[T]) {
		const some = 32
		for i := 0; i < s.batch.rows; i += some {
			from, to := i*out.Cols, min(i+some, s.batch.rows)*out.Cols
			y := out.Data[from:to]
			copy(y, in[1].Data[from:to])
			for _, z := range in[2:] {
				add(y, z.Data[from:to])
			}
			for row := y; len(row) > 0; row = row[out.Cols:] {
				add(row[:out.Cols], in[0].Data)
			}
			c.act(y)
		}
	}
}

// activateGrad is grad * act'(z), y being act(z).
func activateGrad(s *Slot, act Activation, y, grad *Node) *Node {
	return Apply(Op{
		Name:  fmt.Sprintf("%s'#%s", act, s.name),
		Shape: SameShape,
		F32:   activateGradBody(s, curveOf[float32](act)),
		F64:   activateGradBody(s, curveOf[float64](act)),
	}, y, grad)
}

func activateGradBody[T Float](s *Slot, c curve[T]) func(View[T], []View[T]) {
	return func(out View[T], in []View[T]) {
		n := s.batch.rows * out.Cols
		c.grad(out.Data[:n], in[0].Data[:n], in[1].Data[:n])
	}
}
