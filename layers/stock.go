package layers

import (
	"fmt"

	"gorgonia.org/gorgonia"
)

// Gorgonia's own operations, with the panics of this package instead of
// errors. Only those are here whose gradients were found right.

// Add is A + B, of equal shapes or one of them a scalar.
func Add(a, b *Node) *Node { return must(gorgonia.Add(a, b)) }

// Sub is A - B, of equal shapes or one of them a scalar.
func Sub(a, b *Node) *Node { return must(gorgonia.Sub(a, b)) }

// Hadamard is the product of A and B entry by entry.
func Hadamard(a, b *Node) *Node { return must(gorgonia.HadamardProd(a, b)) }

// Div is A / B entry by entry, or by a scalar.
func Div(a, b *Node) *Node { return must(gorgonia.HadamardDiv(a, b)) }

// Scale is s A for a scalar s.
func Scale(s, a *Node) *Node {
	fit(s.IsScalar(), "scale: the factor has shape %v; it must be a scalar", s.Shape())
	return must(gorgonia.Mul(s, a))
}

// MatMul is the matrix product A B.
func MatMul(a, b *Node) *Node {
	fit(a.Dims() == 2 && b.Dims() == 2, "matrix product of operands of shapes %v and %v; they must be matrices", a.Shape(), b.Shape())
	return must(gorgonia.Mul(a, b))
}

// Transpose is A'.
func Transpose(a *Node) *Node { return must(gorgonia.Transpose(a)) }

// AddRow is A + 1 b': the vector b added to every row.
func AddRow(a, b *Node) *Node { return must(gorgonia.BroadcastAdd(a, b, nil, []byte{0})) }

// Neg is -A.
func Neg(a *Node) *Node { return must(gorgonia.Neg(a)) }

// Abs is |A|.
func Abs(a *Node) *Node { return must(gorgonia.Abs(a)) }

// Square is the square of every entry.
func Square(a *Node) *Node { return must(gorgonia.Square(a)) }

// Sqrt is the square root of every entry.
func Sqrt(a *Node) *Node { return must(gorgonia.Sqrt(a)) }

// Exp is the exponential of every entry.
func Exp(a *Node) *Node { return must(gorgonia.Exp(a)) }

// Log is the natural logarithm of every entry.
func Log(a *Node) *Node { return must(gorgonia.Log(a)) }

// Tanh is the hyperbolic tangent of every entry.
func Tanh(a *Node) *Node { return must(gorgonia.Tanh(a)) }

// Rectify is max(a, 0) of every entry.
func Rectify(a *Node) *Node { return must(gorgonia.Rectify(a)) }

// Sum is the sum of all entries.
func Sum(a *Node) *Node { return must(gorgonia.Sum(a)) }

// Mean is the mean of all entries.
func Mean(a *Node) *Node { return must(gorgonia.Mean(a)) }

func must(n *Node, err error) *Node {
	if err != nil {
		panic(fmt.Errorf("layers: %w", err))
	}
	return n
}
