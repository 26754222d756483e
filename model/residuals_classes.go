package model

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/layers"
)

// Of tasks with K > 2 classes the residuals are what the class means leave. R' has
// those, C for a task with zeros for classes that it lacks, in place of the signed
// means, and its means are zero. The signed mean of a class is its mean less that
// of all K, which is taken into account where inner products are summed.

// weighClasses is weigh. The squares of the weights are sums over the classes.
func (e *residuals) weighClasses(i int, t data.TaskData) {
	n, k := rowsOfClasses(e.classes, t)
	for _, y := range t.TrainSet.Y {
		rows := n[int(y)]
		e.task, e.of = append(e.task, i), append(e.of, i*e.classes+int(y))
		e.c, e.q, e.leverage = append(e.c, math.Sqrt(1-1/k)/rows), append(e.q, 1), append(e.leverage, 1/rows)
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

// sumClasses finds the class means of a task.
func (e *residuals) sumClasses(i, first int, t data.TaskData) {
	share := view(len(t.TrainSet.Y), e.classes) // of the rows in the class means
	for a, y := range t.TrainSet.Y {
		share.Row(a)[int(y)] = e.leverage[first+a]
	}
	means := view(e.span.Rows, e.classes)
	t.TrainSet.X.AddMulT(means.Data, share.Data, e.classes)
	for j := range means.Rows {
		copy(e.span.Row(j)[i*e.classes:], means.Row(j))
	}
}

// centerClasses turns the rows of a task into their residuals.
func (e *residuals) centerClasses(first int, x layers.View[float64]) {
	for a := range x.Rows {
		row, of := x.Row(a), e.of[first+a]
		for j := range row {
			row[j] -= e.span.Row(j)[of]
		}
		e.squares = append(e.squares, floats.Dot(row, row))
	}
}

// acrossTasks are the inner products of signed means (m x m), given those of the
// first columns of R', or a bilinear form of them: summed over the classes, of the
// class means less their mean in each task.
func (e *residuals) acrossTasks(a layers.View[float64], m int) *mat.SymDense {
	if e.classes == 1 {
		return symmetric(a, m)
	}
	has := make([]bool, e.means)
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
