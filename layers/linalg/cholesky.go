package linalg

import "math"

// A lower triangle (n x n, by rows) is factorized or inverted a few columns at a
// time, so that nearly all of the work are dense products. What stands above the
// diagonal is not read, and of no meaning afterwards.

// panels are the columns at a time: of the matrix, of the blocks on its diagonal,
// and so on down to what plain loops do.
var panels = []int{64, 16}

// Cholesky overwrites A with L, where A = L Lᵀ. It returns false if A is not
// positive definite.
func Cholesky[T Float](ker Kernels, n int, a []T, lda int) bool {
	return cholesky(ker, panels, n, a, lda, make([]T, n*panels[0]))
}

// Invert overwrites a lower triangular matrix, whose diagonal must have no zero,
// with its inverse, and sets what is above the diagonal to zero.
func Invert[T Float](ker Kernels, n int, l []T, ldl int) {
	invert(ker, panels, n, l, ldl, make([]T, n*panels[0]))
}

func cholesky[T Float](ker Kernels, panels []int, n int, a []T, lda int, work []T) bool {
	if len(panels) == 0 {
		return smallCholesky(n, a, lda)
	}
	inverse := make([]T, panels[0]*panels[0])
	for j := 0; j < n; j += panels[0] {
		w := min(panels[0], n-j)
		below, left, corner := n-j-w, a[j*lda:], a[j*lda+j:]
		if j > 0 { // less what the columns to the left make
			Gemm(ker, NoTrans, Trans, w+below, w, j, -1, left, lda, left, lda, 1, corner, lda)
		}
		if !cholesky(ker, panels[1:], w, corner, lda, work) {
			return false
		}
		if below == 0 {
			break
		}
		for i := range w {
			copy(inverse[i*w:][:w], corner[i*lda:])
		}
		invert(ker, panels[1:], w, inverse, w, work)
		panel := a[(j+w)*lda+j:]
		for i := range below {
			copy(work[i*w:][:w], panel[i*lda:])
		}
		Gemm(ker, NoTrans, Trans, below, w, w, 1, work, w, inverse, w, 0, panel, lda)
	}
	return true
}

// invert has the inverse of the lower right blocks when it comes to a column:
//
//	[ L11     ]-1   [ L11^-1                     ]
//	[ L21 L22 ]   = [ -L22^-1 L21 L11^-1  L22^-1 ]
func invert[T Float](ker Kernels, panels []int, n int, l []T, ldl int, work []T) {
	if len(panels) == 0 {
		smallInvert(n, l, ldl)
		return
	}
	for i := range n {
		clear(l[i*ldl+i+1 : i*ldl+n])
	}
	for j := (n - 1) / panels[0] * panels[0]; j >= 0; j -= panels[0] {
		w := min(panels[0], n-j)
		below := n - j - w
		invert(ker, panels[1:], w, l[j*ldl+j:], ldl, work)
		if below == 0 {
			continue
		}
		l21, l22 := l[(j+w)*ldl+j:], l[(j+w)*ldl+j+w:]
		for i := 0; i < below; i += blockM { // not all the zeros of L22^-1
			rows := min(blockM, below-i)
			Gemm(ker, NoTrans, NoTrans, rows, w, i+rows, -1, l22[i*ldl:], ldl, l21, ldl, 0, work[i*w:], w)
		}
		Gemm(ker, NoTrans, NoTrans, below, w, w, 1, work, w, l[j*ldl+j:], ldl, 0, l21, ldl)
	}
}

func smallCholesky[T Float](n int, a []T, lda int) bool {
	for j := range n {
		l := a[j*lda:][:j+1]
		d := l[j]
		for _, v := range l[:j] {
			d -= v * v
		}
		if !(d > 0) {
			return false
		}
		l[j] = T(math.Sqrt(float64(d)))
		for i := j + 1; i < n; i++ {
			row := a[i*lda:][:j+1]
			s := row[j]
			for q, v := range l[:j] {
				s -= v * row[q]
			}
			row[j] = s / l[j]
		}
	}
	return true
}

func smallInvert[T Float](n int, l []T, ldl int) {
	for i := range n {
		row := l[i*ldl:][:n]
		clear(row[i+1:])
		inverse := 1 / row[i]
		for j := range i { // of row i only entries from j on are still those of L
			var s T
			for q := j; q < i; q++ {
				s += row[q] * l[q*ldl+j]
			}
			row[j] = -s * inverse
		}
		row[i] = inverse
	}
}
