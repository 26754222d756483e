// Package infer finds the best task covariance for a new multitask problem, and
// solves the problem with it.
//
// A trained network estimates how well a covariance Omega suits a problem by
//
//	f(Omega) = c tr(Omega^2) + <Phi, Omega>
//
// where Phi (m x m) and c come from the problem's training data. The best
// covariance minimises direction * f over the positive semidefinite matrices of
// trace 1, which has a closed form (section 3.4 and Theorem 3 of the paper):
// Omega computes it from Phi and rho alone, and DualScan is the step that finds
// its eigenvalues.
//
// A Network embeds a problem, from its training rows alone, and the Embedding
// answers everything else: the best covariance, the estimated error of any
// other, how near the problem is to those of an Atlas, and the fit of W and b
// with hyperparameters chosen on validation rows. Evaluate compares a network
// with the multitask models on many problems, with a Journal to go on from, and
// Summarise makes a table of what came of it. Test rows are only ever measured
// on.
//
// The names are the paper's:
//
//	Phi    the linear part of the estimator, times the direction of the link
//	Rho    the quadratic part of the estimator, times the direction of the link
//	Kappa  eigenvalues of Phi
//	Mu     eigenvalues of Omega
//	Tau    multiplier of the constraint tr(Omega) = 1
package infer
