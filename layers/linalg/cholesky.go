package linalg

import (
	"gonum.org/v1/gonum/blas"
	lapack "gonum.org/v1/gonum/lapack/gonum"
)

// A lower triangle (n x n, by rows) is factorized or inverted by panels of columns:
// gonum does the blocks on its diagonal, and nearly all of the work are dense products.
// Entries above the diagonal are not read, and mean nothing afterwards.

// panel is the number of columns at a time.
const panel = 32

// Cholesky overwrites A with L, where A = L Lᵀ. It returns false if A is not
// positive definite.
func Cholesky(ker Kernels, n int, a []float64) bool {
	var inverse, work []float64
	for j := 0; j < n; j += panel {
		w := min(panel, n-j)
		below := n - j - w
		left := a[j*n:]
		corner := left[j:]
		Gemm(ker, NoTrans, Trans, w+below, w, j,
			-1, left, n, left, n, 1, corner, n) // less the columns to the left
		if !(lapack.Implementation{}).Dpotrf(blas.Lower, w, corner, n) {
			return false
		}
		if below == 0 {
			break
		}
		if work == nil {
			inverse = make([]float64, panel*panel)
			work = make([]float64, below*panel)
		}
		for i := range w {
			copy(inverse[i*w:][:w], corner[i*n:])
		}
		Invert(ker, w, inverse)
		next := a[(j+w)*n+j:]
		for i := range below {
			copy(work[i*w:][:w], next[i*n:])
		}
		Gemm(ker, NoTrans, Trans, below, w, w,
			1, work, w, inverse, w, 0, next, n)
	}
	return true
}

// Invert overwrites a lower triangular matrix, whose diagonal must have no zero,
// with its inverse, and sets the entries above the diagonal to zero. It has the inverse
// of the lower right blocks when it comes to a panel:
//
//	[ L11     ]-1   [ L11^-1                     ]
//	[ L21 L22 ]   = [ -L22^-1 L21 L11^-1  L22^-1 ]
func Invert(ker Kernels, n int, l []float64) {
	work := make([]float64, max(0, n-panel)*panel)
	for i := range n {
		clear(l[i*n+i+1 : i*n+n])
	}
	for j := (n+panel-1)/panel*
		panel - panel; j >= 0; j -= panel { // none of an empty matrix
		w := min(panel, n-j)
		below := n - j - w
		l11 := l[j*n+j:]
		lapack.Implementation{}.Dtrtri(blas.Lower, blas.NonUnit, w, l11, n)
		if below == 0 {
			continue
		}
		l21 := l[(j+w)*n+j:]
		l22 := l21[w:]
		for i := 0; i < below; i += blockM { // not all the zeros of L22^-1
			rows := min(blockM, below-i)
			Gemm(ker, NoTrans, NoTrans, rows, w, i+rows,
				-1, l22[i*n:], n, l21, n, 0, work[i*w:], w)
		}
		Gemm(ker, NoTrans, NoTrans, below, w, w,
			1, work, w, l11, n, 0, l21, n)
	}
}
