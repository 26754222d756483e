package multitask

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// span is the Newton matrix on the changes of Z with rows in the span of those of
// Z itself. Omega sees a change of W only there. As it follows, it may take away
// nearly all of the penalty, more the closer it is to singular, and conjugate
// gradients would need an iteration or more for each of the k r directions.
// Solving for these exactly, and taking the penalty alone for all others,
// preconditions them.
type span struct {
	q       []float64 // orthonormal rows, r x d
	k, r, d int
	lambda1 float64
	matrix  cholesky
	y       []float64  // scratch, k r
	change  *mat.Dense // scratch, k x r
}

// widestSpan bounds the directions of a span: the matrix of a larger one costs
// more than it saves.
const widestSpan = 700

// newSpan returns the matrix at the current point, nil if it is too large, and
// whether it is positive definite. The whole Newton matrix cannot be if it is
// not.
func (s *solver) newSpan() (*span, bool) {
	root, l1 := s.rel.root, s.params.Lambda1
	q, z := s.basis()
	_, k := root.Dims()
	r := len(q) / s.d
	if r == 0 || k*r > widestSpan {
		return nil, true
	}
	n := &span{q: q, k: k, r: r, d: s.d, lambda1: l1, y: make([]float64, k*r), change: mat.NewDense(k, r, nil)}
	matrix := mat.NewSymDense(k*r, nil)
	rows := matrix.RawSymmetric().Data // of which the upper triangle counts
	for i, h := range s.hessians(q, r) {
		for x := range k {
			for y := x; y < k; y++ {
				c := root.At(i, x) * root.At(i, y)
				for a := range r {
					add(c, h[a*r:][:r], rows[(x*r+a)*k*r+y*r:][:r])
				}
			}
		}
	}
	// The unit matrices of dS, of which a change of Z makes a combination.
	unit, change := mat.NewDense(k, k, nil), mat.NewDense(k, r, nil)
	for x := range k {
		for y := range x + 1 {
			unit.Set(x, y, unit.At(x, y)+l1)
			unit.Set(y, x, unit.At(y, x)+l1)
			change.Mul(s.follow(unit), z)
			unit.Zero()
			for a := range r {
				add(z.At(y, a), change.RawMatrix().Data[x*r:], rows[(x*r+a)*k*r+x*r:][:(k-x)*r])
				if x != y {
					add(z.At(x, a), change.RawMatrix().Data[y*r:], rows[(y*r+a)*k*r+y*r:][:(k-y)*r])
				}
			}
		}
	}
	for x := range k * r {
		matrix.SetSym(x, x, matrix.At(x, x)+l1)
	}
	return n, n.matrix.factorize(matrix)
}

// precondition takes the span for conjugate gradients.
func (s *solver) precondition() (convex bool) {
	n, convex := s.newSpan()
	if n != nil {
		s.pre = n
	}
	return convex
}

// basis returns an orthonormal basis of the rows of Z (r x d), and their
// coordinates in it (k x r).
func (s *solver) basis() (q []float64, z *mat.Dense) {
	k := len(s.z) / s.d
	z = mat.NewDense(k, k, nil)
	r := 0
	for i := range k {
		q = append(q, s.z[i*s.d:][:s.d]...)
		rest := q[r*s.d:]
		size := math.Sqrt(inner(rest, rest))
		for range 2 { // once more, for what rounding errors left
			for a := range r {
				c := inner(q[a*s.d:][:s.d], rest)
				add(-c, q[a*s.d:][:s.d], rest)
				z.Set(i, a, z.At(i, a)+c)
			}
		}
		left := math.Sqrt(inner(rest, rest))
		if left <= 1e-10*size {
			q = q[:r*s.d]
			continue
		}
		scale(1/left, rest)
		z.Set(i, r, left)
		r++
	}
	if r == 0 {
		return nil, nil
	}
	return q, z.Slice(0, k, 0, r).(*mat.Dense)
}

// hessians returns the Hessian of the loss of every task on the span of the
// rows of q (r x d).
func (s *solver) hessians(q []float64, r int) [][]float64 {
	columns := make([]float64, len(q)) // Q', d x r
	for a := range r {
		for j, v := range q[a*s.d:][:s.d] {
			columns[j*r+a] = v
		}
	}
	classes := s.problem.classes
	parts := make([][]float64, len(s.problem.tasks))
	s.problem.each(s.workers, func(i int, t *task) {
		parts[i] = make([]float64, r*r)
		if len(t.y) == 0 {
			return
		}
		rows := mat.NewDense(len(t.y), r, nil)
		t.x.Mul(rows.RawMatrix().Data, columns[i%classes*s.cols*r:][:s.cols*r], r)
		mean := make([]float64, r)
		if total := floats.Sum(s.h[i]); total > 0 {
			for j, c := range s.h[i] {
				add(c/total, rows.RawRowView(j), mean)
			}
		}
		for j, c := range s.h[i] {
			row := rows.RawRowView(j)
			floats.Sub(row, mean)
			floats.Scale(math.Sqrt(c), row)
		}
		mat.NewDense(r, r, parts[i]).Mul(rows.T(), rows)
	})
	h := parts[:0]
	for i, part := range parts {
		if i%classes == 0 {
			h = append(h, part)
		} else {
			add(1, part, h[i/classes])
		}
	}
	return h
}

// solve sets dst to the preconditioned vector x, both k x d.
func (n *span) solve(dst, x []float64) {
	for i := range n.k {
		for a := range n.r {
			n.y[i*n.r+a] = inner(x[i*n.d:][:n.d], n.q[a*n.d:][:n.d])
		}
	}
	change := n.change.RawMatrix().Data
	copy(change, n.y)
	n.matrix.solve(change)
	add(-1/n.lambda1, n.y, change)
	rotate(dst, n.change, n.q, n.d)
	add(1/n.lambda1, x, dst)
}
