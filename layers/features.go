package layers

import (
	"runtime"

	"l2mt/layers/linalg"
)

// kernels are the matrix kernels of the process, chosen by the features of its CPU or by
// the environment variable L2MT_BLAS: Build returns its error.
func kernels() linalg.Kernels {
	k := linalg.Default()
	k.Threads = runtime.GOMAXPROCS(0)
	return k
}

// denseFrom is the share of stored entries from which the dense product is the
// faster one; the kernels break even somewhere between 20 and 40 %.
const denseFrom = 0.25

// features is the stacked X, n x d, either dense or as CSR with its transpose
// beside it, so that X L and X' G are both row products.
type features[T Float] struct {
	View[T]                // without Data if X is sparse
	sparse  *linalg.CSR[T] // X
	sparseT *linalg.CSR[T] // X'
}

// newFeatures stacks the rows of all tasks, dense if that is asked for or the share of stored
// entries is at least denseFrom.
func newFeatures[T Float](tasks []Points, dense bool) features[T] {
	var x features[T]
	x.Cols = tasks[0].Cols()
	nnz := 0
	for _, t := range tasks {
		x.Rows += t.Rows()
		nnz += t.NNZ()
	}
	var index []int32
	var value []T
	ptr := []int32{0}
	put := func(j int, v float64) {
		index = append(index, int32(j))
		value = append(value, T(v))
	}
	dense = dense || float64(nnz) >= denseFrom*float64(x.Rows)*float64(x.Cols)
	if dense {
		x.View = NewView[T](x.Rows, x.Cols)
		put = func(j int, v float64) {
			x.Row(len(ptr) - 1)[j] = T(v)
		}
	}
	for _, t := range tasks {
		for i := range t.Rows() {
			t.Visit(i, put)
			ptr = append(ptr, int32(len(index)))
		}
	}
	if !dense {
		x.sparse = linalg.NewCSR(x.Cols, ptr, index, value)
		x.sparseT = x.sparse.Transpose()
	}
	return x
}
