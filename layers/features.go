package layers

import (
	"runtime"

	"l2mt/layers/linalg"
)

// kernels are the matrix kernels of the process, chosen by the features of its CPU or by
// the environment variable L2MT_BLAS: Build returns what is wrong with that.
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
	rows, cols int
	dense      []T
	sparse     *linalg.CSR[T] // X
	sparseT    *linalg.CSR[T] // X'
}

// newFeatures stacks the rows of all tasks, as dense ones from that share of stored
// entries on.
func newFeatures[T Float](tasks []Points, denseFrom float64) features[T] {
	x := features[T]{cols: tasks[0].Cols()}
	nnz := 0
	for _, t := range tasks {
		x.rows += t.Rows()
		nnz += t.NNZ()
	}
	dense := float64(nnz) >= denseFrom*float64(x.rows)*float64(x.cols)
	if dense {
		x.dense = make([]T, 0, x.rows*x.cols)
	}
	ptr, index, value := make([]int32, 1, x.rows+1), []int32(nil), []T(nil)
	for _, t := range tasks {
		for i := range t.Rows() {
			first := len(x.dense)
			if dense {
				x.dense = x.dense[:first+x.cols]
			}
			t.Visit(i, func(j int, v float64) {
				if dense {
					x.dense[first+j] = T(v)
				} else {
					index, value = append(index, int32(j)), append(value, T(v))
				}
			})
			ptr = append(ptr, int32(len(index)))
		}
	}
	if !dense {
		x.sparse = linalg.NewCSR(x.cols, ptr, index, value)
		x.sparseT = x.sparse.Transpose()
	}
	return x
}

// mul sets y (n x k) to X l, l being d x k.
func (x *features[T]) mul(y, l []T, k int) {
	if x.dense != nil {
		linalg.Gemm(kernels(), linalg.NoTrans, linalg.NoTrans, x.rows, k, x.cols, 1, x.dense, x.cols, l, k, 0, y, k)
		return
	}
	linalg.CSRMul(kernels(), x.sparse, k, l, y, false)
}

// mulT sets y (d x k) to X' g, g being n x k.
func (x *features[T]) mulT(y, g []T, k int) {
	if x.dense != nil {
		linalg.Gemm(kernels(), linalg.Trans, linalg.NoTrans, x.cols, k, x.rows, 1, x.dense, x.cols, g, k, 0, y, k)
		return
	}
	linalg.CSRMul(kernels(), x.sparseT, k, g, y, false)
}
