package multitask

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// blocks is the Newton matrix across. While Psi is held it has a block for every
// task, B_i = Q'H_i Q + Lambda1 I. Psi, following Z, takes away
//
//	Lambda1 sum_p Z P_p <P_p, Z'dZ + dZ'Z>
//
// where P_p has two entries, (a, b) and (b, a), for every pair of columns. Of some
// pairs that is nearly all of the penalty. Conjugate gradients take an iteration
// for each of these, unless they are solved for too.
type blocks struct {
	*solver
	k     int // Z is m x k
	task  []cholesky
	pairs []pair
	inner cholesky // of the pairs
}

// pair is P_p.
type pair struct {
	a, b int
	v    float64
}

// widestBlocks bounds the sum of the blocks' entries.
const widestBlocks = 1 << 22

// newBlocks returns the matrix at the current point, without pairs, nil if it is too
// large.
func (s *solver) newBlocks(rootT *mat.Dense) *blocks {
	k, _ := rootT.Dims()
	if s.m*k*k > widestBlocks {
		return nil
	}
	n := &blocks{solver: s, k: k, task: make([]cholesky, s.m)}
	for i, h := range s.hessians(rootT.RawMatrix().Data, k) {
		for a := range k {
			h[a*k+a] += s.params.Lambda1
		}
		n.task[i].factorize(mat.NewSymDense(k, h))
	}
	return n
}

// precondition takes blocks for conjugate gradients, with pairs if the last step that had
// none was long.
func (s *solver) preconditionAcross(rootT *mat.Dense) {
	n := s.newBlocks(rootT)
	if n == nil {
		return
	}
	if s.follow != nil && s.long {
		n.takeAway()
	}
	s.pre = n
}

// solve sets dst to the preconditioned vector x, both m x k.
func (n *blocks) solve(dst, x []float64) {
	copy(dst, x)
	n.divide(dst)
	if len(n.pairs) == 0 {
		return
	}
	cross, v, sum := n.products(n.z, dst), make([]float64, len(n.pairs)), mat.NewDense(n.k, n.k, nil)
	for i, p := range n.pairs {
		v[i] = 2 * p.v * (cross.At(p.a, p.b) + cross.At(p.b, p.a))
	}
	n.inner.solve(v)
	for i, p := range n.pairs {
		sum.Set(p.a, p.b, sum.At(p.a, p.b)+p.v*v[i])
		sum.Set(p.b, p.a, sum.At(p.b, p.a)+p.v*v[i])
	}
	more := n.t3[:len(dst)]
	n.rotate(more, sum, n.z)
	n.divide(more)
	add(n.params.Lambda1, more, dst)
}

// divide replaces x by B^-1 x.
func (n *blocks) divide(x []float64) {
	for i := range n.task {
		n.task[i].solve(x[i*n.k:][:n.k])
	}
}

// takeAway adds the pairs to which follow leaves less than half of the penalty,
// unless there are too many, or the matrix is not positive definite with them.
func (n *blocks) takeAway() {
	pairs := n.taken()
	if len(pairs) == 0 || len(pairs) > widestSpan {
		return
	}
	t := n.moments()
	at := func(a, b, c, d int) float64 { return t.At(packed(a, b), packed(c, d)) }
	inner := mat.NewSymDense(len(pairs), nil)
	for i, p := range pairs {
		for j, q := range pairs[:i+1] {
			sum := at(p.a, q.a, p.b, q.b) + at(p.a, q.b, p.b, q.a) + at(p.b, q.a, p.a, q.b) + at(p.b, q.b, p.a, q.a)
			inner.SetSym(i, j, -2*n.params.Lambda1*p.v*q.v*sum)
		}
		inner.SetSym(i, i, 1+inner.At(i, i))
	}
	if n.inner.factorize(inner) {
		n.pairs = pairs
	}
}

// taken lists these pairs. Off the diagonal follow multiplies entry by entry.
func (n *blocks) taken() (pairs []pair) {
	square, unit := n.products(n.z, n.z), mat.NewDense(n.k, n.k, nil)
	for i := range n.k * n.k {
		unit.Set(i/n.k, i%n.k, 1)
	}
	slopes := n.follow(unit)
	unit.Zero()
	for a := range n.k {
		unit.Set(a, a, 1)
		slopes.Set(a, a, n.follow(unit).At(a, a))
		unit.Set(a, a, 0)
		for b := range a + 1 {
			if v := -slopes.At(a, b); v*(square.At(a, a)+square.At(b, b)) > 0.5 {
				v = math.Sqrt(v / 2)
				if a == b {
					v = math.Sqrt(v * v / 2)
				}
				pairs = append(pairs, pair{a, b, v})
			}
		}
	}
	return pairs
}

// moments is the sum over the tasks of B_i^-1 and z_i z_i', the entries of one by
// those of the other.
func (n *blocks) moments() *mat.Dense {
	size := n.k * (n.k + 1) / 2
	inverse, outer, t := mat.NewDense(n.m, size, nil), mat.NewDense(n.m, size, nil), mat.NewDense(size, size, nil)
	for i := range n.m {
		c, z := n.task[i].copy().inverse(), n.z[i*n.k:][:n.k]
		for a := range n.k {
			for b := range a + 1 {
				inverse.Set(i, packed(a, b), c.At(a, b))
				outer.Set(i, packed(a, b), z[a]*z[b])
			}
		}
	}
	gemm(true, false, 1, inverse.RawMatrix(), outer.RawMatrix(), 0, t.RawMatrix())
	return t
}

// packed is where entry (a, b) of a symmetric matrix is among those on and below the
// diagonal, row by row.
func packed(a, b int) int {
	if a < b {
		a, b = b, a
	}
	return a*(a+1)/2 + b
}
