package multitask

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
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

// wide is the size from which the kernels factorize faster than gonum does.
const wide = 64

// product is an Omega to multiply vectors by, nil the identity.
type product struct {
	dense    blas64.General
	diagonal bool // as that of single-task learning is, whatever the number of tasks
	threads  int
}

func newProduct(omega *mat.SymDense, threads int) *product {
	return &product{dense: mat.DenseCopyOf(omega).RawMatrix(), diagonal: norm1(omega) == mat.Trace(omega), threads: threads}
}

// multiply sets dst to Omega X.
func (o *product) multiply(dst, x []float64) {
	if o == nil {
		copy(dst, x)
		return
	}
	m := o.dense.Rows
	d := len(x) / m
	if o.diagonal {
		for i := range m {
			floats.ScaleTo(dst[i*d:][:d], o.dense.Data[i*m+i], x[i*d:][:d])
		}
		return
	}
	gemmOn(o.threads, false, false, 1, o.dense, general(m, d, x), 0, general(m, d, dst))
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

// sandwich returns A B A.
func sandwich(a, b *mat.SymDense) *mat.SymDense { return symmetrised(times(times(a, b), a), 1) }

// products returns X Y' for two m x d matrices.
func products(x, y []float64, m, d int) *mat.Dense {
	p := mat.NewDense(m, m, nil)
	gemm(false, true, 1, general(m, d, x), general(m, d, y), 0, p.RawMatrix())
	return p
}

// rowsOf returns W' (m x d, row-major), in which the weights of a task are
// contiguous.
func rowsOf(w *mat.Dense) []float64 {
	d, m := w.Dims()
	rows := make([]float64, d*m)
	for i := range m {
		mat.Col(rows[i*d:][:d], i, w)
	}
	return rows
}

// gram returns W'W from the rows of W'.
func gram(rows []float64, m, d int) *mat.SymDense { return symmetrised(products(rows, rows, m, d), 1) }

// symmetrised returns a times the symmetric part of A.
func symmetrised(x *mat.Dense, a float64) *mat.SymDense {
	m, _ := x.Dims()
	s := mat.NewSymDense(m, nil)
	for i := range m {
		for j := range i + 1 {
			s.SetSym(i, j, a*(x.At(i, j)+x.At(j, i))/2)
		}
	}
	return s
}

// dot returns <A, B> of symmetric matrices.
func dot(a, b *mat.SymDense) float64 {
	sum := 0.0
	for i := range a.SymmetricDim() {
		for j := range a.SymmetricDim() {
			sum += a.At(i, j) * b.At(i, j)
		}
	}
	return sum
}

// addSym adds c b to a.
func addSym(a *mat.SymDense, c float64, b *mat.SymDense) {
	for i := range a.SymmetricDim() {
		for j := range i + 1 {
			a.SetSym(i, j, a.At(i, j)+c*b.At(i, j))
		}
	}
}

// identity returns c I.
func identity(m int, c float64) *mat.SymDense {
	a := mat.NewSymDense(m, nil)
	for i := range m {
		a.SetSym(i, i, c)
	}
	return a
}

// norm1 is the sum of the absolute values of all entries.
func norm1(a mat.Matrix) float64 {
	n, k := a.Dims()
	sum := 0.0
	for i := range n {
		for j := range k {
			sum += math.Abs(a.At(i, j))
		}
	}
	return sum
}

// cholesky is U'U of a positive definite matrix, without the condition number
// that gonum's takes most of its time for where the matrix is small.
type cholesky struct{ u blas64.Triangular }

// factorize reports whether A is positive definite. It leaves A as it is.
func (c *cholesky) factorize(a *mat.SymDense) (ok bool) {
	n, stride := a.SymmetricDim(), a.RawSymmetric().Stride
	u := slices.Clone(a.RawSymmetric().Data[:n*stride])
	c.u, ok = lapack64.Potrf(blas64.Symmetric{N: n, Stride: stride, Data: u, Uplo: blas.Upper})
	return ok
}

// logDet is the logarithm of the determinant.
func (c *cholesky) logDet() (sum float64) {
	for i := range c.u.N {
		sum += 2 * math.Log(c.u.Data[i*c.u.Stride+i])
	}
	return sum
}

// inverse returns the inverse. The factorisation is lost.
func (c *cholesky) inverse() *mat.SymDense {
	lapack64.Potri(c.u)
	return mat.NewSymDense(c.u.N, c.u.Data)
}

// solve replaces x by the inverse times x. In an ill-conditioned system that only
// makes a step less good.
func (c *cholesky) solve(x []float64) {
	v := blas64.Vector{N: len(x), Inc: 1, Data: x}
	blas64.Trsv(blas.Trans, c.u, v)
	blas64.Trsv(blas.NoTrans, c.u, v)
}
