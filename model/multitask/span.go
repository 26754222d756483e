package multitask

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/layers/linalg"
)

// span has the rows of a training set that is in the coordinates of their span. The penalty
// keeps W there, and everything else sees W through products with rows and W'W alone. With
// few rows of many features all vectors become shorter.
type span struct {
	rows  []task
	first []int // the first row of each task, and the number of rows
	l     blas64.Triangular
}

// shortRows are rows in double precision. Entries beyond the end of a row are zero.
type shortRows struct {
	data.Matrix // the rows that they stand for
	rows        [][]float64
}

// narrowed returns the training set in the coordinates L of the rows X, with which L^-1 X is
// orthonormal. It is nil where that brings nothing, and where rows depend on others: a tiny
// penalty would tell nearly dependent rows apart.
func (p *TrainingSet) narrowed() *TrainingSet {
	n := 0
	entries := len(p.tasks) * p.cols
	for _, t := range p.tasks {
		n += len(t.y)
		entries += t.x.NNZ()
	}
	if 8*n > p.cols ||
		n*n > entries || p.classes > 1 { // the blocks of W have rows of their own
		return nil
	}
	gram, first := p.Gram()
	threshold := 1e-10 * mat.Max(gram)
	l := blas64.Triangular{
		N:      n,
		Stride: n,
		Uplo:   blas.Lower,
		Diag:   blas.NonUnit,
	}
	l.Data = gram.RawMatrix().Data
	if !linalg.Cholesky(linalg.Default(), n, l.Data, n) {
		return nil
	}
	inner := *p
	inner.cols = n
	inner.span = &span{
		rows:  p.tasks,
		first: first,
		l:     l,
	}
	inner.tasks = nil
	for i, t := range p.tasks {
		x := &shortRows{Matrix: t.x}
		for a := first[i]; a < first[i+1]; a++ {
			v := gram.At(a, a)
			if !(v*v > threshold) {
				return nil
			}
			x.rows = append(x.rows, gram.RawRowView(a)[:a+1:a+1])
		}
		t.x = x
		inner.tasks = append(inner.tasks, t)
	}
	return &inner
}

// enter returns the coordinates of W, d x m, projected into the span.
func (s *span) enter(w *mat.Dense) *mat.Dense {
	_, m := w.Dims()
	in := mat.NewDense(s.l.N, m, nil)
	for t, x := range s.rows {
		dst := in.RawMatrix().Data[s.first[t]*m:]
		x.x.Mul(dst, w.RawMatrix().Data, m)
	}
	return s.solved(blas.NoTrans, in)
}

// leave returns W = X'C for its coordinates.
func (s *span) leave(in *mat.Dense) *mat.Dense {
	_, m := in.Dims()
	w := mat.NewDense(s.rows[0].x.Cols(), m, nil)
	c := s.solved(blas.Trans, in).RawMatrix().Data
	for t, x := range s.rows {
		x.x.AddMulT(w.RawMatrix().Data, c[s.first[t]*m:], m)
	}
	return w
}

// solved returns the inverse of L or L' times coordinates.
func (s *span) solved(t blas.Transpose, in *mat.Dense) *mat.Dense {
	c := mat.DenseCopyOf(in)
	blas64.Trsm(blas.Left, t, 1, s.l, c.RawMatrix())
	return c
}

// Mul sets dst to X b.
func (x *shortRows) Mul(dst, b []float64, _ int) {
	for i, row := range x.rows {
		dst[i] = floats.Dot(row, b[:len(row)])
	}
}

// AddMulT adds X' b to dst.
func (x *shortRows) AddMulT(dst, b []float64, _ int) {
	for i, row := range x.rows {
		add(b[i], row, dst[:len(row)])
	}
}

// AddGram adds X' diag(c) X v to dst and returns the sum of diag(c) X v.
func (x *shortRows) AddGram(dst, v, c []float64) (sum float64) {
	for i, row := range x.rows {
		u := c[i] * floats.Dot(row, v[:len(row)])
		add(u, row, dst[:len(row)])
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

// fewerRows returns the training set with at most d + 2 rows a task, nil where that is not
// less to work with. The squared loss of n rows is ||[1 X y] v||^2 / n with v =
// (b, w, -1), for which a rotation of the rows is as good: R of a QR decomposition.
// Another rotation makes its first column, zero but for one entry, a column of ones again.
// Fits of Parkinsons take up to a sixth of the time.
func (p *TrainingSet) fewerRows() *TrainingSet {
	rows := p.cols + 2
	gain := false
	c := *p
	c.tasks = slices.Clone(p.tasks)
	for i, t := range p.tasks {
		if 3*rows*p.cols < 2*t.x.NNZ() && p.loss == Square {
			c.tasks[i] = t.rotated(rows)
			gain = true
		}
	}
	if !gain {
		return nil
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
	x := &shortRows{Matrix: t.x}
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
