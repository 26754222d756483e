package data

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"

	"l2mt/layers/linalg"
)

// Matrix is the feature matrix X of a dataset, n x d with one data point per
// row. Stored implements it. A Matrix is read-only once made, so any
// number of goroutines may use one.
type Matrix interface {
	// Rows and Cols are the dimensions n and d.
	Rows() int
	Cols() int
	// NNZ is the number of stored entries.
	NNZ() int
	// Row returns row i without copying it.
	Row(i int) Row
	// Take returns the given rows, in that order and repeats included, without
	// copying their entries.
	Take(rows []int) Matrix
	// Mul sets dst (n x k) to X B, with B d x k.
	Mul(dst, b []float64, k int)
	// AddMulT adds X' b to dst, with b of length n.
	AddMulT(dst, b []float64)
	// AddGram adds X' diag(c) X v to dst, with v of length d, in one pass over the
	// entries. It returns the sum of diag(c) X v.
	AddGram(dst, v, c []float64) float64
	// SquaredNorms returns the squared Euclidean length of every row.
	SquaredNorms() []float64
}

// Row is one data point. In a dense row Index is nil and Value holds all d
// entries; in a sparse one Value[p] belongs to column Index[p], the indices
// ascend strictly, and absent columns are zero.
type Row struct {
	Index []int32
	Value []float32
}

// Column returns the column of entry p.
func (r Row) Column(p int) int {
	if r.Index == nil {
		return p
	}
	return int(r.Index[p])
}

// Stored is a Matrix in memory. A dense one has all entries, zeros too; a sparse one is
// in compressed sparse row form.
type Stored struct {
	cols       int
	begin, end []int   // row i is value[begin[i]:end[i]] and the same of index
	index      []int32 // not nil if it is sparse
	value      []float32
}

// IsSparse says whether a matrix is sparse.
func IsSparse(x Matrix) bool {
	s, ok := x.(*Stored)
	return ok && s.index != nil
}

// NewDense returns the matrix whose rows stand one after the other in values.
// It keeps values without copying.
func NewDense(rows, cols int, values []float32) (*Stored, error) {
	if rows < 0 || cols < 0 || len(values) != rows*cols {
		return nil, fmt.Errorf("a dense matrix of %d x %d needs %d values, not %d",
			rows, cols, rows*cols, len(values))
	}
	ptr := make([]int, rows+1)
	for i := range ptr {
		ptr[i] = i * cols
	}
	return newStored(cols, ptr, nil, values), nil
}

// NewCSR returns the matrix whose row i has its columns in
// index[ptr[i]:ptr[i+1]] and its values beside them. It keeps the slices
// without copying, and checks that columns ascend strictly within every row.
func NewCSR(cols int, ptr []int, index []int32, value []float32) (*Stored, error) {
	if len(ptr) == 0 || ptr[0] != 0 ||
		ptr[len(ptr)-1] != len(index) || len(index) != len(value) {
		return nil, fmt.Errorf("a sparse matrix needs row pointers from 0 to its %d columns and as many values, not %d",
			len(index), len(value))
	}
	for i := range len(ptr) - 1 {
		if ptr[i] > ptr[i+1] || ptr[i+1] > len(index) {
			return nil, fmt.Errorf("row %d of a sparse matrix has row pointers %d and %d; they must ascend up to %d",
				i, ptr[i],
				ptr[i+1], len(index))
		}
		last := int32(-1)
		for _, j := range index[ptr[i]:ptr[i+1]] {
			if j <= last || int(j) >= cols {
				return nil, fmt.Errorf("row %d of a sparse matrix has column %d after column %d; columns must ascend within 0..%d",
					i, j, last, cols-1)
			}
			last = j
		}
	}
	if index == nil {
		index = []int32{}
	}
	return newStored(cols, ptr, index, value), nil
}

// newStored is NewDense or NewCSR for parts that are known to be right.
func newStored(cols int, ptr []int, index []int32, value []float32) *Stored {
	n := len(ptr) - 1
	return &Stored{cols: cols, begin: ptr[:n:n],
		end: ptr[1:], index: index, value: value}
}

// Rows returns n.
func (x *Stored) Rows() int {
	return len(x.begin)
}

// Cols returns d.
func (x *Stored) Cols() int {
	return x.cols
}

// NNZ returns the number of stored entries.
func (x *Stored) NNZ() (n int) {
	for i, end := range x.end {
		n += end - x.begin[i]
	}
	return n
}

// Row returns row i.
func (x *Stored) Row(i int) Row {
	b := x.begin[i]
	e := x.end[i]
	if x.index == nil {
		return Row{Value: x.value[b:e:e]}
	}
	return Row{
		Index: x.index[b:e:e],
		Value: x.value[b:e:e],
	}
}

// Take returns the given rows; they share their entries with x.
func (x *Stored) Take(rows []int) Matrix {
	return &Stored{cols: x.cols, index: x.index, value: x.value,
		begin: Picked(x.begin, rows), end: Picked(x.end, rows)}
}

// Narrowed returns a sparse x without the columns that have no entries, and the numbers of
// the others.
func (x *Stored) Narrowed() (*Stored, []int32) {
	used := Distinct(x.index)
	narrow := *x
	narrow.cols = len(used)
	narrow.index = make([]int32, len(x.index))
	for p, j := range x.index {
		k, _ := slices.BinarySearch(used, j)
		narrow.index[p] = int32(k)
	}
	return &narrow, used
}

// Mul sets dst to X B.
func (x *Stored) Mul(dst, b []float64, k int) {
	switch {
	case k == 1:
		for i := range x.begin {
			dst[i] = x.Row(i).dot(b)
		}
	case x.index == nil:
		x.mulDense(dst, b, k)
	default:
		clear(dst[:x.Rows()*k])
		for i := range x.begin {
			r := x.Row(i)
			out := dst[i*k:][:k]
			for p, j := range r.Index {
				in := b[int(j)*k:][:k]
				floats.AddScaled(out, float64(r.Value[p]), in)
			}
		}
	}
}

// someRows is how many rows are widened at a time.
const someRows = 64

// mulDense widens rows to double precision, for products of whole matrices.
func (x *Stored) mulDense(dst, b []float64, k int) {
	for from := 0; from < x.Rows(); from += someRows {
		n := min(someRows, x.Rows()-from)
		rows := make([]float64, 0, n*x.cols)
		for i := range n {
			for _, v := range x.Row(from + i).Value {
				rows = append(rows, float64(v))
			}
		}
		linalg.Gemm(linalg.Default(), linalg.NoTrans,
			linalg.NoTrans, n, k, x.cols,
			1, rows, x.cols, b, k, 0, dst[from*k:], k)
	}
}

// AddMulT adds X' b to dst.
func (x *Stored) AddMulT(dst, b []float64) {
	for i := range x.begin {
		x.Row(i).AddTo(dst, b[i])
	}
}

// AddGram adds X' diag(c) X v to dst and returns the sum of diag(c) X v.
func (x *Stored) AddGram(dst, v, c []float64) (sum float64) {
	for i := range x.begin {
		row := x.Row(i)
		u := c[i] * row.dot(v)
		row.AddTo(dst, u)
		sum += u
	}
	return sum
}

// SquaredNorms returns ||x_i||^2 of every row.
func (x *Stored) SquaredNorms() []float64 {
	norms := make([]float64, x.Rows())
	for i := range norms {
		norms[i] = x.Row(i).Square()
	}
	return norms
}

// Square is the squared length of the row.
func (r Row) Square() (sum float64) {
	for _, v := range r.Value {
		sum += float64(v) * float64(v)
	}
	return sum
}

// dot returns <r, w>.
func (r Row) dot(w []float64) (sum float64) {
	if r.Index == nil {
		return linalg.DotMixed(linalg.Default(), r.Value, w)
	}
	for p, j := range r.Index {
		sum += float64(r.Value[p]) * w[j]
	}
	return sum
}

// AddTo adds a r to w.
func (r Row) AddTo(w []float64, a float64) {
	if r.Index == nil {
		linalg.AxpyMixed(linalg.Default(), a, r.Value, w)
		return
	}
	for p, j := range r.Index {
		w[j] += a * float64(r.Value[p])
	}
}

// Builder makes a matrix row by row, stored as another one is.
type Builder struct {
	cols  int
	ptr   []int
	index []int32 // not nil if it is sparse
	value []float32
}

// NewBuilder is for as many columns.
func NewBuilder(like Matrix, cols int) *Builder {
	b := &Builder{
		cols: cols,
		ptr:  []int{0},
	}
	entries := like.Rows() * cols
	if IsSparse(like) {
		entries = like.NNZ()
		b.index = make([]int32, 0, entries)
	}
	b.value = make([]float32, 0, entries)
	return b
}

// Row adds a row of n zeros, of a sparse matrix in the columns of index, and returns its
// values.
func (b *Builder) Row(index []int32, n int) []float32 {
	if b.index != nil {
		b.index = append(b.index, index...)
	}
	b.value = append(b.value, make([]float32, n)...)
	b.ptr = append(b.ptr, len(b.value))
	return b.value[len(b.value)-n:]
}

// Add adds a row unchanged.
func (b *Builder) Add(r Row) {
	if b.index != nil || r.Index == nil {
		copy(b.Row(r.Index, len(r.Value)), r.Value)
		return
	}
	dst := b.Row(nil, b.cols)
	for p, j := range r.Index {
		dst[j] = r.Value[p]
	}
}

// Matrix has the rows so far.
func (b *Builder) Matrix() Matrix {
	return newStored(b.cols, b.ptr, b.index, b.value)
}
