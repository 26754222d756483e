package multitask

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"l2mt/layers/linalg"
)

// The vectors of the solver are m x d matrices in row-major order, so that the
// weights of a task are contiguous. Level-1 BLAS does their arithmetic.

func inner(x, y []float64) float64 {
	return blas64.Implementation().Ddot(len(x), x, 1, y, 1)
}

// add adds a x to y.
func add(a float64, x, y []float64) {
	blas64.Implementation().Daxpy(len(x), a, x, 1, y, 1)
}

func scale(a float64, x []float64) {
	blas64.Implementation().Dscal(len(x), a, x, 1)
}

// gemm sets C to alpha A B + beta C, with A or B transposed.
func gemm(transA, transB bool, alpha float64, a, b blas64.General, beta float64, c blas64.General) {
	gemmOn(1, transA, transB, alpha, a, b, beta, c)
}

// gemmOn is gemm on a number of goroutines, with the same bits.
func gemmOn(threads int, transA, transB bool, alpha float64, a, b blas64.General, beta float64, c blas64.General) {
	kernels := linalg.Default()
	kernels.Threads = threads
	tA, tB, k := blas.NoTrans, blas.NoTrans, a.Cols
	if transA {
		tA, k = blas.Trans, a.Rows
	}
	if transB {
		tB = blas.Trans
	}
	linalg.Gemm(kernels, tA, tB, c.Rows, c.Cols, k, alpha, a.Data, a.Stride, b.Data, b.Stride, beta, c.Data, c.Stride)
}

// general views a vector as a matrix.
func general(rows, cols int, x []float64) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: x}
}

// wide is the size from which kernels factorize faster, and eigenvalues alone are found
// before their vectors.
const wide = 64

// several is the number of rows from which products of whole matrices beat one row at a
// time.
const several = 12

// rotate sets dst (rows x d) to A X for A rows x k and X k x d.
func rotate(dst []float64, a *mat.Dense, x []float64, d int) {
	rows, k := a.Dims()
	if rows < several {
		clear(dst)
		for i := range rows {
			for j := range k {
				if v := a.At(i, j); v != 0 {
					add(v, x[j*d:][:d], dst[i*d:][:d])
				}
			}
		}
		return
	}
	gemm(false, false, 1, a.RawMatrix(), general(k, d, x), 0, general(rows, d, dst))
}

// times returns A B.
func times(a, b mat.Matrix) *mat.Dense {
	rows, _ := a.Dims()
	_, cols := b.Dims()
	x, transX := whole(a)
	y, transY := whole(b)
	c := mat.NewDense(rows, cols, nil)
	gemm(transX, transY, 1, x, y, 0, c.RawMatrix())
	return c
}

// whole returns the entries of a matrix, or of its transpose.
func whole(a mat.Matrix) (x blas64.General, transposed bool) {
	if t, ok := a.(mat.Transpose); ok {
		x, transposed = whole(t.Matrix)
		return x, !transposed
	}
	if d, ok := a.(*mat.Dense); ok {
		return d.RawMatrix(), false
	}
	return mat.DenseCopyOf(a).RawMatrix(), false
}

// triple returns A B C.
func triple(a, b, c mat.Matrix) *mat.Dense { return times(times(a, b), c) }

// sandwich returns A B A.
func sandwich(a, b *mat.SymDense) *mat.SymDense { return symmetrised(triple(a, b, a), 1) }

// products returns X Y' for two m x d matrices.
func products(x, y []float64, m, d int) *mat.Dense {
	p := mat.NewDense(m, m, nil)
	if m >= several {
		gemm(false, true, 1, general(m, d, x), general(m, d, y), 0, p.RawMatrix())
		return p
	}
	for i := range m {
		for j := range m {
			p.Set(i, j, inner(x[i*d:][:d], y[j*d:][:d]))
		}
	}
	return p
}

// cholesky is U'U of a positive definite matrix, without the condition number
// that gonum's takes most of its time for where the matrix is small.
type cholesky struct{ u blas64.Triangular }

// factorize reports whether A is positive definite. It leaves A as it is.
func (c *cholesky) factorize(a *mat.SymDense) (ok bool) {
	n, stride := a.SymmetricDim(), a.RawSymmetric().Stride
	u := slices.Clone(a.RawSymmetric().Data[:n*stride])
	if n < wide {
		c.u, ok = lapack64.Potrf(blas64.Symmetric{N: n, Stride: stride, Data: u, Uplo: blas.Upper})
		return ok
	}
	for i := range n { // the kernels work below the diagonal
		for j := range i {
			u[i*stride+j] = u[j*stride+i]
		}
	}
	ok = linalg.Cholesky(linalg.Default(), n, u, stride)
	for i := range n {
		for j := range i {
			u[j*stride+i] = u[i*stride+j]
		}
	}
	c.u = blas64.Triangular{N: n, Stride: stride, Data: u, Uplo: blas.Upper, Diag: blas.NonUnit}
	return ok
}

// logDet is the logarithm of the determinant.
func (c *cholesky) logDet() (sum float64) {
	for i := range c.u.N {
		sum += 2 * math.Log(c.u.Data[i*c.u.Stride+i])
	}
	return sum
}

// copy returns a copy.
func (c *cholesky) copy() *cholesky {
	d := *c
	d.u.Data = slices.Clone(c.u.Data)
	return &d
}

// inverse returns the inverse. The factorisation is lost.
func (c *cholesky) inverse() *mat.Dense {
	n := c.u.N
	a := mat.NewDense(n, n, nil)
	if n < wide {
		lapack64.Potri(c.u)
	} else {
		c.squareInverse()
	}
	for i := range n {
		for j, v := range c.u.Data[i*c.u.Stride+i:][:n-i] {
			a.Set(i, i+j, v)
			a.Set(i+j, i, v)
		}
	}
	return a
}

// squareInverse puts the upper triangle of U^-1 U'^-1 in the place of U.
func (c *cholesky) squareInverse() {
	n, stride := c.u.N, c.u.Stride
	l := mat.NewDense(n, n, nil).RawMatrix() // U', and its inverse
	for i := range n {
		for j := range i + 1 {
			l.Data[i*n+j] = c.u.Data[j*stride+i]
		}
	}
	linalg.Invert(linalg.Default(), n, l.Data, n)
	squareUpper(l, blas64.General{Rows: n, Cols: n, Stride: stride, Data: c.u.Data})
}

// squareUpper puts the upper triangle of L'L into dst, for a lower triangle L.
func squareUpper(l, dst blas64.General) {
	for j := 0; j < l.Rows; j += wide { // the columns from j on, down to the diagonal
		w, below := min(wide, l.Rows-j), l.Data[j*l.Stride:]
		linalg.Gemm(linalg.Default(), linalg.Trans, linalg.NoTrans, j+w, w, l.Rows-j, 1, below, l.Stride, below[j:], l.Stride, 0, dst.Data[j:], dst.Stride)
	}
}

// singular reports whether rounding errors are all that keeps the matrix from
// being singular.
func (c *cholesky) singular() bool {
	low, high := math.Inf(1), 0.0
	for i := range c.u.N {
		v := c.u.Data[i*c.u.Stride+i]
		low, high = min(low, v), max(high, v)
	}
	return low*low <= 1e-15*high*high
}

// solve replaces x by the inverse times x. In an ill-conditioned system that only
// makes a step less good.
func (c *cholesky) solve(x []float64) {
	v := blas64.Vector{N: len(x), Inc: 1, Data: x}
	blas64.Trsv(blas.Trans, c.u, v)
	blas64.Trsv(blas.NoTrans, c.u, v)
}
