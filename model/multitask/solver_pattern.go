package multitask

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

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

// pattern is the entries of a symmetric matrix that are free to change, with a
// scale for each.
type pattern struct {
	m     int
	pairs [][2]int
	scale []float64
}

// newPattern takes the diagonal and the entries that nonzero tells.
func newPattern(m int, size func(i int) float64, nonzero func(i, j int) bool) *pattern {
	e := &pattern{m: m}
	for i := range m {
		for j := range i + 1 {
			if i == j || nonzero(i, j) {
				e.pairs = append(e.pairs, [2]int{i, j})
				e.scale = append(e.scale, math.Sqrt(size(i)*size(j)))
			}
		}
	}
	return e
}

// matrix returns the symmetric matrix with the given scaled entries.
func (e *pattern) matrix(x []float64) *mat.SymDense {
	a := mat.NewSymDense(e.m, nil)
	for k, ij := range e.pairs {
		a.SetSym(ij[0], ij[1], x[k]*e.scale[k])
	}
	return a
}

// entries returns the inner products of A with the scaled unit matrices.
func (e *pattern) entries(a mat.Matrix) []float64 {
	x := make([]float64, len(e.pairs))
	for k, ij := range e.pairs {
		x[k] = e.scale[k] * a.At(ij[0], ij[1])
		if ij[0] != ij[1] {
			x[k] += e.scale[k] * a.At(ij[1], ij[0])
		}
	}
	return x
}

// solver factorises a positive definite linear map on the pattern and returns
// its inverse, nil where it is singular.
func (e *pattern) solver(apply func(*mat.SymDense) *mat.Dense) func([]float64) []float64 {
	n := len(e.pairs)
	if n > largestSupport {
		return nil
	}
	system := mat.NewSymDense(n, nil)
	unit := make([]float64, n)
	for a := range n {
		unit[a] = 1
		for b, v := range e.entries(apply(e.matrix(unit)))[:a+1] {
			system.SetSym(a, b, v)
		}
		unit[a] = 0
	}
	var chol cholesky
	if !chol.factorize(system) {
		return nil
	}
	return func(r []float64) []float64 {
		x := slices.Clone(r)
		chol.solve(x)
		return x
	}
}

// triple returns A B C.
func triple(a, b, c mat.Matrix) *mat.Dense {
	var t, out mat.Dense
	t.Mul(a, b)
	out.Mul(&t, c)
	return &out
}
