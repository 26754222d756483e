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

// span is what a training set in the coordinates of the span of its rows knows of them. The
// penalty keeps W there, and everything else sees W through products with rows and W'W
// alone. With few rows of many features all vectors become shorter.
type span struct {
	rows  []task
	first []int // where these of each task begin, and the end
	l     blas64.Triangular
}

// shortRows are rows in double precision. Entries beyond the end of a row are zero.
type shortRows struct {
	data.Matrix // what they stand for
	rows        [][]float64
}

// narrowed returns the training set in the coordinates L of the rows X, with which L^-1 X is
// orthonormal. It is nil where that brings nothing, and where rows depend on others: next to
// no penalty would tell those that nearly do so apart.
func (p *TrainingSet) narrowed() *TrainingSet {
	n := 0
	entries := len(p.tasks) * p.cols
	for _, t := range p.tasks {
		n += len(t.y)
		entries += t.x.NNZ()
	}
	if 8*n > p.cols || n*n > entries || p.classes > 1 { // the blocks of W have rows of their own
		return nil
	}
	gram, first := p.Gram()
	least := 1e-10 * mat.Max(gram)
	l := gram.RawMatrix().Data
	if !linalg.Cholesky(linalg.Default(), n, l, n) {
		return nil
	}
	s := &span{rows: p.tasks, first: first, l: blas64.Triangular{N: n, Stride: n, Data: l, Uplo: blas.Lower, Diag: blas.NonUnit}}
	inner := *p
	inner.cols, inner.span, inner.tasks = n, s, nil
	for i, t := range p.tasks {
		x := &shortRows{Matrix: t.x}
		for a := first[i]; a < first[i+1]; a++ {
			if v := gram.At(a, a); !(v*v > least) {
				return nil
			}
			x.rows = append(x.rows, gram.RawRowView(a)[:a+1:a+1])
		}
		t.x = x
		inner.tasks = append(inner.tasks, t)
	}
	return &inner
}

// enter returns the coordinates of W, d x m, without what of it is outside of the
// span.
func (s *span) enter(w *mat.Dense) *mat.Dense {
	_, m := w.Dims()
	in := mat.NewDense(s.l.N, m, nil)
	for t, x := range s.rows {
		x.x.Mul(in.RawMatrix().Data[s.first[t]*m:], w.RawMatrix().Data, m)
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

// Gram returns the inner products of the rows of all parts, class by class, and where those of
// each begin. Some rows at a time become columns, which a cache holds.
func (p *TrainingSet) Gram() (gram *mat.Dense, first []int) {
	first = []int{0}
	for i, t := range p.tasks {
		first = append(first, first[i]+len(t.y))
	}
	n := first[len(p.tasks)]
	some := 64
	if data.IsSparse(p.tasks[0].x) {
		some = 16
	}
	gram = mat.NewDense(n, n, nil)
	for i, t := range p.tasks {
		for from := 0; from < len(t.y); from += some {
			k := min(some, len(t.y)-from)
			rows := make([]int, k)
			one := make([]float64, k*k)
			columns := make([]float64, p.cols*k)
			for c := range k {
				rows[c] = from + c
				one[c*k+c] = 1
			}
			t.x.Take(rows).AddMulT(columns, one, k)
			for j := i; j < len(p.tasks); j += p.classes {
				other := p.tasks[j]
				dst := make([]float64, len(other.y)*k)
				other.x.Mul(dst, columns, k)
				for b := range other.y {
					for c, v := range dst[b*k:][:k] {
						gram.Set(first[i]+from+c, first[j]+b, v)
						gram.Set(first[j]+b, first[i]+from+c, v)
					}
				}
			}
		}
	}
	return gram, first
}

// fewerRows returns the training set with at most d + 2 rows a task, nil where that is not
// less to work with. The squared loss of n rows is ||[1 X y] v||^2 / n with v =
// (b, w, -1), for which a rotation of the rows is as good: R of a QR decomposition.
// Another rotation makes its first column, of which all but one entry are zero, one
// of ones again. Fits of Parkinsons take up to a sixth of the time.
func (p *TrainingSet) fewerRows() *TrainingSet {
	few := p.cols + 2
	gain := false
	c := *p
	c.tasks = slices.Clone(p.tasks)
	for i, t := range p.tasks {
		if 3*few*p.cols < 2*t.x.NNZ() && p.loss == Square {
			c.tasks[i] = t.rotated(few)
			gain = true
		}
	}
	if !gain {
		return nil
	}
	return &c
}

// rotated returns a task that has few = d + 2 rows and the same loss.
func (t task) rotated(few int) task {
	a := mat.NewDense(len(t.y), few, nil)
	unit := mat.NewDense(few-2, few, nil)
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
	u := mat.NewVecDense(few, slices.Repeat([]float64{-1 / math.Sqrt(float64(few))}, few))
	part := mat.NewVecDense(few, nil)
	u.SetVec(0, 1+u.AtVec(0))
	part.MulVec(r.T(), u)
	r.RankOne(r, -2/mat.Dot(u, u), u, part)
	x := &shortRows{Matrix: t.x}
	y := make([]float64, few)
	for j := range y {
		row := r.RawRowView(j)
		x.rows = append(x.rows, row[1:few-1])
		y[j] = row[few-1]
	}
	t.x, t.y, t.weights = x, y, weights{1 / float64(few)}
	return t
}
