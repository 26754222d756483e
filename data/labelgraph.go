package data

import (
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/floats"
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
// given. Neighbours are by Euclidean distance, in float64: rows at equal distance
// come in the order of their index.
func NewLabelGraph(x Matrix, class []int32, k int) (*LabelGraph, error) {
	n := x.Rows()
	if k < 1 || k >= n {
		return nil, Invalid("label graph: k = %d nearest neighbours of %d rows; k must be in 1..%d", k, n, n-1)
	}
	for i, v := range x.SquaredNorms() {
		if !(v <= math.MaxFloat64) { // or NaN
			return nil, Invalid("label graph: row %d: its features must be finite", i)
		}
	}
	return connect(nearest(x, k), class), nil
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
func connect(neighbours [][]int32, class []int32) *LabelGraph {
	g := &LabelGraph{
		Class: class,
		Ptr:   []int32{0},
	}
	g.Classes = int(slices.Max(class)) + 1
	rows := make([][]int32, len(class))
	for i, list := range neighbours {
		for _, j := range list {
			if class[i] != class[j] {
				rows[i] = append(rows[i], j)
				rows[j] = append(rows[j], int32(i))
			}
		}
	}
	for _, row := range rows {
		slices.Sort(row)
		g.Index = append(g.Index, slices.Compact(row)...)
		g.Ptr = append(g.Ptr, int32(len(g.Index)))
	}
	return g
}

// nearest returns the k nearest others of every row, nearest first, ties going
// to the lower index. Distances are sums of squared differences in float64.
func nearest(x Matrix, k int) [][]int32 {
	neighbours := make([][]int32, x.Rows())
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	for i := range neighbours {
		work.Go(func() error {
			row := make([]float64, x.Cols())
			x.Row(i).AddTo(row, 1)
			difference := make([]float64, x.Cols())
			distance := make([]float64, x.Rows())
			for j := range distance {
				copy(difference, row)
				x.Row(j).AddTo(difference, -1)
				distance[j] = square(difference)
			}
			distance[i] = math.Inf(1)
			order := make([]int, len(distance))
			floats.ArgsortStable(distance, order)
			for _, j := range order[:k] {
				neighbours[i] = append(neighbours[i], int32(j))
			}
			return nil
		})
	}
	_ = work.Wait() // no row fails
	return neighbours
}

// square sums the squares of the differences of two rows, column by column, so that the
// sum is the same however the rows are stored.
func square(difference []float64) (sum float64) {
	for _, d := range difference {
		sum += float64(d * d) // the conversion keeps a processor from fusing both, which would round otherwise
	}
	return sum
}
