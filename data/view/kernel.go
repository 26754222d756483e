package view

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/layers/linalg"
)

// A kernel, Laplace's, sees a row x by how near it is to landmarks z, training rows:
//
//	k(x, z) = exp(-g ||x - z||_1 / s)      s the standard deviations' sum
//
// Each landmark is the row that those before it explain least (pivoted Cholesky), until all rows
// are explained but for a share.
const explained = 1e-3

// alike is how close two rows are explained if rounding may decide which is less.
const alike = 1e-9

// FitKernel fits the step of a kernel of width g to rows, with so many landmarks at most.
func FitKernel(g float64, x data.Matrix, count int) Step {
	_, deviation := moments(x)
	s := Step{
		Kind: Laplace,
		Cols: x.Cols(),
	}
	s.Width = g /
		cmp.Or(floats.Sum(deviation), 1) // 0 where all rows are alike
	s.Low, s.High = extremes(x)
	s.landmarks(sought(x), min(count, x.Rows()))
	return s
}

// mostSought is the number of rows among which landmarks are sought.
const mostSought = 10000

// sought are rows of x, evenly spaced in the order of their sums.
func sought(x data.Matrix) data.Matrix {
	n := x.Rows()
	if n <= mostSought {
		return x
	}
	order := make([]int, n)
	floats.Argsort(rowSums(x), order)
	rows := make([]int, mostSought)
	for k := range rows {
		rows[k] = order[k*n/mostSought]
	}
	return x.Take(rows)
}

// Coordinates is the matrix A (landmarks x landmarks), in row order, that gives rows k of a
// kernel's step the coordinates k A, whose inner products are the kernel.
func (s Step) Coordinates() []float64 {
	n := len(s.Landmarks)
	kernel := mat.NewDense(n, n, nil)
	for i, z := range s.Landmarks {
		for j, other := range s.Landmarks[:i+1] {
			kernel.Set(i, j, s.near(z, other))
		}
	}
	inverse := inverted(cholesky(kernel, 0), 0)
	return mat.DenseCopyOf(inverse.T()).RawMatrix().Data
}

// landmarks finds the landmarks.
func (s *Step) landmarks(x data.Matrix, count int) {
	n := x.Rows()
	left := make([]float64, n)
	floats.AddConst(1, left)
	var columns [][]float64 // of the factor
	sums := rowSums(x)
	for range count {
		p := leastExplained(left, sums)
		if left[p] < explained {
			break
		}
		z := slices.Clone(x.Row(p).Value)
		s.Landmarks = append(s.Landmarks, z)
		root := math.Sqrt(left[p])
		column := make([]float64, n)
		for i := range n {
			column[i] = s.near(x.Row(i).Value, z)
		}
		for _, c := range columns {
			floats.AddScaled(column, -c[p], c)
		}
		floats.Scale(1/root, column)
		columns = append(columns, column)
		for i, v := range column {
			left[i] -= v * v
		}
		left[p] = 0
	}
}

// leastExplained is the row with the largest rest, of equals the one of the largest sum, so that
// the order of rows does not matter.
func leastExplained(left, sums []float64) (p int) {
	largest := floats.Max(left)
	first := math.Inf(-1)
	for i, v := range left {
		if v >= largest-alike && sums[i] > first {
			first = sums[i]
			p = i
		}
	}
	return p
}

// rowSums are the sums of the rows' values.
func rowSums(x data.Matrix) []float64 {
	sums := make([]float64, x.Rows())
	for i := range sums {
		for _, v := range x.Row(i).Value {
			sums[i] += float64(v)
		}
	}
	return sums
}

// kernelRow makes the kernel of a row with as many landmarks as dst holds.
func (s Step) kernelRow(dst []float32, r data.Row) {
	for i := range dst {
		dst[i] = float32(s.near(r.Value, s.Landmarks[i]))
	}
}

// near is the kernel of two rows.
func (s *Step) near(x, z []float32) float64 {
	return math.Exp(-s.Width * linalg.Distance(linalg.Default(), x, z))
}
