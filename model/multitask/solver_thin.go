package multitask

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// thin is the Newton matrix of a spectral model with many tasks whose W has a
// low rank k. The floor keeps the other eigenvalues of S = W'W + floor I within
// a factor of three, so that one value may stand for them, and W has next to
// nothing in their directions. A product then takes m d k operations instead
// of m^2 d. The gradient and the objective stay exact: only the direction of
// a step is approximate.
type thin struct {
	m, d, k int
	u       *mat.Dense // U, the k leading eigenvectors, m x k
	rest    float64    // root of the eigenvalue of Omega for all others
	extra   []float64  // what the roots of the k leading ones have more
	w       *mat.Dense // U'W', k x d

	slope, diagonal *mat.Dense // as inverseSlopes returns them
	across          []float64  // divided differences between the k and the rest
	t, step         *mat.Dense // scratch, k x d and m x k
}

// newThin returns the matrix at the current point, or nil where the model, the
// number of tasks or the rank do not suit.
func (s *solver) newThin() *thin {
	model, ok := s.model.(spectral)
	if !ok || s.across || s.m < wide || s.floor == 0 {
		return nil
	}
	first := 0
	for first < s.m && s.rel.s[first] <= 3*s.floor {
		first++
	}
	k := s.m - first
	if k == 0 || k > s.m/3 {
		return nil
	}
	omega := s.rel.omega
	mu, value := floats.Sum(omega.Values[:first])/float64(first), floats.Sum(s.rel.s[:first])/float64(first)
	n := &thin{
		m: s.m, d: s.d, k: k, rest: math.Sqrt(mu),
		u: mat.DenseCopyOf(omega.Vectors.Slice(0, s.m, first, s.m)), w: mat.NewDense(k, s.d, nil),
		t: mat.NewDense(k, s.d, nil), step: mat.NewDense(s.m, k, nil),
	}
	for i, v := range omega.Values[first:] {
		n.extra = append(n.extra, math.Sqrt(v)-n.rest)
		n.across = append(n.across, (1/v-1/mu)/(s.rel.s[first+i]-value))
	}
	n.slope, n.diagonal = inverseSlopes(model, s.rel.s, omega.Values, first, s.params)
	gemm(true, false, 1, n.u.RawMatrix(), general(n.m, n.d, s.w), 0, n.w.RawMatrix())
	return n
}

// rotate sets dst to Omega^(1/2) X.
func (n *thin) rotate(dst, x []float64) {
	gemm(true, false, 1, n.u.RawMatrix(), general(n.m, n.d, x), 0, n.t.RawMatrix())
	for i, v := range n.extra {
		scale(v, n.t.RawRowView(i))
	}
	copy(dst, x)
	gemm(false, false, 1, n.u.RawMatrix(), n.t.RawMatrix(), n.rest, general(n.m, n.d, dst))
}

// addCurvature adds to g the change of Lambda1 Omega^-1 W' as W' moves along dw
// and Omega follows.
func (n *thin) addCurvature(g, dw []float64, lambda1 float64) {
	// With dS = dW'W + W'dW, U'dS U is inside + inside', and dS U less its part
	// in U is what remains of step.
	gemm(false, true, 1, general(n.m, n.d, dw), n.w.RawMatrix(), 0, n.step.RawMatrix())
	var inside, change mat.Dense
	inside.Mul(n.u.T(), n.step)
	change.Add(&inside, inside.T())
	follow := mat.NewDense(n.k, n.k, nil)
	follow.MulElem(n.slope, &change)
	for i := range n.k {
		sum := 0.0
		for j := range n.k {
			sum += n.diagonal.At(i, j) * change.At(j, j)
		}
		follow.Set(i, i, sum)
	}
	var part mat.Dense
	part.Mul(n.u, &inside)
	n.step.Sub(n.step, &part)
	for i := range n.m {
		floats.Mul(n.step.RawRowView(i), n.across)
	}
	part.Mul(n.u, follow)
	n.step.Add(n.step, &part)
	gemm(false, false, lambda1, n.step.RawMatrix(), n.w.RawMatrix(), 1, general(n.m, n.d, g))
}
