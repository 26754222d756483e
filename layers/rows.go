package layers

import (
	"gonum.org/v1/gonum/floats"

	"l2mt/data"
	"l2mt/layers/linalg"
)

// Products of the rows of a problem before it comes into a graph, in double precision.

// DenseRows is X (n x d) of a task.
func DenseRows(task Points) View[float64] {
	return newFeatures[float64]([]Points{task}, true).View
}

// RowProducts are the inner products X X' (n x n) of the stacked rows of all tasks, by the
// sparse rows unless dense ones are asked for or are faster. Dense rows lose their mean
// first, which keeps digits.
func RowProducts(dense bool, tasks ...Points) (k View[float64], sparse bool) {
	x := newFeatures[float64](tasks, dense)
	k = NewView[float64](x.Rows, x.Rows)
	sparse = x.sparse != nil
	if sparse {
		linalg.CSRGram(x.sparse, x.sparseT, k.Data)
	} else {
		Center(x.View)
		addGram(k, x.View, false)
	}
	mirror(k)
	return k, sparse
}

// Center takes the mean of the rows off each.
func Center(x View[float64]) {
	mean := make([]float64, x.Cols)
	for i := range x.Rows {
		floats.AddScaled(mean, 1/float64(x.Rows), x.Row(i))
	}
	for i := range x.Rows {
		floats.Sub(x.Row(i), mean)
	}
}

// AddGram adds B'B to the lower triangle of A, B being k x m.
func AddGram(a, b View[float64]) {
	addGram(a, b, true)
}

// addGram adds B B' or, transposed, B'B to the lower triangle of A, a strip of rows at a time,
// as far as the strip's last row reaches.
func addGram(a, b View[float64], transposed bool) {
	const strip = 120
	turn := secondTrans
	inner := b.Cols
	next := b.Cols
	if transposed {
		turn = firstTrans
		inner = b.Rows
		next = 1
	}
	for i := 0; i < a.Rows; i += strip {
		rows := min(strip, a.Rows-i)
		linalg.Gemm(kernels(), turn[0], turn[1], rows, i+rows, inner,
			1, b.Data[i*next:], b.Cols, b.Data, b.Cols,
			1, a.Data[i*a.Cols:], a.Cols)
	}
}

// mirror copies the lower triangle to the upper one.
func mirror(a View[float64]) {
	for i := range a.Rows {
		for j := range i {
			a.Row(j)[i] = a.Row(i)[j]
		}
	}
}

// InnerProducts are B'B (m x m) for B, k x m.
func InnerProducts(b View[float64]) View[float64] {
	p := NewView[float64](b.Cols, b.Cols)
	AddGram(p, b)
	mirror(p)
	return p
}

// InverseProducts are B'A^-1 B (m x m), for B, k x m, and tr(A^-1), for a positive
// definite A, k x k. The lower triangle of A is read, and A is overwritten.
func InverseProducts(a, b View[float64]) (products View[float64], trace float64, err error) {
	ker := kernels()
	if !linalg.Cholesky(ker, a.Rows, a.Data) {
		return products, 0, data.Invalid("a matrix of %d x %d is not positive definite in float64",
			a.Rows, a.Rows)
	}
	linalg.Invert(ker, a.Rows, a.Data) // tr(A^-1) is the sum of squares of L^-1
	for i := range a.Rows {
		l := a.Row(i)[:i+1]
		trace += floats.Dot(l, l)
	}
	half := NewView[float64](b.Rows, b.Cols) // L^-1 B
	gemm(noTrans, a, b, half)
	return InnerProducts(half), trace, nil
}
