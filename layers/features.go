package layers

import (
	"runtime"
	"slices"
	"sync"

	"l2mt/layers/linalg"
)

// kernels are the matrix kernels of the process, chosen by the features of its
// CPU or by the environment variable L2MT_BLAS.
var kernels = sync.OnceValues(func() (linalg.Kernels, error) {
	k, err := linalg.Select()
	k.Threads = runtime.GOMAXPROCS(0)
	return k, err
})

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
func newFeatures[T Float](tasks []Points, denseFrom float64) (features[T], error) {
	x := features[T]{cols: tasks[0].Cols()}
	nnz := 0
	for _, t := range tasks {
		x.rows += t.Rows()
		nnz += t.NNZ()
	}
	if float64(nnz) >= denseFrom*float64(x.rows)*float64(x.cols) {
		x.dense = make([]T, x.rows*x.cols)
		rest := x.dense
		for _, t := range tasks {
			for i := range t.Rows() {
				to := rest[:x.cols]
				t.Visit(i, func(j int, v float64) { to[j] = T(v) })
				rest = rest[x.cols:]
			}
		}
		return x, nil
	}
	ptr, index, value := make([]int32, 1, x.rows+1), make([]int32, 0, nnz), make([]T, 0, nnz)
	for _, t := range tasks {
		for i := range t.Rows() {
			t.Visit(i, func(j int, v float64) {
				index = append(index, int32(j))
				value = append(value, T(v))
			})
			ptr = append(ptr, int32(len(index)))
		}
	}
	var err error
	if x.sparse, err = linalg.NewCSR(x.cols, ptr, index, value); err != nil {
		return x, err
	}
	ptr, index, value = transpose(x.cols, ptr, index, value)
	x.sparseT, err = linalg.NewCSR(x.rows, ptr, index, value)
	return x, err
}

// transpose returns the compressed rows of the transpose of a matrix with the
// given number of columns.
func transpose[T Float](cols int, ptr, index []int32, value []T) (ptrT, indexT []int32, valueT []T) {
	ptrT, indexT, valueT = make([]int32, cols+1), make([]int32, len(index)), make([]T, len(value))
	for _, j := range index {
		ptrT[j+1]++
	}
	for j := range cols {
		ptrT[j+1] += ptrT[j]
	}
	next := slices.Clone(ptrT[:cols])
	for i := range len(ptr) - 1 {
		for p := ptr[i]; p < ptr[i+1]; p++ {
			j := index[p]
			indexT[next[j]], valueT[next[j]] = int32(i), value[p]
			next[j]++
		}
	}
	return ptrT, indexT, valueT
}

// mul sets y (n x k) to X l, l being d x k.
func (x *features[T]) mul(y, l []T, k int) {
	ker, _ := kernels() // Build has returned its error
	if x.dense != nil {
		linalg.Gemm(ker, linalg.NoTrans, linalg.NoTrans, x.rows, k, x.cols, 1, x.dense, x.cols, l, k, 0, y, k)
		return
	}
	linalg.CSRMul(ker, x.sparse, k, l, k, y, k)
}

// mulT sets y (d x k) to X' g, g being n x k.
func (x *features[T]) mulT(y, g []T, k int) {
	ker, _ := kernels()
	if x.dense != nil {
		linalg.Gemm(ker, linalg.Trans, linalg.NoTrans, x.cols, k, x.rows, 1, x.dense, x.cols, g, k, 0, y, k)
		return
	}
	linalg.CSRMul(ker, x.sparseT, k, g, k, y, k)
}
