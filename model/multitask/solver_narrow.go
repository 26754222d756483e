package multitask

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

// narrow is a training set in the coordinates of the span of its rows. The
// penalty keeps W there, and everything else sees W through products with rows
// and W'W alone. With few rows of many features all vectors become shorter, and so
// do the rows if they are dense.
type narrow struct {
	*TrainingSet
	rows  []data.Matrix     // a basis: rows of every task that do not depend on those before
	first []int             // where these of each task begin, and the end
	l     blas64.Triangular // LL' are their inner products; L^-1 rows is orthonormal
}

// shortRows are the rows of one task in the orthonormal basis. Row j may end early:
// it has none beyond those that the basis had when its turn came.
type shortRows struct {
	data.Matrix // as they were
	rows        [][]float64
	d           int
}

// dependent is the squared distance from the span of other rows, relative to the
// squared length, that counts as none.
const dependent = 1e-12

// inexact is the relative error of a product or a length that counts as one.
const inexact = 1e-7

// narrowed returns the training set in the coordinates of its rows, nil where
// that brings nothing.
func (p *TrainingSet) narrowed() *narrow {
	p.once.Do(func() {
		if p.classes > 1 { // the blocks of W have rows of their own
			return
		}
		n, m, cost := 0, len(p.tasks), 0
		for _, t := range p.tasks {
			n += len(t.y)
			if _, sparse := t.x.(*data.CSR); sparse {
				cost += t.x.NNZ() // an entry takes some four times as long as of a dense row
			}
			cost += 3 * t.x.NNZ()
		}
		if before, after := cost+m*m*p.cols, n*n+m*m*n; 2*after < before {
			p.inner = p.narrow()
		}
	})
	return p.inner
}

func (p *TrainingSet) narrow() *narrow {
	ends := []int{0}
	for i, t := range p.tasks {
		ends = append(ends, ends[i]+len(t.y))
	}
	basis, coordinates, known := orthonormal(p.gram(ends))
	r := len(basis)
	s := &narrow{TrainingSet: &TrainingSet{loss: p.loss, features: p.features, cols: max(1, r), classes: 1}, first: []int{0}}
	l := mat.NewTriDense(max(1, r), mat.Lower, nil)
	for i, t := range p.tasks {
		var chosen []int
		x := &shortRows{Matrix: t.x, d: s.cols}
		for a := ends[i]; a < ends[i+1]; a++ {
			x.rows = append(x.rows, coordinates.RawRowView(a)[:known[a]:known[a]])
			if k := s.first[i] + len(chosen); k < r && basis[k] == a {
				copy(l.RawTriangular().Data[k*s.cols:], x.rows[a-ends[i]])
				chosen = append(chosen, a-ends[i])
			}
		}
		s.rows = append(s.rows, t.x.Take(chosen))
		s.first = append(s.first, s.first[i]+len(chosen))
		s.tasks = append(s.tasks, task{name: t.name, x: x, y: t.y})
	}
	s.l = l.RawTriangular()
	s.l.N = r
	if !s.exact(p) {
		return nil
	}
	s.once.Do(func() {}) // as narrow as it gets
	return s
}

// orthonormal returns which rows are a basis of the span of all, given their inner
// products, which it overwrites: those that do not depend on those before. Every row has
// coordinates in what they are when they are made orthonormal, one after the other, of
// which it has known many: none beyond those that the basis had when its turn came. It is
// Cholesky's factorization, a block of rows at a time.
func orthonormal(gram *mat.Dense) (basis []int, coordinates *mat.Dense, known []int) {
	const block = 32
	n, _ := gram.Dims()
	coordinates, known = mat.NewDense(n, n, nil), make([]int, n)
	size := make([]float64, n) // squared
	for a := range size {
		size[a] = gram.At(a, a)
	}
	for from := 0; from < n; from += block {
		to, old := min(from+block, n), len(basis)
		for a := from; a < to; a++ {
			row, left := coordinates.RawRowView(a), gram.At(a, a)
			for k := old; k < len(basis); k++ {
				b := coordinates.RawRowView(basis[k])
				row[k] = (gram.At(basis[k], a) - inner(b[old:k], row[old:k])) / b[k]
				left -= row[k] * row[k]
			}
			if left > dependent*size[a] {
				row[len(basis)] = math.Sqrt(left)
				basis = append(basis, a)
			}
			known[a] = len(basis)
		}
		fresh := len(basis) - old
		if fresh == 0 || to == n {
			continue
		}
		// What the basis has come to know of the rows after the block, and what is left of these.
		l, part := mat.NewTriDense(fresh, mat.Lower, nil), mat.NewDense(fresh, n-to, nil)
		for k, b := range basis[old:] {
			copy(l.RawTriangular().Data[k*fresh:], coordinates.RawRowView(b)[old:old+k+1])
			part.SetRow(k, gram.RawRowView(b)[to:])
		}
		blas64.Trsm(blas.Left, blas.NoTrans, 1, l.RawTriangular(), part.RawMatrix())
		for k := range fresh {
			for j, v := range part.RawRowView(k) {
				coordinates.Set(to+j, old+k, v)
			}
		}
		rest := gram.Slice(to, n, to, n).(*mat.Dense)
		gemm(true, false, -1, part.RawMatrix(), part.RawMatrix(), 1, rest.RawMatrix())
	}
	return basis, coordinates, known
}

// exact reports whether lengths and products with rows are the same in the coordinates as
// outside of them, up to rounding, for weights drawn at random. Where rows nearly depend
// on those before, as pictures do, what is left of the next ones is nothing but rounding
// errors, and counts for a direction of its own in which W costs next to nothing.
func (s *narrow) exact(p *TrainingSet) bool {
	random, z := data.Stream(1, "narrow"), mat.NewDense(s.cols, 1, nil)
	for i := range s.cols {
		z.Set(i, 0, random.NormFloat64())
	}
	w, length := s.leave(z).RawMatrix().Data, mat.Norm(z, 2)
	if !(math.Abs(math.Sqrt(inner(w, w))-length) <= inexact*length) {
		return false
	}
	for i, t := range p.tasks {
		size := t.x.SquaredNorms()
		outside, inside := make([]float64, len(size)), make([]float64, len(size))
		t.x.Mul(outside, w, 1)
		s.tasks[i].x.Mul(inside, z.RawMatrix().Data, 1)
		for j, v := range outside {
			if !(math.Abs(v-inside[j]) <= inexact*length*math.Sqrt(size[j])) {
				return false
			}
		}
	}
	return true
}

// enter returns the coordinates of W, d x m, without what of it is outside of the
// span.
func (s *narrow) enter(w *mat.Dense) *mat.Dense {
	_, m := w.Dims()
	in := mat.NewDense(s.cols, m, nil)
	for t, x := range s.rows {
		x.Mul(in.RawMatrix().Data[s.first[t]*m:], w.RawMatrix().Data, m)
	}
	s.solve(blas.NoTrans, in)
	return in
}

// leave is the inverse of enter within the span.
func (s *narrow) leave(in *mat.Dense) *mat.Dense {
	_, m := in.Dims()
	w, c := mat.NewDense(s.features, m, nil), mat.DenseCopyOf(in)
	s.solve(blas.Trans, c)
	for t, x := range s.rows {
		x.AddMulT(w.RawMatrix().Data, c.RawMatrix().Data[s.first[t]*m:], m)
	}
	return w
}

// solve replaces coordinates by the inverse of L or L' times them, a column at a time:
// there are few columns and long rows.
func (s *narrow) solve(t blas.Transpose, c *mat.Dense) {
	d, m := c.Dims()
	x := make([]float64, d)
	for j := range m {
		mat.Col(x, j, c)
		for i := range s.l.N { // none where all rows are zero
			if t == blas.Trans {
				i = s.l.N - 1 - i
			}
			row, diagonal := s.l.Data[i*s.l.Stride:][:i], s.l.Data[i*s.l.Stride+i]
			if t == blas.Trans {
				x[i] /= diagonal
				add(-x[i], row, x[:i])
			} else {
				x[i] = (x[i] - inner(row, x[:i])) / diagonal
			}
		}
		c.SetCol(j, x)
	}
}

// coordinates are those of other rows.
func (s *narrow) coordinates(x data.Matrix) data.Matrix {
	in := &shortRows{Matrix: x, d: s.cols}
	for _, columns := range columnsOf(x) {
		entered := s.enter(columns)
		_, k := columns.Dims()
		for c := range k {
			in.rows = append(in.rows, mat.Col(nil, c, entered))
		}
	}
	return in
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
		columns(dst[i*k:][:k], row, b)
	}
}

// columns sets y to x' B. Four columns at a time have their sums in registers: faster than
// adding the rows of B to y in turn, with the same bits.
func columns(y, x, b []float64) {
	k, c := len(y), 0
	for ; c+4 <= k; c += 4 {
		var s0, s1, s2, s3 float64
		for j, v := range x {
			row := b[j*k+c:][:4]
			s0 += v * row[0]
			s1 += v * row[1]
			s2 += v * row[2]
			s3 += v * row[3]
		}
		y[c], y[c+1], y[c+2], y[c+3] = s0, s1, s2, s3
	}
	for ; c < k; c++ {
		sum := 0.0
		for j, v := range x {
			sum += v * b[j*k+c]
		}
		y[c] = sum
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
