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
	gram, count := p.gram(ends), ends[len(p.tasks)]
	s := &narrow{TrainingSet: &TrainingSet{loss: p.loss, features: p.features, classes: 1}, first: []int{0}}
	l := mat.NewTriDense(count, mat.Lower, nil).RawTriangular()
	var basis []int // in the list of all rows
	for i, t := range p.tasks {
		var chosen []int
		x := &shortRows{Matrix: t.x}
		for j := range t.y {
			row := make([]float64, len(basis)+1)
			a := ends[i] + j
			for k, b := range basis {
				row[k] = gram.At(a, b)
			}
			// The coordinates in the basis so far, and what is left of the row.
			r := len(basis)
			if r > 0 {
				blas64.Trsv(blas.NoTrans, blas64.Triangular{N: r, Stride: l.Stride, Data: l.Data, Uplo: blas.Lower, Diag: blas.NonUnit}, blas64.Vector{N: r, Inc: 1, Data: row})
			}
			square := gram.At(a, a)
			if left := square - inner(row[:r], row[:r]); left > dependent*square {
				row[r] = math.Sqrt(left)
				copy(l.Data[r*l.Stride:], row)
				basis, chosen = append(basis, a), append(chosen, j)
			}
			x.rows = append(x.rows, row[:len(basis):len(basis)])
		}
		s.rows = append(s.rows, t.x.Take(chosen))
		s.first = append(s.first, len(basis))
		s.tasks = append(s.tasks, task{name: t.name, x: x, y: t.y})
	}
	l.N = len(basis)
	s.l, s.cols = l, max(1, l.N)
	for _, t := range s.tasks {
		t.x.(*shortRows).d = s.cols
	}
	if !s.exact(p) {
		return nil
	}
	return s
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

// solve replaces coordinates by the inverse of L or L' times them.
func (s *narrow) solve(t blas.Transpose, c *mat.Dense) {
	if s.l.N > 0 {
		blas64.Trsm(blas.Left, t, 1, s.l, c.RawMatrix())
	}
}

// Cols is the number of coordinates.
func (x *shortRows) Cols() int { return x.d }

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
