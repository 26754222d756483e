package multitask

import "gonum.org/v1/gonum/mat"

// curved is a Model that knows how the inverse of its Omega follows S, as long
// as the pattern of zeros stays.
type curved interface {
	Model
	// curve returns the derivative of Omega^-1 along a change of S, given the
	// step at S, or nil if it does not exist or is too large to compute.
	curve(c *Covariance, s *mat.SymDense, d int, p Params) func(ds *mat.Dense) *mat.Dense
}

// largestSupport bounds the linear systems of a pattern.
const largestSupport = 500

// pattern parts the entries of Omega and P = Omega^-1 in two: U is zero but for the
// loose entries, V but for the others, the diagonal among them. One system, of those
// that are fewer, solves for either.
type pattern struct {
	omega, p     *mat.SymDense
	loose, tight pairs
	chol         cholesky
}

// newPattern takes as loose the entries off the diagonal that are said to be.
func newPattern(omega, p *mat.SymDense, loose func(i, j int) bool) *pattern {
	e := &pattern{omega: omega, p: p}
	for i := range omega.SymmetricDim() {
		for j := range i {
			if loose(i, j) {
				e.loose = append(e.loose, [2]int{i, j})
			} else {
				e.tight = append(e.tight, [2]int{i, j})
			}
		}
		e.tight = append(e.tight, [2]int{i, i})
	}
	return e
}

// factorize reports whether the system is not too large, nor singular.
func (e *pattern) factorize() bool {
	if min(len(e.loose), len(e.tight)) > largestSupport {
		return false
	}
	if len(e.loose) <= len(e.tight) {
		return len(e.loose) == 0 || e.chol.factorize(e.loose.system(e.p))
	}
	return e.chol.factorize(e.tight.system(e.omega))
}

// relax returns the U for which P U P equals G on the loose entries.
func (e *pattern) relax(g *mat.SymDense) *mat.SymDense {
	if len(e.loose) <= len(e.tight) {
		return e.loose.solve(g, &e.chol)
	}
	g = e.loose.of(g)
	addSym(g, -1, e.follow(sandwich(e.omega, g)))
	return e.loose.of(sandwich(e.omega, g))
}

// follow returns the V for which Omega V Omega equals R on the tight entries.
func (e *pattern) follow(r *mat.SymDense) *mat.SymDense {
	if len(e.tight) < len(e.loose) {
		return e.tight.solve(r, &e.chol)
	}
	u := e.relax(sandwich(e.p, r))
	u.ScaleSym(-1, u)
	addSym(u, 1, r)
	return e.tight.of(sandwich(e.p, u))
}

// pairs are entries (i, j) of a symmetric matrix, j <= i.
type pairs [][2]int

// of returns these entries of A alone.
func (e pairs) of(a *mat.SymDense) *mat.SymDense {
	b := mat.NewSymDense(a.SymmetricDim(), nil)
	for _, ij := range e {
		b.SetSym(ij[0], ij[1], a.At(ij[0], ij[1]))
	}
	return b
}

// system is the map from these entries of X to those of A X A, halved on the diagonal
// so that it is symmetric.
func (e pairs) system(a *mat.SymDense) *mat.SymDense {
	all := mat.DenseCopyOf(a)
	system := mat.NewSymDense(len(e), nil)
	for x, ij := range e {
		i, j := all.RawRowView(ij[0]), all.RawRowView(ij[1])
		row := system.RawSymmetric().Data[x*len(e):][:len(e)]
		for y := x; y < len(e); y++ {
			k, l := e[y][0], e[y][1]
			v := i[k]*j[l] + i[l]*j[k]
			if k == l {
				v /= 2
			}
			row[y] = v
		}
		if ij[0] == ij[1] {
			scale(0.5, row[x:])
		}
	}
	return system
}

// solve returns the X with these entries for which A X A has those of B, given the
// factors of the system.
func (e pairs) solve(b *mat.SymDense, chol *cholesky) *mat.SymDense {
	x := mat.NewSymDense(b.SymmetricDim(), nil)
	if len(e) == 0 {
		return x
	}
	right := make([]float64, len(e))
	for k, ij := range e {
		if right[k] = b.At(ij[0], ij[1]); ij[0] == ij[1] {
			right[k] /= 2
		}
	}
	chol.solve(right)
	for k, ij := range e {
		x.SetSym(ij[0], ij[1], right[k])
	}
	return x
}
