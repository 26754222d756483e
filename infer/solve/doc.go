// Package solve solves multitask problems with the covariance that a network
// finds.
//
// A Network embeds a problem, from its training rows alone, and the Embedding
// answers everything else: the best covariance, the estimated error of any
// other, how near the problem is to those of an Atlas, and the fit of W and b
// with hyperparameters chosen on validation rows. Test rows are only ever
// measured on.
package solve
