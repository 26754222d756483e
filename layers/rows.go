package layers

import (
	"gonum.org/v1/gonum/floats"

	"l2mt/data"
	"l2mt/layers/linalg"
)

// What is computed of the rows of a problem before it comes into a graph, in double
// precision.

// DenseRows is X (n x d) of a task.
func DenseRows(task Points) View[float64] {
	x := newFeatures[float64]([]Points{task}, 0)
	return View[float64]{x.rows, x.cols, x.dense}
}

// RowProducts are the inner products X X' (n x n) of the stacked rows of all tasks, by the
// sparse rows unless dense ones are asked for or are faster. Of dense rows the mean is
// taken off first, which keeps digits.
func RowProducts(dense bool, tasks ...Points) (k View[float64], sparse bool) {
	from := denseFrom
	if dense {
		from = 0
	}
	x := newFeatures[float64](tasks, from)
	k = View[float64]{x.rows, x.rows, make([]float64, x.rows*x.rows)}
	if sparse = x.dense == nil; sparse {
		linalg.CSRGram(x.sparse, x.sparseT, k.Data)
	} else {
		rows := View[float64]{x.rows, x.cols, x.dense}
		mean := make([]float64, x.cols)
		for i := range rows.Rows {
			floats.AddScaled(mean, 1/float64(x.rows), rows.Row(i))
		}
		for i := range rows.Rows {
			floats.Sub(rows.Row(i), mean)
		}
		addGram(k, rows, false)
	}
	mirror(k)
	return k, sparse
}

// AddGram adds B'B to the lower triangle of A, B being k x m.
func AddGram(a, b View[float64]) { addGram(a, b, true) }

// addGram adds B B' or, transposed, B'B to the lower triangle of A, some rows at a time,
// as far as the last of them reaches.
func addGram(a, b View[float64], transposed bool) {
	const some = 120
	left, right, inner, next := linalg.NoTrans, linalg.Trans, b.Cols, b.Cols
	if transposed {
		left, right, inner, next = linalg.Trans, linalg.NoTrans, b.Rows, 1
	}
	for i := 0; i < a.Rows; i += some {
		rows := min(some, a.Rows-i)
		linalg.Gemm(kernels(), left, right, rows, i+rows, inner, 1, b.Data[i*next:], b.Cols, b.Data, b.Cols, 1, a.Data[i*a.Cols:], a.Cols)
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
	p := View[float64]{b.Cols, b.Cols, make([]float64, b.Cols*b.Cols)}
	AddGram(p, b)
	mirror(p)
	return p
}

// InverseProducts are B'A^-1 B (m x m), for B, k x m, and tr(A^-1), for a positive
// definite A, k x k. Of A the lower triangle is read, and A is overwritten.
func InverseProducts(a, b View[float64]) (products View[float64], trace float64, err error) {
	ker := kernels()
	if !linalg.Cholesky(ker, a.Rows, a.Data, a.Cols) {
		return products, 0, data.ErrInvalid.Errorf("a matrix of %d x %d is not positive definite in float64", a.Rows, a.Rows)
	}
	linalg.Invert(ker, a.Rows, a.Data, a.Cols) // tr(A^-1) is the sum of squares of L^-1
	for i := range a.Rows {
		l := a.Row(i)[:i+1]
		trace += floats.Dot(l, l)
	}
	half := View[float64]{b.Rows, b.Cols, make([]float64, len(b.Data))} // L^-1 B
	linalg.Gemm(ker, linalg.NoTrans, linalg.NoTrans, b.Rows, b.Cols, b.Rows, 1, a.Data, a.Cols, b.Data, b.Cols, 0, half.Data, half.Cols)
	return InnerProducts(half), trace, nil
}
