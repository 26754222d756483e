package linalg

import (
	"slices"
	"sort"
	"unsafe"

	"gonum.org/v1/gonum/blas/gonum"
)

// A CSR is a sparse matrix stored by rows.
type CSR[T Float] struct {
	cols     int
	ptr, idx []int32
	val      []T
}

// NewCSR returns the matrix with the given number of columns whose row i has
// entries val[p] in columns idx[p] for p from ptr[i] up to ptr[i+1]. It keeps
// the slices, which must not change afterwards: the kernels rely on the checks
// made here. Columns may come in any order and more than once. It panics if the
// matrix is malformed.
func NewCSR[T Float](cols int, ptr, idx []int32, val []T) *CSR[T] {
	stray := func(j int32) bool {
		return j < 0 || int(j) >= cols
	}
	if len(ptr) == 0 || ptr[0] != 0 || !slices.IsSorted(ptr) ||
		int(ptr[len(ptr)-1]) != len(idx) || len(idx) != len(val) ||
		slices.ContainsFunc(idx, stray) {
		panic("linalg: row pointers must ascend from 0 to the number of entries, and columns be those of the matrix")
	}
	return &CSR[T]{cols, ptr, idx, val}
}

// Rows returns the number of rows.
func (s *CSR[T]) Rows() int {
	return len(s.ptr) - 1
}

// Transpose returns Sᵀ, whose columns ascend within every row.
func (s *CSR[T]) Transpose() *CSR[T] {
	n := len(s.idx)
	t := &CSR[T]{s.Rows(), make([]int32, s.cols+1),
		make([]int32, n), make([]T, n)}
	for _, j := range s.idx {
		t.ptr[j+1]++
	}
	for j := range s.cols {
		t.ptr[j+1] += t.ptr[j]
	}
	next := slices.Clone(t.ptr[:s.cols])
	for i := range s.Rows() {
		for p := s.ptr[i]; p < s.ptr[i+1]; p++ {
			j := s.idx[p]
			t.idx[next[j]] = int32(i)
			t.val[next[j]] = s.val[p]
			next[j]++
		}
	}
	return t
}

// A csrKernel sets rows of Y to the rows of S L, or adds them to Y. Entry ptr[0] of
// S is at idx[0] and val[0]; the last vector of columns has cols.
type csrKernel[T Float] func(rows int, ptr, idx *int32,
	val, l *T, ldl int, y *T, ldy, cols int, add bool)

// CSRMul sets Y = S L on the kernels ker, or Y = Y + S L, where L has h columns and a row
// for each column of S, and Y has h columns and a row for each row of S. It panics if a
// slice is too short.
func CSRMul[T Float](ker Kernels, s *CSR[T], h int,
	l, y []T, add bool) {
	rows := s.Rows()
	if h < 0 || len(l) < s.cols*h || len(y) < rows*h {
		panic("linalg: L needs a row for each column of S, and Y for each row")
	}
	p := sparseProduct[T]{s, h, l, y, add}
	parts := parts(ker.Threads, len(s.idx)*h)
	bound := func(i int) int {
		return s.bound(i, parts)
	}
	parallel(parts, bound, func(lo, hi int) {
		if ker.set != nil && len(s.idx) > 0 {
			p.run(kernelsOf[T](ker.set).csr, lo, hi)
		} else {
			p.generic(lo, hi)
		}
	})
}

// bound returns the row where part i of parts of about as many entries begins.
func (s *CSR[T]) bound(i, parts int) int {
	if i == parts {
		return s.Rows()
	}
	return sort.Search(s.Rows(), func(r int) bool {
		return int(s.ptr[r])*parts >= len(s.idx)*i
	})
}

// A sparseProduct is Y = S L or, with add, Y += S L.
type sparseProduct[T Float] struct {
	*CSR[T]
	h    int
	l, y []T
	add  bool
}

// run makes rows lo to hi of Y.
func (p sparseProduct[T]) run(kernels []csrKernel[T], lo, hi int) {
	// Assembly cannot be preempted: the garbage collector would wait for it.
	const chunk = 64
	lanes := 32 / int(unsafe.Sizeof(p.l[0])) // of AVX2
	vectors := (p.h + lanes - 1) / lanes
	passes := (vectors + len(kernels) - 1) / len(kernels)
	for pass := range passes {
		first := vectors * pass / passes
		end := vectors * (pass + 1) / passes
		j := first * lanes
		cols := min(lanes, p.h-(end-1)*lanes) // of the last vector
		kernel := kernels[end-first-1]
		for i := lo; i < hi; i += chunk {
			e := min(int(p.ptr[i]),
				len(p.idx)-1) // past the end only if no entry follows
			kernel(min(chunk, hi-i), &p.ptr[i], &p.idx[e],
				&p.val[e], &p.l[j], p.h,
				&p.y[i*p.h+j], p.h, cols, p.add)
		}
	}
}

// generic makes rows lo to hi of Y in portable code.
func (p sparseProduct[T]) generic(lo, hi int) {
	for i := lo; i < hi; i++ {
		y := p.y[i*p.h:][:p.h]
		if !p.add {
			clear(y)
		}
		for e := p.ptr[i]; e < p.ptr[i+1]; e++ {
			l := p.l[int(p.idx[e])*p.h:][:p.h]
			Axpy(p.val[e], l, y)
		}
	}
}

// CSRGram adds the lower triangle of S Sᵀ (n x n), which is symmetric, to A. It wants the
// transpose of S beside it.
func CSRGram[T Float](s, transposed *CSR[T], a []T) {
	n := s.Rows()
	for i := range n {
		row := a[i*n:][:i+1]
		for p := s.ptr[i]; p < s.ptr[i+1]; p++ {
			v := s.val[p]
			j := s.idx[p]
			lo := transposed.ptr[j]
			hi := transposed.ptr[j+1]
			value := transposed.val[lo:hi]
			for q, k := range transposed.idx[lo:hi] {
				if int(k) > i {
					break
				}
				row[k] += v * value[q]
			}
		}
	}
}

// Axpy adds a x to y.
func Axpy[T Float](a T, x, y []T) {
	var g gonum.Implementation
	switch y := any(y).(type) {
	case []float32:
		x := any(x).([]float32)
		g.Saxpy(len(x), float32(a), x, 1, y, 1)
	case []float64:
		x := any(x).([]float64)
		g.Daxpy(len(x), float64(a), x, 1, y, 1)
	}
}
