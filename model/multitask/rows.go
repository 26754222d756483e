package multitask

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

// doubleRows are rows in double precision.
type doubleRows struct {
	data.Matrix // the rows that they stand for
	rows        [][]float64
}

// Mul sets dst to X b.
func (x *doubleRows) Mul(dst, b []float64, _ int) {
	for i, row := range x.rows {
		dst[i] = floats.Dot(row, b)
	}
}

// AddMulT adds X' b to dst.
func (x *doubleRows) AddMulT(dst, b []float64) {
	for i, row := range x.rows {
		add(b[i], row, dst)
	}
}

// AddGram adds X' diag(c) X v to dst and returns the sum of diag(c) X v.
func (x *doubleRows) AddGram(dst, v, c []float64) (sum float64) {
	for i, row := range x.rows {
		u := c[i] * floats.Dot(row, v)
		add(u, row, dst)
		sum += u
	}
	return sum
}

// Gram returns the inner products of the rows of all parts, class by class, and the first row
// of each part.
func (p *TrainingSet) Gram() (gram *mat.Dense, first []int) {
	first = []int{0}
	for i, t := range p.tasks {
		first = append(first, first[i]+len(t.y))
	}
	n := first[len(p.tasks)]
	gram = mat.NewDense(n, n, nil)
	for i, t := range p.tasks {
		for k := range t.y {
			row := make([]float64, p.cols)
			t.x.Row(k).AddTo(row, 1)
			products := gram.RawRowView(first[i] + k)
			for j := i % p.classes; j < len(p.tasks); j += p.classes {
				p.tasks[j].x.Mul(products[first[j]:first[j+1]], row, 1)
			}
		}
	}
	return gram, first
}

// fewerRows returns the training set with at most d + 2 rows a task, where that is less to work
// with. The squared loss of n rows is ||[1 X y] v||^2 / n with v =
// (b, w, -1), for which a rotation of the rows is as good: R of a QR decomposition.
// Another rotation makes its first column, zero but for one entry, a column of ones again.
// Fits of Parkinsons take up to a sixth of the time.
func (p *TrainingSet) fewerRows() *TrainingSet {
	rows := p.cols + 2
	c := *p
	c.tasks = slices.Clone(p.tasks)
	for i, t := range p.tasks {
		if 3*rows*p.cols < 2*t.x.NNZ() && p.loss == Square {
			c.tasks[i] = t.rotated(rows)
		}
	}
	return &c
}

// rotated returns a task that has n = d + 2 rows and the same loss.
func (t task) rotated(n int) task {
	a := mat.NewDense(len(t.y), n, nil)
	unit := mat.NewDense(n-2, n, nil)
	for k := range n - 2 {
		unit.Set(k, 1+k, 1)
	}
	t.x.Mul(a.RawMatrix().Data, unit.RawMatrix().Data, n)
	for j, y := range t.y {
		a.Set(j, 0, 1)
		a.Set(j, n-1, y)
		row := a.RawRowView(j)
		floats.Scale(math.Sqrt(t.weights[j]/t.share), row)
	}
	var qr mat.QR
	qr.Factorize(a)
	var triangle mat.Dense
	qr.RTo(&triangle)
	r := triangle.Slice(0, n, 0, n).(*mat.Dense)
	rows := float64(n)
	scale := math.Sqrt(rows * t.share)
	r.Scale(math.Copysign(scale, r.At(0, 0)), r)
	// I - 2 u u' / u'u takes the first axis to the direction in which all rows are alike.
	u := mat.NewVecDense(n, slices.Repeat([]float64{-1 / math.Sqrt(rows)}, n))
	part := mat.NewVecDense(n, nil)
	u.SetVec(0, 1+u.AtVec(0))
	part.MulVec(r.T(), u)
	r.RankOne(r, -2/mat.Dot(u, u), u, part)
	x := &doubleRows{Matrix: t.x}
	t.x = x
	t.y = make([]float64, n)
	t.weights = slices.Repeat([]float64{1 / rows}, n)
	for j := range t.y {
		row := r.RawRowView(j)
		x.rows = append(x.rows, row[1:n-1])
		t.y[j] = row[n-1]
	}
	return t
}
