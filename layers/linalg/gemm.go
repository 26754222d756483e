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
	blockM = 120 // rows of A in a block, a multiple of the rows of every tile
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
	if ker.set == nil || m*n*k == 0 {
		gonumGemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	p := product[T]{
		kernels: kernelsOf[T](ker.set),
		m:       m, n: n, k: k,
		alpha: alpha,
		a:     operand(tA, m, k, a, lda),
		b:     operand(tB, k, n, b, ldb),
		c:     operand(NoTrans, m, n, c, ldc),
		add:   beta != 0,
	}
	parts := parts(ker.Threads, m*n*k)
	bound := func(i int) int {
		return m * i / parts
	}
	parallel(parts, bound, func(lo, hi int) {
		p.rows(lo, hi).run()
	})
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

// operand returns op(X), which is rows x cols and not empty, after checking its storage.
func operand[T Float](t Transpose, rows, cols int,
	x []T, ld int) matrix[T] {
	v := matrix[T]{x, ld, 1}
	if t != NoTrans {
		v = v.transposed()
		rows, cols = cols, rows
	}
	needed := (rows-1)*ld + cols
	if rows < 0 || cols < 0 || ld < cols || len(x) < needed {
		panic("linalg: negative dimension, short stride or short slice")
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

// A workspace holds a packed block of A, and a packed block of B in panels of two
// vectors of columns.
type workspace[T Float] struct{ a, b []T }

func (p product[T]) run() {
	w, ok := p.pool.Get().(*workspace[T])
	if !ok {
		w = new(workspace[T])
	}
	defer p.pool.Put(w)
	for q := 0; q < p.k; q += blockK {
		part := p
		part.k = min(blockK, p.k-q)
		part.a = p.a.from(0, q)
		part.add = p.add || q > 0
		b := p.b.from(q, 0)
		w.b = part.pack(w.b, 2*p.lanes, b, p.n)
		if p.alpha != 1 {
			for i := range w.b {
				w.b[i] *= p.alpha
			}
		}
		for i := 0; i < p.m; i += blockM {
			part.rows(i, min(i+blockM, p.m)).block(w)
		}
	}
}

// pack returns a matrix of p.k rows and cols columns in panels of width columns,
// one after the other. The rows of a panel follow each other, with zeros beyond
// the last column. It reuses dst if that is large enough.
func (p product[T]) pack(dst []T, width int,
	x matrix[T], cols int) []T {
	whole := (cols - 1) / width
	size := (whole + 1) * width * p.k
	dst = slices.Grow(dst[:0], size)[:size]
	if x.cs == 1 {
		p.copy(p.k, &x.data[0], x.rs, &dst[0], width,
			whole, cols-whole*width)
		return dst
	}
	clear(dst[whole*width*p.k:])
	for j := range cols {
		panel := dst[j/width*width*p.k+j%width:]
		for q, v := range x.data[j*x.cs:][:p.k] {
			panel[q*width] = v
		}
	}
	return dst
}

// block multiplies at most blockM rows of A with the packed B.
func (p product[T]) block(w *workspace[T]) {
	// The kernel reads every row of a tile, so that a ragged last tile must be
	// packed even if the rows of A run along k.
	direct := 0
	if p.a.cs == 1 {
		direct = p.m - p.m%p.tile
	}
	if direct < p.m {
		rest := p.a.from(direct, 0).transposed()
		w.a = p.pack(w.a, p.tile, rest, p.m-direct)
	}
	for j := 0; j < p.n; j += 2 * p.lanes {
		cols := min(2*p.lanes, p.n-j)
		kernel := p.gemm[(cols-1)/p.lanes]
		panel := &w.b[j*p.k]
		for i := 0; i < p.m; i += p.tile {
			rows := min(p.tile, p.m-i)
			a := matrix[T]{w.a, 1, p.tile}
			if i < direct {
				a = p.a.from(i, 0)
			} else {
				a.data = a.data[(i-direct)*p.k:]
			}
			kernel(p.k, &a.data[0], a.rs, a.cs,
				panel, &p.c.data[i*p.c.rs+j],
				p.c.rs, rows, cols, p.add)
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
		wg.Go(func() {
			f(bound(i), bound(i+1))
		})
	}
	f(bound(0), bound(1))
	wg.Wait()
}
