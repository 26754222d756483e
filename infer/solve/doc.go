// Package solve solves multitask problems with the covariance that a network
// finds.
//
// Fit does the whole: a Bench judges candidates by rows that they have not seen, Choose
// takes one, and it is fitted to all labelled rows. Test rows are only ever measured on.
//
// A Finder asks the network. It embeds a problem, from its training rows alone, and the
// Embedding says the best covariance, and the error expected of any other.
package solve
