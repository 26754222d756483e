package data

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// LabelGraph is the graph G of one task's training rows,
//
//	g_ij =  1 if rows i and j have the same class (also i = j),
//	       -1 if their classes differ and one is among the k nearest others of the other,
//	        0 otherwise,
//
// kept as G = C C' - S: C is the n x Classes indicator of Class, and S the
// symmetric sparse 0/1 matrix whose row i has its ones in the columns
// Index[Ptr[i]:Ptr[i+1]]. It takes O(nk) memory and never n x n.
type LabelGraph struct {
	Class   []int32
	Classes int
	Ptr     []int32 // length n+1
	Index   []int32 // ascending within a row
}

// NewLabelGraph returns the label graph of the rows of x, whose classes are
// given. Neighbours are by Euclidean distance, computed exactly: rows at equal
// distance come in the order of their index, whatever rounding would say.
func NewLabelGraph(x Matrix, class []int32, k int) (*LabelGraph, error) {
	n := x.Rows()
	if len(class) != n {
		return nil, fmt.Errorf("data: label graph: %w: %d rows but %d classes", ErrInvalid, n, len(class))
	}
	if k < 1 || k >= n {
		return nil, fmt.Errorf("data: label graph: %w: k = %d nearest neighbours of %d rows; k must be in 1..%d", ErrInvalid, k, n, n-1)
	}
	for i, c := range class {
		if c < 0 {
			return nil, fmt.Errorf("data: label graph: row %d: %w: class %d is negative", i, ErrInvalid, c)
		}
	}
	return connect(nearest(pointsOf(x), k), class), nil
}

// QuantileClasses returns the classes of a regression task for its label
// graph: bins of the targets between their quantiles, equally filled up to
// ties. Equal targets share a bin.
func QuantileClasses(y []float64, bins int) []int32 {
	sorted := slices.Clone(y)
	slices.Sort(sorted)
	class := make([]int32, len(y))
	for i, v := range y {
		below, _ := slices.BinarySearch(sorted, v)
		class[i] = int32(below * bins / len(y))
	}
	return class
}

// connect makes the graph of given neighbour lists.
func connect(near [][]int32, class []int32) *LabelGraph {
	n := len(class)
	g := &LabelGraph{Class: slices.Clone(class), Ptr: make([]int32, n+1)}
	rows := make([][]int32, n)
	for i, list := range near {
		g.Classes = max(g.Classes, int(class[i])+1)
		for _, j := range list {
			if class[i] != class[j] {
				rows[i] = append(rows[i], j)
				rows[j] = append(rows[j], int32(i))
			}
		}
	}
	for i, row := range rows {
		slices.Sort(row)
		g.Index = append(g.Index, slices.Compact(row)...)
		g.Ptr[i+1] = int32(len(g.Index))
	}
	return g
}

// points are rows for the search of neighbours. They are generic because the
// search promises exact answers, and that is tested on float64 rows too.
type points[T float32 | float64] struct {
	cols  int
	index [][]int32 // nil: dense rows
	value [][]T
}

func pointsOf(x Matrix) points[float32] {
	p := points[float32]{cols: x.Cols(), value: make([][]float32, x.Rows())}
	for i := range p.value {
		r := x.Row(i)
		p.value[i] = r.Value
		if r.Index != nil || p.index != nil {
			if p.index == nil {
				p.index = make([][]int32, x.Rows())
			}
			p.index[i] = r.Index
		}
	}
	return p
}

// rowBlock is the number of rows whose distances to all others are held at once.
const rowBlock = 64

// nearest returns the k nearest others of every row, nearest first.
//
// Distances come from ||a||^2 + ||b||^2 - 2 a'b in float64, whose error is
// bounded. Only where that bound cannot tell who is among the k nearest are
// rows compared by their differences, and where those cannot tell either, in
// exact arithmetic.
func nearest[T float32 | float64](p points[T], k int) [][]int32 {
	n := len(p.value)
	s := newSearch(p)
	near := make([][]int32, n)
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	for lo := 0; lo < n; lo += rowBlock {
		work.Go(func() error {
			hi := min(lo+rowBlock, n)
			dots := make([]float64, (hi-lo)*n)
			s.dots(lo, hi, dots)
			for i := lo; i < hi; i++ {
				near[i] = s.nearestTo(i, k, dots[(i-lo)*n:][:n])
			}
			return nil
		})
	}
	work.Wait() // no block fails
	return near
}

type search[T float32 | float64] struct {
	points[T]
	norm   []float64
	widest float64 // the largest norm
	terms  int     // most additions behind any one product
	exact  bool    // no sum was rounded

	// The transpose of sparse rows, widened once instead of in every product.
	colPtr, colRow []int32
	colValue       []float64
}

func newSearch[T float32 | float64](p points[T]) *search[T] {
	s := &search[T]{points: p, norm: make([]float64, len(p.value)), terms: p.cols}
	largest, whole := 0.0, true
	if p.index != nil {
		s.terms = 0
	}
	for i, row := range p.value {
		s.terms = max(s.terms, len(row))
		for _, v := range row {
			f := float64(v)
			s.norm[i] += f * f
			largest = max(largest, math.Abs(f))
			whole = whole && f == math.Trunc(f)
		}
		s.widest = max(s.widest, s.norm[i])
	}
	// Whole numbers whose sums stay below 2^53, such as counts and pixels, are never rounded.
	s.exact = whole && 4*float64(s.terms)*largest*largest < 1<<53
	if p.index != nil {
		s.transpose()
	}
	return s
}

func (s *search[T]) transpose() {
	s.colPtr = make([]int32, s.cols+1)
	for _, row := range s.index {
		for _, j := range row {
			s.colPtr[j+1]++
		}
	}
	for j := range s.cols {
		s.colPtr[j+1] += s.colPtr[j]
	}
	s.colRow = make([]int32, s.colPtr[s.cols])
	s.colValue = make([]float64, len(s.colRow))
	next := slices.Clone(s.colPtr[:s.cols])
	for i, row := range s.index {
		for q, j := range row {
			s.colRow[next[j]], s.colValue[next[j]] = int32(i), float64(s.value[i][q])
			next[j]++
		}
	}
}

// dots sets out, (hi-lo) x n, to the products of rows lo..hi with all rows.
func (s *search[T]) dots(lo, hi int, out []float64) {
	n := len(s.value)
	if s.index == nil {
		a := s.widen(lo, hi)
		for j := 0; j < n; j += rowBlock {
			b := s.widen(j, min(j+rowBlock, n))
			blas64.Gemm(blas.NoTrans, blas.Trans, 1, a, b, 0,
				blas64.General{Rows: a.Rows, Cols: b.Rows, Stride: n, Data: out[j:]})
		}
		return
	}
	for i := lo; i < hi; i++ {
		row := out[(i-lo)*n:][:n]
		for q, j := range s.index[i] {
			v := float64(s.value[i][q])
			b, e := s.colPtr[j], s.colPtr[j+1]
			rows := s.colRow[b:e]
			for r, x := range s.colValue[b:e] {
				row[rows[r]] += v * x
			}
		}
	}
}

// widen copies dense rows lo..hi as float64.
func (s *search[T]) widen(lo, hi int) blas64.General {
	g := blas64.General{Rows: hi - lo, Cols: s.cols, Stride: s.cols, Data: make([]float64, (hi-lo)*s.cols)}
	for i := lo; i < hi; i++ {
		for j, v := range s.value[i] {
			g.Data[(i-lo)*s.cols+j] = float64(v)
		}
	}
	return g
}

// unit is half the distance from 1 to the next float64.
const unit = 1.0 / (1 << 53)

// nearestTo returns the k nearest others of row i, given its products.
func (s *search[T]) nearestTo(i, k int, dots []float64) []int32 {
	n := len(dots)
	k = min(k, n-1)
	if k == 0 {
		return nil
	}
	for j, norm := range s.norm { // dots become squared distances
		dots[j] = s.norm[i] + norm - 2*dots[j]
	}
	dots[i] = math.Inf(1)
	bound := 0.0
	if !s.exact {
		bound = 2 * float64(s.terms+4) * unit * (s.norm[i] + s.widest)
	}
	// A row further than the k-th by more than both errors is out, whatever
	// the rounding did.
	limit := kth(dots, k) + 2*bound
	list := make([]int32, 0, k+1)
	for j, d := range dots {
		if d <= limit {
			list = append(list, int32(j))
		}
	}
	slices.SortFunc(list, func(a, b int32) int {
		switch da, db := dots[a], dots[b]; {
		case da < db-2*bound:
			return -1
		case da > db+2*bound:
			return 1
		}
		if c := s.compare(i, int(a), int(b)); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	return list[:k:k]
}

// kth returns the k-th smallest value.
func kth(v []float64, k int) float64 {
	heap := slices.Clone(v[:k]) // the k smallest so far, the largest on top
	for i := k/2 - 1; i >= 0; i-- {
		sink(heap, i)
	}
	for _, x := range v[k:] {
		if x < heap[0] {
			heap[0] = x
			sink(heap, 0)
		}
	}
	return heap[0]
}

func sink(heap []float64, i int) {
	for {
		c := 2*i + 1
		if c+1 < len(heap) && heap[c+1] > heap[c] {
			c++
		}
		if c >= len(heap) || heap[c] <= heap[i] {
			return
		}
		heap[i], heap[c] = heap[c], heap[i]
		i = c
	}
}

// compare orders rows a and b by their exact distance from row i.
func (s *search[T]) compare(i, a, b int) int {
	da, db := s.difference(i, a), s.difference(i, b)
	// Sums of squares have an error relative to themselves alone.
	slack := float64(2*s.terms+8) * unit
	if s.exact || (da == 0 && db == 0) || math.Abs(da-db) > slack*(da+db) {
		return cmp.Compare(da, db)
	}
	return s.exactDistance(i, a).Cmp(s.exactDistance(i, b))
}

// difference returns the sum of (a - b)^2 in float64.
func (s *search[T]) difference(a, b int) (sum float64) {
	s.pairs(a, b, func(x, y T) {
		d := float64(x) - float64(y)
		sum += d * d
	})
	return sum
}

// exactDistance returns the squared distance without rounding: the exponents
// of float64 span less than 2^11, so a difference has less than 2200 bits and
// its square twice as many.
func (s *search[T]) exactDistance(a, b int) *big.Float {
	sum := new(big.Float).SetPrec(4608)
	d, y := new(big.Float).SetPrec(2304), new(big.Float)
	square := new(big.Float).SetPrec(4608)
	s.pairs(a, b, func(u, v T) {
		if u != v {
			d.Sub(d.SetFloat64(float64(u)), y.SetFloat64(float64(v)))
			sum.Add(sum, square.Mul(d, d))
		}
	})
	return sum
}

// pairs calls f with the entries of rows a and b in every column where either
// has one.
func (s *search[T]) pairs(a, b int, f func(x, y T)) {
	va, vb := s.value[a], s.value[b]
	if s.index == nil {
		for j, x := range va {
			f(x, vb[j])
		}
		return
	}
	ia, ib := s.index[a], s.index[b]
	p, q := 0, 0
	for p < len(ia) || q < len(ib) {
		switch {
		case q == len(ib) || (p < len(ia) && ia[p] < ib[q]):
			f(va[p], 0)
			p++
		case p == len(ia) || ib[q] < ia[p]:
			f(0, vb[q])
			q++
		default:
			f(va[p], vb[q])
			p++
			q++
		}
	}
}
