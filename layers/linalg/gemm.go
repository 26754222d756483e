package linalg

import (
	"slices"
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// The dense product, after Goto and van de Geijn, "Anatomy of high-performance
// matrix multiplication" (2008). A kernel keeps a tile of C in registers while
// it adds outer products to it, each of a column of A and a row of B. A block of
// B is packed in the order in which the kernel reads it, and serves all rows of
// A. The rows of A are read where they are when they run along k; a transposed A
// is packed too.

// Transpose says whether an operand is taken unchanged or transposed.
type Transpose = blas.Transpose

// The two values of Transpose for real matrices.
const (
	NoTrans = blas.NoTrans
	Trans   = blas.Trans
)

const (
	blockM = 120  // rows of A in a block, a multiple of the rows of every tile
	blockN = 1024 // columns of B in a block, a multiple of the columns of every tile
	// The depth of a block decides how sums are rounded. With a power of two,
	// panels would compete for the same cache sets.
	blockK = 252
)

// Gemm performs one of the matrix-matrix operations
//
//	C = alpha * A * B + beta * C
//	C = alpha * Aᵀ * B + beta * C
//	C = alpha * A * Bᵀ + beta * C
//	C = alpha * Aᵀ * Bᵀ + beta * C
//
// on the kernels ker, where op(A) is m×k, op(B) is k×n and C is m×n, all stored
// by rows, and beta is 0 or 1. With beta = 0 the old C is not read. Like gonum's
// routines it panics if a stride or a slice is too short.
func Gemm[T Float](ker Kernels, tA, tB Transpose, m, n, k int,
	alpha T, a []T, lda int, b []T, ldb int,
	beta T, c []T, ldc int) {
	if beta != 0 && beta != 1 {
		panic("linalg: beta is neither 0 nor 1")
	}
	if ker.set == nil {
		gonumGemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	p := product[T]{
		kernels: kernelsOf[T](ker.set),
		m:       m, n: n, k: k,
		alpha: alpha,
		a:     operand("A", tA, m, k, a, lda),
		b:     operand("B", tB, k, n, b, ldb),
		c:     operand("C", NoTrans, m, n, c, ldc),
		add:   beta != 0,
	}
	switch {
	case m == 0 || n == 0:
	case k > 0:
		parts := parts(ker.Threads, m*n*k)
		bound := func(i int) int { return m * i / parts }
		parallel(parts, bound, func(lo, hi int) { p.rows(lo, hi).run() })
	case !p.add:
		for i := range m {
			clear(p.c.from(i, 0).data[:n])
		}
	}
}

func gonumGemm[T Float](tA, tB Transpose, m, n, k int,
	alpha T, a []T, lda int, b []T, ldb int,
	beta T, c []T, ldc int) {
	var g gonum.Implementation
	switch a := any(a).(type) {
	case []float32:
		g.Sgemm(tA, tB, m, n, k, float32(alpha), a, lda,
			any(b).([]float32), ldb,
			float32(beta), any(c).([]float32), ldc)
	case []float64:
		g.Dgemm(tA, tB, m, n, k, float64(alpha), a, lda,
			any(b).([]float64), ldb,
			float64(beta), any(c).([]float64), ldc)
	}
}

// A matrix has its entry (i, j) at data[i*rs+j*cs]; one of the strides is 1.
type matrix[T Float] struct {
	data   []T
	rs, cs int
}

// operand returns op(X), which is rows x cols, after checking its storage.
func operand[T Float](name string, t Transpose, rows, cols int,
	x []T, ld int) matrix[T] {
	if rows < 0 || cols < 0 {
		panic("linalg: negative dimension of " + name)
	}
	v := matrix[T]{x, ld, 1}
	switch t {
	case NoTrans:
	case Trans, blas.ConjTrans:
		v = v.transposed()
		rows, cols = cols, rows
	default:
		panic("linalg: bad transposition of " + name)
	}
	if ld < max(1, cols) {
		panic("linalg: short stride of " + name)
	}
	if rows > 0 && cols > 0 && len(x) < (rows-1)*ld+cols {
		panic("linalg: short slice of " + name)
	}
	return v
}

// from returns the matrix that begins at entry (i, j) of x.
func (x matrix[T]) from(i, j int) matrix[T] {
	x.data = x.data[i*x.rs+j*x.cs:]
	return x
}

// transposed returns Xᵀ.
func (x matrix[T]) transposed() matrix[T] {
	return matrix[T]{x.data, x.cs, x.rs}
}

// A copyKernel copies k rows of src to panels, each of k rows: first to whole
// ones of width columns, then to one with cols columns and zeros beyond them.
type copyKernel[T Float] func(k int, src *T, ld int,
	dst *T, width, whole, cols int)

// A gemmKernel sets a tile of C to the product of k columns of A, whose entry
// (i, q) is a[i*rs+q*cs], and a packed panel of B, or adds the product to it. It
// reads as many rows of A as the largest tile has.
type gemmKernel[T Float] func(k int, a *T, rs, cs int,
	b, c *T, ldc, rows, cols int, add bool)

// A product is C = alpha A B or, with add, C += alpha A B. None of m, n, k is 0.
type product[T Float] struct {
	*kernels[T]
	m, n, k int
	alpha   T
	a, b, c matrix[T]
	add     bool
}

// rows returns the part of the product that makes rows lo to hi of C.
func (p product[T]) rows(lo, hi int) product[T] {
	p.m = hi - lo
	p.a = p.a.from(lo, 0)
	p.c = p.c.from(lo, 0)
	return p
}

func (p product[T]) run() {
	w, ok := p.pool.Get().(*workspace[T])
	if !ok {
		w = new(workspace[T])
	}
	defer p.pool.Put(w)
	for j := 0; j < p.n; j += blockN {
		for q := 0; q < p.k; q += blockK {
			b := block[T]{
				kernels: p.kernels, packed: w,
				n: min(blockN, p.n-j), k: min(blockK, p.k-q),
				add: p.add || q > 0,
			}
			b.packB(p.b.from(q, j), p.alpha)
			for i := 0; i < p.m; i += blockM {
				b.m = min(blockM, p.m-i)
				b.a = p.a.from(i, q)
				b.c = p.c.from(i, j)
				b.run()
			}
		}
	}
}

// A workspace holds the packed blocks of A and B.
type workspace[T Float] struct{ a, b []T }

// A block is a product with B packed, in panels of two vectors of columns.
type block[T Float] struct {
	*kernels[T]
	m, n, k int
	a, c    matrix[T]
	add     bool
	packed  *workspace[T]
}

func (b block[T]) packB(x matrix[T], alpha T) {
	b.packed.b = b.pack(b.packed.b, 2*b.lanes, x, b.n)
	if alpha != 1 {
		for i := range b.packed.b {
			b.packed.b[i] *= alpha
		}
	}
}

// pack returns a matrix of b.k rows and cols columns in panels of width columns,
// one after the other. The rows of a panel follow each other, with zeros beyond
// the last column. It reuses dst if that is large enough.
func (b block[T]) pack(dst []T, width int,
	x matrix[T], cols int) []T {
	whole := (cols - 1) / width
	size := (whole + 1) * width * b.k
	dst = slices.Grow(dst[:0], size)[:size]
	if x.cs == 1 {
		b.copy(b.k, &x.data[0], x.rs, &dst[0], width,
			whole, cols-whole*width)
		return dst
	}
	for j := 0; j < cols; j += width {
		panel := dst[j*b.k:][:width*b.k]
		used := min(width, cols-j)
		if used < width {
			clear(panel)
		}
		for i := range used {
			for q, v := range x.data[(j+i)*x.cs:][:b.k] {
				panel[q*width+i] = v
			}
		}
	}
	return dst
}

func (b block[T]) run() {
	// The kernel reads every row of a tile, so that a ragged last tile must be
	// packed even if the rows of A run along k.
	direct := 0
	if b.a.cs == 1 {
		direct = b.m - b.m%b.rows
	}
	if direct < b.m {
		rest := b.a.from(direct, 0).transposed()
		b.packed.a = b.pack(b.packed.a, b.rows, rest, b.m-direct)
	}
	for j := 0; j < b.n; j += 2 * b.lanes {
		cols := min(2*b.lanes, b.n-j)
		kernel := b.gemm[(cols-1)/b.lanes]
		panel := &b.packed.b[j*b.k]
		for i := 0; i < b.m; i += b.rows {
			rows := min(b.rows, b.m-i)
			a := matrix[T]{b.packed.a, 1, b.rows}
			if i < direct {
				a = b.a.from(i, 0)
			} else {
				a.data = a.data[(i-direct)*b.k:]
			}
			kernel(b.k, &a.data[0], a.rs, a.cs,
				panel, &b.c.data[i*b.c.rs+j],
				b.c.rs, rows, cols, b.add)
		}
	}
}

// parts returns the number of parts to divide a product of so many
// multiplications into.
func parts(threads, multiplications int) int {
	const grain = 1 << 20 // less is not worth a goroutine
	return max(1, min(threads, multiplications/grain))
}

// parallel calls f for every part of the rows: part i goes from bound(i) to
// bound(i+1).
func parallel(parts int, bound func(i int) int, f func(lo, hi int)) {
	var wg sync.WaitGroup
	for i := 1; i < parts; i++ {
		wg.Go(func() { f(bound(i), bound(i+1)) })
	}
	f(bound(0), bound(1))
	wg.Wait()
}
