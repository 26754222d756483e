package layers

import (
	"fmt"
)

// square is the shape m x m of a kernel between the rows of E.
func square(in []Shape) Shape {
	fit(len(in[0]) == 2,
		"kernel: the embeddings have shape %v; they must be a matrix", in[0])
	return Shape{in[0][0], in[0][0]}
}

// Distances is the matrix of ||e_i + sign e_j||^2, m x m, of a sign of 1 or -1; with -1
// the squared distances between the rows of E.
func Distances(sign int, e *Node) *Node {
	return Apply(Op{
		Name:    fmt.Sprintf("distances%+d", sign),
		Shape:   square,
		F32:     distances[float32](sign),
		F64:     distances[float64](sign),
		Slope32: distancesSlope[float32](sign),
		Slope64: distancesSlope[float64](sign),
	}, e)
}

// distances takes differences first: ||e||^2 + ||e'||^2 - 2 <e, e'> would lose
// the distance between close embeddings.
func distances[T Float](sign int) Body[T] {
	return func(out View[T], in []View[T]) {
		for i := range out.Rows {
			for j := range out.Cols {
				var s T
				y := in[0].Row(j)
				for k, v := range in[0].Row(i) {
					v += T(sign) * y[k]
					s += v * v
				}
				out.Row(i)[j] = s
			}
		}
	}
}

// distancesSlope is 2 sum_j (g_ij + g_ji)(e_i + sign e_j) in row i: entry ij
// pulls e_i along e_i + sign e_j, and entry ji along sign (e_j + sign e_i), which
// is the same direction.
func distancesSlope[T Float](sign int) Body[T] {
	return func(out View[T], in []View[T]) {
		e := in[0]
		g := in[2]
		clear(out.Data)
		for i := range e.Rows {
			for j := range e.Rows {
				a := 2 * (g.Row(i)[j] + g.Row(j)[i])
				axpy(out.Row(i), a, e.Row(i))
				axpy(out.Row(i), T(sign)*a, e.Row(j))
			}
		}
	}
}

// Identity is I of the shape of a square matrix: K + a I has a on the diagonal, and
// the sum of K ⊙ I is the trace.
func Identity(k *Node) *Node {
	return Apply(Op{
		Name:  "identity",
		Shape: square,
		F32:   identityMatrix[float32],
		F64:   identityMatrix[float64],
	}, k)
}

func identityMatrix[T Float](out View[T], _ []View[T]) {
	clear(out.Data)
	for i := range out.Rows {
		out.Row(i)[i] = 1
	}
}
