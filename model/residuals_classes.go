package model

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/layers"
)

// weighClasses is weigh. The squares of the weights are sums over the classes.
func (e *residuals) weighClasses(i int, t data.TaskData) {
	n, k := rowsOfClasses(e.classes, t)
	for _, y := range t.TrainSet.Y {
		rows := n[int(y)]
		e.task, e.of = append(e.task, i), append(e.of, i*e.classes+int(y))
		e.share, e.q, e.leverage = append(e.share, 1/rows), append(e.q, 1), append(e.leverage, 1/rows)
		e.c2 = append(e.c2, (1-1/k)/(rows*rows))
	}
}

// rowsOfClasses counts the rows of every class, and the classes that have some.
func rowsOfClasses(classes int, t data.TaskData) (n []float64, k float64) {
	n = make([]float64, classes)
	for _, y := range t.TrainSet.Y {
		if n[int(y)]++; n[int(y)] == 1 {
			k++
		}
	}
	return n, k
}

// acrossTasks are the inner products of signed means (m x m), given those of the
// rows of D, or a bilinear form of them: summed over the classes, of the
// class means less their mean in each task.
func (e *residuals) acrossTasks(a layers.View[float64], m int) *mat.SymDense {
	if e.classes == 1 {
		return mat.NewSymDense(m, slices.Clone(a.Data))
	}
	has := make([]bool, a.Rows)
	for _, of := range e.of {
		has[of] = true
	}
	s := mat.NewSymDense(m, nil)
	for i := range m {
		for j := i; j < m; j++ {
			s.SetSym(i, j, overClasses(a, has, i*e.classes, j*e.classes, e.classes))
		}
	}
	return s
}

// overClasses is tr(H A H' J') for the block A at (i, j): H and J take the means of
// the classes of either task out, and a class counts where both have it.
func overClasses(a layers.View[float64], has []bool, i, j, classes int) float64 {
	ki, kj, all := 0.0, 0.0, 0.0
	rows, cols := make([]float64, classes), make([]float64, classes)
	for c := range classes {
		if has[i+c] {
			ki++
		}
		if has[j+c] {
			kj++
		}
		for d := range classes {
			v := (a.Row(i + c)[j+d] + a.Row(j + d)[i+c]) / 2
			rows[c] += v
			cols[d] += v
			all += v
		}
	}
	sum := 0.0
	for c := range classes {
		if has[i+c] && has[j+c] {
			sum += a.Row(i + c)[j+c] - rows[c]/kj - cols[c]/ki + all/(ki*kj)
		}
	}
	return sum
}

// sizesOfClasses is sizes: twice the harmonic mean of the rows of a class, and ln of
// the largest over the smallest class.
func sizesOfClasses(classes int, t data.TaskData) (size, balance float64) {
	n, k := rowsOfClasses(classes, t)
	inverse, least, most := 0.0, math.Inf(1), 0.0
	for _, rows := range n {
		if rows > 0 {
			inverse, least, most = inverse+1/rows, min(least, rows), max(most, rows)
		}
	}
	return 2 * k / inverse, math.Log(most / least)
}
