package multitask

import (
	"iter"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/layers/linalg"
)

// span is a training set in the coordinates of the span of its rows. The penalty keeps W
// there, and everything else sees W through products with rows and W'W alone. With few rows
// of many features all vectors become shorter, and so do the rows if they are dense.
type span struct {
	*TrainingSet
	rows  []data.Matrix // of every task
	first []int         // where these of each task begin, and the end
	l     blas64.Triangular
	extra float64 // apart, not relative
}

// apart is what LL' has more than the inner products of the rows on its diagonal, relative
// to the largest: rows that depend on others would make it singular. It stands for a
// millionth of a row that no other row shares.
const apart = 1e-12

// shortRows are the rows of one task in the coordinates, which end early: row j has none
// beyond those of the rows before it and its own.
type shortRows struct {
	data.Matrix // as they were
	rows        [][]float64
	d           int
}

// narrowed returns the training set in the coordinates of its rows, nil where
// that brings nothing.
func (p *TrainingSet) narrowed() *span {
	p.once.Do(func() {
		if p.classes > 1 { // the blocks of W have rows of their own
			return
		}
		n, m, cost := 0, len(p.tasks), 0
		for _, t := range p.tasks {
			n += len(t.y)
			if _, sparse := t.x.(*data.CSR); sparse {
				cost += 3 * t.x.NNZ() // an entry takes some four times as long as of a dense row
			}
			cost += t.x.NNZ()
		}
		if before, after := cost+m*m*p.cols, n*n+m*m*n; 2*after < before {
			p.inner = p.narrow()
		}
	})
	return p.inner
}

// narrow returns the coordinates L of the rows X, with which L^-1 X is orthonormal. It is nil
// where all rows are zero.
func (p *TrainingSet) narrow() *span {
	ends := []int{0}
	for i, t := range p.tasks {
		ends = append(ends, ends[i]+len(t.y))
	}
	l := p.gram(ends)
	n, top := ends[len(p.tasks)], 0.0
	for a := range n {
		top = max(top, l.At(a, a))
	}
	for a := range n {
		l.Set(a, a, l.At(a, a)+apart*top)
	}
	if top == 0 || !linalg.Cholesky(linalg.Default(), n, l.RawMatrix().Data, n) {
		return nil
	}
	s := &span{TrainingSet: &TrainingSet{loss: p.loss, features: p.features, cols: n, classes: 1}, first: ends, extra: apart * top}
	s.l = blas64.Triangular{N: n, Stride: n, Data: l.RawMatrix().Data, Uplo: blas.Lower, Diag: blas.NonUnit}
	for i, t := range p.tasks {
		x := &shortRows{Matrix: t.x, d: n}
		for a := ends[i]; a < ends[i+1]; a++ {
			x.rows = append(x.rows, l.RawRowView(a)[:a+1:a+1])
		}
		s.rows = append(s.rows, t.x)
		s.tasks = append(s.tasks, task{name: t.name, x: x, y: t.y, rows: t.rows})
	}
	s.once.Do(func() {}) // as narrow as it gets
	return s
}

// enter returns the coordinates of W, d x m, without what of it is outside of the
// span.
func (s *span) enter(w *mat.Dense) *mat.Dense {
	_, m := w.Dims()
	in := mat.NewDense(s.cols, m, nil)
	for t, x := range s.rows {
		x.Mul(in.RawMatrix().Data[s.first[t]*m:], w.RawMatrix().Data, m)
	}
	return s.solved(blas.NoTrans, in)
}

// solved returns the inverse of L or L' times coordinates, a column at a time: there are few
// columns and long rows.
func (s *span) solved(t blas.Transpose, in *mat.Dense) *mat.Dense {
	c, m := mat.DenseCopyOf(in), in.RawMatrix().Cols
	for j := range m {
		x := mat.Col(nil, j, in)
		blas64.Trsv(t, s.l, blas64.Vector{N: len(x), Inc: 1, Data: x})
		c.SetCol(j, x)
	}
	return c
}

// inexact is the relative error of the scores that counts as one.
const inexact = 1e-7

// leave returns W = X'C for its coordinates, and whether the scores of the rows are the same
// outside of them. These lack the extra times C, which is nothing unless rows that nearly
// depend on others have quite other targets, and next to no penalty keeps the weights from
// telling them apart.
func (s *span) leave(in *mat.Dense) (w *mat.Dense, exact bool) {
	_, m := in.Dims()
	w, exact = mat.NewDense(s.features, m, nil), true
	c := s.solved(blas.Trans, in)
	for i, t := range s.tasks {
		score := make([]float64, len(t.y))
		t.x.Mul(score, mat.Col(nil, i, in), 1)
		own := mat.Col(nil, i, c)[s.first[i]:s.first[i+1]]
		exact = exact && s.extra*floats.Norm(own, math.Inf(1)) <= inexact*floats.Norm(score, math.Inf(1))
	}
	for t, x := range s.rows {
		x.AddMulT(w.RawMatrix().Data, c.RawMatrix().Data[s.first[t]*m:], m)
	}
	return w, exact
}

// Cols is the number of coordinates.
func (x *shortRows) Cols() int { return x.d }

// NNZ is the number of entries.
func (x *shortRows) NNZ() (n int) {
	for _, row := range x.rows {
		n += len(row)
	}
	return n
}

// Mul sets dst to X B.
func (x *shortRows) Mul(dst, b []float64, k int) {
	for i, row := range x.rows {
		if k == 1 {
			dst[i] = inner(row, b)
			continue
		}
		out := dst[i*k:][:k]
		clear(out)
		for j, v := range row {
			add(v, b[j*k:][:k], out)
		}
	}
}

// AddMulT adds X' b to dst, for one column.
func (x *shortRows) AddMulT(dst, b []float64, _ int) {
	for i, row := range x.rows {
		add(b[i], row, dst)
	}
}

// AddGram adds X' diag(c) X v to dst and returns the sum of diag(c) X v.
func (x *shortRows) AddGram(dst, v, c []float64) (sum float64) {
	for i, row := range x.rows {
		u := c[i] * inner(row, v)
		add(u, row, dst)
		sum += u
	}
	return sum
}

// gram returns the inner products of the rows of all tasks, class by class.
func (p *TrainingSet) gram(first []int) *mat.Dense {
	n := first[len(p.tasks)]
	gram := mat.NewDense(n, n, nil)
	for i, t := range p.tasks {
		for a, columns := range columnsOf(t.x) {
			_, k := columns.Dims()
			for j := i; j < len(p.tasks); j += p.classes {
				other := p.tasks[j]
				dst := make([]float64, len(other.y)*k)
				other.x.Mul(dst, columns.RawMatrix().Data, k)
				for b := range other.y {
					for c, v := range dst[b*k:][:k] {
						gram.Set(first[i]+a+c, first[j]+b, v)
						gram.Set(first[j]+b, first[i]+a+c, v)
					}
				}
			}
		}
	}
	return gram
}

// columnsOf yields the rows of X as columns, some at a time, with the number of the first.
func columnsOf(x data.Matrix) iter.Seq2[int, *mat.Dense] {
	some := 64
	if _, sparse := x.(*data.CSR); sparse {
		some = 16 // which a cache holds
	}
	return func(yield func(int, *mat.Dense) bool) {
		for from := 0; from < x.Rows(); from += some {
			columns := mat.NewDense(x.Cols(), min(some, x.Rows()-from), nil)
			_, k := columns.Dims()
			for c := range k {
				row := x.Row(from + c)
				for q, v := range row.Value {
					j := q
					if row.Index != nil {
						j = int(row.Index[q])
					}
					columns.RawMatrix().Data[j*k+c] = float64(v)
				}
			}
			if !yield(from, columns) {
				return
			}
		}
	}
}

// fewerRows sets condensed to the training set with at most d + 2 rows a task, where
// that is less to work with. The squared loss of n rows is ||[1 X y] v||^2 / n with v =
// (b, w, -1), for which a rotation of the rows is as good: R of a QR decomposition.
// Another rotation makes its first column, of which all but one entry are zero, one
// of ones again.
func (p *TrainingSet) fewerRows() {
	if p.loss != Square {
		return
	}
	few, gain := p.cols+2, false
	c := &TrainingSet{loss: p.loss, cols: p.cols, features: p.features, classes: p.classes}
	for _, t := range p.tasks {
		if 3*few*p.cols < 2*t.x.NNZ() {
			t, gain = t.rotated(few), true
		}
		c.tasks = append(c.tasks, t)
	}
	if gain {
		p.condensed = c
	}
}

// rotated returns a task that has few = d + 2 rows and the same loss.
func (t task) rotated(few int) task {
	a, unit := mat.NewDense(len(t.y), few, nil), mat.NewDense(few-2, few, nil)
	for k := range few - 2 {
		unit.Set(k, 1+k, 1)
	}
	t.x.Mul(a.RawMatrix().Data, unit.RawMatrix().Data, few)
	for j, y := range t.y {
		a.Set(j, 0, 1)
		a.Set(j, few-1, y)
	}
	var qr mat.QR
	qr.Factorize(a)
	var all mat.Dense
	qr.RTo(&all)
	r := all.Slice(0, few, 0, few).(*mat.Dense)
	r.Scale(math.Sqrt(float64(few)/float64(len(t.y)))*math.Copysign(1, r.At(0, 0)), r)
	// I - 2 u u' / u'u takes the first axis to where all rows are alike.
	u, part := mat.NewVecDense(few, nil), mat.NewVecDense(few, nil)
	for j := range few {
		u.SetVec(j, -1/math.Sqrt(float64(few)))
	}
	u.SetVec(0, 1+u.AtVec(0))
	part.MulVec(r.T(), u)
	r.RankOne(r, -2/mat.Dot(u, u), u, part)
	x := &shortRows{Matrix: t.x, d: few - 2}
	y := make([]float64, few)
	for j := range y {
		row := r.RawRowView(j)
		x.rows, y[j] = append(x.rows, row[1:few-1]), row[few-1]
	}
	return task{name: t.name, x: x, y: y, rows: t.rows}
}
