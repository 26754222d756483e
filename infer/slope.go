package infer

import (
	"gonum.org/v1/gonum/mat"
)

// Slopes returns the gradients, with respect to Phi and to rho > 0, of a function of
// Omega(Phi, rho), given its gradient with respect to Omega there.
//
// Omega is the projection of -Phi/(2 rho) onto the covariances. In the basis U it
// follows a change of Phi by divided differences between eigenvalues,
//
//	dOmega_ij = (mu_i - mu_j) / (kappa_i - kappa_j) dPhi_ij,  i != j,
//
// which are -1/(2 rho) where both mu are positive, and by the projection onto the
// simplex, dmu_i = -1/(2 rho) (dkappa_i - the mean of dkappa over the positive mu).
// Eigenvalues that are equal do no harm: they have the same limit. Where a mu reaches
// zero there is a kink, and the slope belongs to the side on which it is zero.
//
// As Omega is the same for multiples of Phi and rho together, the slope for rho follows.
func Slopes(phi *mat.SymDense, rho float64, gradient mat.Symmetric) (
	gradientPhi *mat.SymDense, gradientRho float64, err error) {
	var e mat.EigenSym
	if !e.Factorize(phi, true) {
		return nil, 0, ErrInvalid.Errorf("Phi: it has no eigendecomposition in float64")
	}
	kappa := e.Values(nil)
	mu, _, err := DualScan(kappa, rho)
	if err != nil {
		return nil, 0, err
	}
	var u, inner, slope, half mat.Dense
	e.VectorsTo(&u)
	inner.Product(u.T(), gradient, &u)
	m := len(kappa)
	support := 0
	mean := 0.0
	for support < m && mu[support] > 0 {
		mean += inner.At(support, support)
		support++
	}
	mean /= float64(support)
	slope.ReuseAs(m, m)
	for i := range support {
		for j := range support {
			slope.Set(i, j, -inner.At(i, j)/(2*rho))
		}
		slope.Set(i, i, slope.At(i, i)+mean/(2*rho))
		gradientRho -= slope.At(i, i) * (kappa[i] - kappa[0]) / rho
		for j := support; j < m; j++ {
			across := -inner.At(i, j) * mu[i] / (kappa[j] - kappa[i])
			slope.Set(i, j, across)
			slope.Set(j, i, across)
		}
	}
	half.Product(&u, &slope, u.T())
	slope.Add(&half, half.T())
	slope.Scale(0.5, &slope)
	return mat.NewSymDense(m, slope.RawMatrix().Data), gradientRho, nil
}
