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
	norm := x.SquaredNorms()
	for i, v := range norm {
		if !(v <= math.MaxFloat64) { // or NaN
			return nil, Invalid("label graph: row %d: its features must be finite", i)
		}
	}
	return connect(nearest(x, norm, k), class), nil
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
//
// They are summed for those rows only that may be among the k nearest by
// ||a||^2 + ||b||^2 - 2 a'b, with the squared norms, which takes a product for all and whose error
// is bounded.
func nearest(x Matrix, norm []float64, k int) [][]int32 {
	neighbours := make([][]int32, len(norm))
	widest := slices.Max(norm)
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	for i := range norm {
		work.Go(func() error {
			row := make([]float64, x.Cols())
			x.Row(i).AddTo(row, 1)
			distance := make([]float64, len(norm))
			x.Mul(distance, row, 1)
			for j, product := range distance {
				distance[j] = norm[i] + norm[j] - 2*product
			}
			distance[i] = math.Inf(1)
			slack := 16 * float64(x.Cols()+2) * unit * (norm[i] + widest)
			neighbours[i] = nearestTo(x, row, k, distance, slack)
			return nil
		})
	}
	_ = work.Wait() // no row fails
	return neighbours
}

// unit is half the distance from 1 to the next float64.
const unit = 1.0 / (1 << 53)

// nearestTo returns the k rows nearest to a row, given all distances from it, computed
// in another way. A row further than the k-th by more than the errors of both, which is at
// most slack, is out.
func nearestTo(x Matrix, row []float64, k int, distance []float64, slack float64) []int32 {
	limit := slices.Sorted(slices.Values(distance))[k-1] + slack
	var rows []int32
	var exact []float64
	for j, d := range distance {
		if d <= limit {
			rows = append(rows, int32(j))
			exact = append(exact, squaredDistance(row, x.Row(j)))
		}
	}
	order := make([]int, len(rows))
	floats.ArgsortStable(exact, order)
	return Picked(rows, order[:k])
}

// squaredDistance sums the squared differences of two rows of one matrix, column
// by column, so that the sum is the same however they are stored.
func squaredDistance(a []float64, b Row) (sum float64) {
	difference := slices.Clone(a)
	b.AddTo(difference, -1)
	for _, d := range difference {
		sum += float64(d * d) // the conversion keeps a processor from fusing both, which would round otherwise
	}
	return sum
}
