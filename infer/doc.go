// Package infer finds the best task covariance for an estimate, in closed form.
//
// A trained network estimates how well a covariance Omega suits a problem by
//
//	f(Omega) = c tr(Omega^2) + <Phi, Omega>
//
// where Phi (m x m) and c come from the problem's training data. The best
// covariance minimises direction * f over the positive semidefinite matrices of
// trace 1 (section 3.4 and Theorem 3 of the paper): Omega computes it from Phi
// and rho alone, by gonum's eigendecomposition of Phi; DualScan finds the eigenvalues of
// Omega. Nothing here knows networks or data: package
// solve brings the three together.
//
// The names are the paper's:
//
//	Phi    the linear part of the estimator, times the direction of the link
//	Rho    the quadratic part of the estimator, times the direction of the link
//	Kappa  eigenvalues of Phi
//	Mu     eigenvalues of Omega
//	Tau    multiplier of the constraint tr(Omega) = 1
package infer
