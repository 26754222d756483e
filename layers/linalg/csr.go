package linalg

import (
	"errors"
	"fmt"
	"sort"

	"gonum.org/v1/gonum/blas/gonum"
)

// ErrCSR is the error of a malformed sparse matrix.
var ErrCSR = errors.New("malformed sparse matrix")

// A CSR is a sparse matrix stored by rows.
type CSR[T Float] struct {
	cols     int
	ptr, idx []int32
	val      []T
}

// NewCSR returns the matrix with the given number of columns whose row i has
// entries val[p] in columns idx[p] for p from ptr[i] up to ptr[i+1]. It keeps
// the slices, which must not change afterwards: the kernels rely on the checks
// made here. Columns may come in any order and more than once.
func NewCSR[T Float](cols int, ptr, idx []int32, val []T) (*CSR[T], error) {
	if len(ptr) == 0 || ptr[0] != 0 || int(ptr[len(ptr)-1]) != len(idx) || len(idx) != len(val) {
		return nil, fmt.Errorf("linalg: %w: row pointers must run from 0 to the number of columns, %d, and of values, %d", ErrCSR, len(idx), len(val))
	}
	for i := range len(ptr) - 1 {
		if ptr[i] > ptr[i+1] {
			return nil, fmt.Errorf("linalg: %w: row %d begins at entry %d and ends at %d; row pointers must ascend", ErrCSR, i, ptr[i], ptr[i+1])
		}
	}
	for p, j := range idx {
		if j < 0 || int(j) >= cols {
			return nil, fmt.Errorf("linalg: %w: entry %d is in column %d; columns must be from 0 to %d", ErrCSR, p, j, cols-1)
		}
	}
	return &CSR[T]{cols, ptr, idx, val}, nil
}

// Rows returns the number of rows.
func (s *CSR[T]) Rows() int { return len(s.ptr) - 1 }

// Cols returns the number of columns.
func (s *CSR[T]) Cols() int { return s.cols }

// NNZ returns the number of entries.
func (s *CSR[T]) NNZ() int { return len(s.idx) }

// A csrKernel sets rows of Y to those of S L, or adds them to Y. Entry ptr[0] of
// S is at idx[0] and val[0]; the last vector of columns has cols.
type csrKernel[T Float] func(rows int, ptr, idx *int32, val, l *T, ldl int, y *T, ldy, cols int, add bool)

// CSRMul sets Y = S L on the kernels ker, where L has h columns and a row for
// each column of S, and Y has h columns and a row for each row of S. Rows of L
// and Y begin ldl and ldy entries apart. It panics if a stride or a slice is too
// short.
func CSRMul[T Float](ker Kernels, s *CSR[T], h int, l []T, ldl int, y []T, ldy int) {
	csrMul(ker, s, h, l, ldl, y, ldy, false)
}

// CSRAddMul sets Y = Y + S L; see CSRMul.
func CSRAddMul[T Float](ker Kernels, s *CSR[T], h int, l []T, ldl int, y []T, ldy int) {
	csrMul(ker, s, h, l, ldl, y, ldy, true)
}

func csrMul[T Float](ker Kernels, s *CSR[T], h int, l []T, ldl int, y []T, ldy int, add bool) {
	p := sparseProduct[T]{
		CSR: s, h: h, add: add,
		l: operand("L", NoTrans, s.cols, h, l, ldl),
		y: operand("Y", NoTrans, s.Rows(), h, y, ldy),
	}
	if s.Rows() == 0 || h == 0 {
		return
	}
	if parts := parts(ker.Threads, len(s.idx)*h); parts > 1 {
		p.divided(ker, parts)
	} else {
		p.rows(ker, 0, s.Rows())
	}
}

// divided makes all rows of Y, in that many parts.
func (p sparseProduct[T]) divided(ker Kernels, parts int) {
	parallel(parts, func(i int) int { return p.bound(i, parts) }, func(lo, hi int) { p.rows(ker, lo, hi) })
}

// rows makes rows lo to hi of Y.
func (p sparseProduct[T]) rows(ker Kernels, lo, hi int) {
	if ker.set != nil && len(p.idx) > 0 {
		p.run(kernelsOf[T](ker.set), lo, hi)
	} else {
		p.generic(lo, hi)
	}
}

// bound returns the row where part i of parts of about as many entries begins.
func (s *CSR[T]) bound(i, parts int) int {
	if i == parts {
		return s.Rows()
	}
	return sort.Search(s.Rows(), func(r int) bool { return int(s.ptr[r])*parts >= len(s.idx)*i })
}

// A sparseProduct is Y = S L or, with add, Y += S L.
type sparseProduct[T Float] struct {
	*CSR[T]
	h    int
	l, y matrix[T]
	add  bool
}

// run makes rows lo to hi of Y.
func (p sparseProduct[T]) run(k *kernels[T], lo, hi int) {
	// Assembly cannot be preempted: the garbage collector would wait for it.
	const chunk = 64
	vectors := (p.h + k.lanes - 1) / k.lanes
	passes := (vectors + len(k.csr) - 1) / len(k.csr)
	for pass := range passes {
		first, end := vectors*pass/passes, vectors*(pass+1)/passes
		j := first * k.lanes
		cols := min(k.lanes, p.h-(end-1)*k.lanes) // of the last vector
		kernel := k.csr[end-first-1]
		for i := lo; i < hi; i += chunk {
			e := min(int(p.ptr[i]), len(p.idx)-1) // past the end only if no entry follows
			kernel(min(chunk, hi-i), &p.ptr[i], &p.idx[e], &p.val[e], &p.l.data[j], p.l.rs, &p.y.data[i*p.y.rs+j], p.y.rs, cols, p.add)
		}
	}
}

// generic makes rows lo to hi of Y in portable code.
func (p sparseProduct[T]) generic(lo, hi int) {
	for i := lo; i < hi; i++ {
		y := p.y.from(i, 0).data[:p.h]
		if !p.add {
			clear(y)
		}
		for e := p.ptr[i]; e < p.ptr[i+1]; e++ {
			Axpy(p.val[e], p.l.from(int(p.idx[e]), 0).data[:p.h], y)
		}
	}
}

// Axpy adds a x to y.
func Axpy[T Float](a T, x, y []T) {
	var g gonum.Implementation
	switch x := any(x).(type) {
	case []float32:
		g.Saxpy(len(x), float32(a), x, 1, any(y).([]float32), 1)
	case []float64:
		g.Daxpy(len(x), float64(a), x, 1, any(y).([]float64), 1)
	}
}
