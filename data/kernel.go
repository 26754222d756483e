package data

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"l2mt/layers/linalg"
)

// A kernel sees a row x by how near it is to landmarks z, rows among those of training:
//
//	gauss    k(x, z) = exp(-g ||x - z||^2 / v)      v the variance of a row
//	laplace  k(x, z) = exp(-g ||x - z||_1 / s)      s the standard deviations' sum
//
// Each landmark is the row that those before it explain least (pivoted Cholesky), until all rows
// are explained but for a share.
const explained = 1e-3

// alike is how close two rows are explained if rounding may decide which is less.
const alike = 1e-9

// FitKernel fits the step of a kernel of width g to rows, with so many landmarks at most. It
// returns the matrix A (landmarks x landmarks), in row order, that gives rows k of the step the
// coordinates k A, whose inner products are the kernel.
func FitKernel(kind string, g float64, x Matrix, most int) (Step, []float64) {
	_, deviation := moments(x)
	size := floats.Sum(deviation)
	if kind == StepGauss {
		size = floats.Dot(deviation, deviation)
	}
	s := Step{Kind: kind, Cols: x.Cols(), Width: g / cmp.Or(size, 1)} // 0 where all rows are alike
	s.Low, s.High = extremes(x)
	pivots := s.landmarks(x, min(most, x.Rows()))
	n := len(pivots)
	l := make([]float64, n*n)
	for i, row := range pivots {
		copy(l[i*n:], row)
	}
	linalg.Invert(linalg.Default(), n, l, n)
	a := make([]float64, n*n)
	for i := range n {
		for j := range n {
			a[i*n+j] = l[j*n+i]
		}
	}
	return s, a
}

// landmarks finds the landmarks, and their rows of the Cholesky factor of their kernel.
func (s *Step) landmarks(x Matrix, most int) (pivots [][]float64) {
	n := x.Rows()
	left := make([]float64, n)
	floats.AddConst(1, left)
	var columns [][]float64 // of the factor
	sums := rowSums(x)
	for range most {
		p := leastExplained(left, sums)
		if left[p] < explained {
			break
		}
		z := slices.Clone(x.Row(p).Value)
		s.Landmarks = append(s.Landmarks, z)
		root := math.Sqrt(left[p])
		column := make([]float64, n)
		for i := range n {
			column[i] = math.Exp(-s.Width * distance(s.Kind, x.Row(i).Value, z))
		}
		var pivot []float64
		for _, c := range columns {
			floats.AddScaled(column, -c[p], c)
			pivot = append(pivot, c[p])
		}
		pivots = append(pivots, append(pivot, root))
		floats.Scale(1/root, column)
		columns = append(columns, column)
		for i, v := range column {
			left[i] -= v * v
		}
		left[p] = 0
	}
	return pivots
}

// leastExplained is the row of which most is left, of equals the one of the largest sum, so that
// the order of rows does not matter.
func leastExplained(left, sums []float64) (p int) {
	most := floats.Max(left)
	first := math.Inf(-1)
	for i, v := range left {
		if v >= most-alike && sums[i] > first {
			first = sums[i]
			p = i
		}
	}
	return p
}

// rowSums are the sums of the rows' values.
func rowSums(x Matrix) []float64 {
	sums := make([]float64, x.Rows())
	for i := range sums {
		for _, v := range x.Row(i).Value {
			sums[i] += float64(v)
		}
	}
	return sums
}

// kernelRow makes the kernel of a row with as many landmarks as dst holds.
func (s Step) kernelRow(dst []float32, r Row) {
	for i := range dst {
		dst[i] = float32(math.Exp(-s.Width * distance(s.Kind, r.Value, s.Landmarks[i])))
	}
}

// distance is ||x - z||^2 or ||x - z||_1.
func distance(kind string, x, z []float32) (sum float64) {
	square := kind == StepGauss
	for j, v := range x {
		d := math.Abs(float64(v - z[j]))
		if square {
			d *= d
		}
		sum += d
	}
	return sum
}

// Compared is the number of landmarks that the step, or its last part, compares rows with. Their
// values are the last of a row that it has made.
func (s Step) Compared() int {
	if n := len(s.Parts); n > 0 {
		return s.Parts[n-1].Compared()
	}
	return len(s.Landmarks)
}
