package infer

// The best task covariance for an estimator, in closed form:
//
//	minimise    rho tr(Omega^2) + <Phi, Omega>
//	subject to  Omega positive semidefinite, tr(Omega) = 1
//
// This is Theorem 3 of the paper, in section 3.4. Omega shares the eigenvectors
// of Phi = U diag(kappa) U', which leaves its eigenvalues mu to be found.

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data/fault"
)

// ErrInvalid marks a Phi, spectrum or rho for which the problem is not defined.
var ErrInvalid = fault.New("invalid input")

// tieTolerance is how far above the lowest eigenvalue another still counts as
// equal to it, relative to the largest in absolute value. Rounding moves
// eigenvalues in proportion to that largest one, so the tolerance must too: an
// absolute floor would call all eigenvalues of a small Phi equal, and Omega
// would depend on the units of the estimator.
const tieTolerance = 1e-10

// Solution is the minimiser found by Omega.
type Solution struct {
	// Omega is the covariance (m x m): positive semidefinite, trace 1.
	Omega *mat.SymDense
	// Kappa holds the eigenvalues of Phi, ascending.
	Kappa []float64
	// Mu holds the eigenvalues of Omega, descending: Mu[i] belongs to the
	// eigenvector of Kappa[i].
	Mu []float64
	// Tau is the multiplier of the trace constraint: 2 rho Omega + Phi + Tau I
	// is positive semidefinite, and zero on the range of Omega.
	Tau float64
	// Multiplicity is the dimension of the lowest eigenspace of Phi.
	// Eigenvalues within 1e-10 max|Kappa| of the lowest belong to it.
	Multiplicity int
}

// Omega minimises rho tr(Omega^2) + <Phi, Omega> over the positive semidefinite
// matrices of trace 1, by the eigendecomposition Phi = U diag(kappa) U'.
//
//	rho > 0  Omega = U diag(mu) U' with mu from DualScan; the only minimiser.
//	rho = 0  any covariance on the lowest eigenspace of Phi is a minimiser;
//	         Omega is the average of its projectors.
//	rho < 0  the projector on any unit vector of the lowest eigenspace is a
//	         minimiser; of several vectors Omega takes the one nearest to a
//	         coordinate axis (a single task), and of several axes the first.
//
// Up to rounding, none of these depends on the signs or the basis that the
// eigendecomposition happens to return.
//
// Phi is symmetric by its type, and it isn't changed. Omega returns an error
// that wraps ErrInvalid if Phi is empty, if Phi or rho is not finite, or if Phi
// has no eigendecomposition in float64.
func Omega(phi *mat.SymDense, rho float64) (*Solution, error) {
	if phi == nil || phi.IsEmpty() {
		return nil, ErrInvalid.Errorf("Phi: it is empty; it needs a row for every task")
	}
	m := phi.SymmetricDim()
	for i := range m {
		for j := i; j < m; j++ {
			v := phi.At(i, j)
			if !finite(v) {
				return nil, ErrInvalid.Errorf("Phi: entry (%d, %d) is %v; it must be finite", i, j, v)
			}
		}
	}
	if !finite(rho) {
		return nil, ErrInvalid.Errorf("rho: it is %v; it must be finite", rho)
	}
	var e mat.EigenSym
	if !e.Factorize(phi, true) {
		return nil, ErrInvalid.Errorf("Phi: it has no eigendecomposition in float64")
	}
	kappa := e.Values(nil)
	if err := checkSpectrum(kappa); err != nil {
		return nil, err
	}
	k := lowestMultiplicity(kappa)
	s := &Solution{
		Kappa:        kappa,
		Multiplicity: k,
	}
	s.Mu = make([]float64, m)
	switch {
	case rho > 0:
		var err error
		s.Mu, s.Tau, err = DualScan(kappa, rho)
		if err != nil {
			return nil, err
		}
		for k < m && s.Mu[k] > 0 {
			k++
		}
	case rho == 0:
		for i := range k {
			s.Mu[i] = 1 / float64(k)
		}
		s.Tau = -kappa[0]
	default:
		s.Mu[0] = 1
		s.Tau = -kappa[0] - 2*rho
	}
	var u mat.Dense
	e.VectorsTo(&u)
	lowest := mat.DenseCopyOf(u.Slice(0, m, 0, k))
	if rho < 0 {
		lowest = nearestToTask(lowest)
	}
	s.Omega = compose(lowest, s.Mu)
	return s, nil
}

func lowestMultiplicity(kappa []float64) int {
	m := len(kappa)
	tolerance := tieTolerance * max(-kappa[0], kappa[m-1])
	t := 1
	for t < m && kappa[t]-kappa[0] <= tolerance {
		t++
	}
	return t
}

// nearestToTask returns, as a matrix of one column, the unit vector in the span of the
// columns of u that is nearest to a coordinate vector e_j: the normed projection of e_j
// for the j with the longest projection. Lengths that differ by rounding only count as
// equal, so that the first such j is meant.
func nearestToTask(u *mat.Dense) *mat.Dense {
	m, t := u.Dims()
	best := 0
	length := 0.0
	for j := range m {
		l := floats.Norm(u.RawRowView(j), 2)
		if l > length+tieTolerance {
			best = j
			length = l
		}
	}
	var nearest mat.Dense
	nearest.Mul(u, u.Slice(best, best+1, 0, t).T())
	nearest.Scale(1/mat.Norm(&nearest, 2), &nearest)
	return &nearest
}

// compose returns U diag(mu) U' as the Gram matrix of sqrt(mu_i) u_i: symmetric to
// the bit. It overwrites u.
func compose(u *mat.Dense, mu []float64) *mat.SymDense {
	m, k := u.Dims()
	for i := range m {
		row := u.RawRowView(i)
		for j, v := range mu[:k] {
			row[j] *= math.Sqrt(v)
		}
	}
	var omega mat.SymDense
	omega.SymOuterK(1, u)
	return &omega
}

// DualScan finds the eigenvalues of the best covariance for rho > 0:
//
//	minimise    rho ||mu||^2 + <mu, kappa>
//	subject to  mu >= 0, sum(mu) = 1
//
// kappa must ascend, as an eigendecomposition returns it. With mu comes the multiplier tau, for which
// mu_i = max(0, -(kappa_i + tau) / (2 rho)). DualScan returns an error that wraps ErrInvalid if kappa
// is empty, does not ascend or is not finite, or if rho is not positive and finite.
//
// The dual is a convex function of tau, quadratic between neighbouring -kappa_i,
// and the region in which exactly the k lowest eigenvalues have positive mu has
// its optimum where those mu sum to 1. The scan lets k grow until the optimum
// of a region lies in that region. As the dual is convex, that one is the
// optimum of all, and no values need comparing. It costs one addition an
// eigenvalue and ends after as many as have positive mu.
//
// It is the paper's Algorithm 1 with two changes. The printed one removes
// kappa_i where it should remove kappa_{i-1}, and so returns mu = (0, 2) for
// kappa = (1, 0), rho = 0.25, instead of (0, 1). And it compares polynomials in
// tau, which cancel when kappa has a large common offset or rho is small. Here
// kappa is measured from its minimum in units of 2 rho,
//
//	z_i = (kappa_i - kappa_min) / (2 rho),  mu_i = max(0, theta - z_i),
//
// so that all sums are of nonnegative numbers of at most theta <= 1, and the
// scale of kappa and rho does not matter.
func DualScan(kappa []float64, rho float64) (mu []float64, tau float64, err error) {
	if !(rho > 0) || !finite(rho) {
		return nil, 0, ErrInvalid.Errorf("rho: it is %v; the scan needs it positive and finite", rho)
	}
	if err := checkSpectrum(kappa); err != nil {
		return nil, 0, err
	}
	mu = make([]float64, len(kappa)) // holds z until theta is known
	lowest := kappa[0]
	support := 1
	sum := 0.0
	for ; support < len(kappa); support++ {
		z := (kappa[support] - lowest) / rho / 2
		if float64(support)*z >= 1+sum {
			break // z >= theta: the optimum of this region lies in it
		}
		mu[support] = z
		sum += z
	}
	theta := (1 + sum) / float64(support)
	for i := range support {
		mu[i] = max(0, theta-mu[i])
	}
	return mu, -(lowest + 2*rho*theta), nil
}

func checkSpectrum(kappa []float64) error {
	switch {
	case len(kappa) == 0:
		return ErrInvalid.Errorf("kappa: it is empty; it needs an eigenvalue for every task")
	case !finite(kappa[0]) || !finite(kappa[len(kappa)-1]):
		return ErrInvalid.Errorf("kappa: it runs from %v to %v; it must be finite", kappa[0],
			kappa[len(kappa)-1])
	case !slices.IsSorted(kappa):
		return ErrInvalid.Errorf("kappa: it does not ascend; sort the eigenvalues")
	}
	return nil
}

func finite(x float64) bool {
	return !math.IsNaN(x) && !math.IsInf(x, 0)
}
