// Package solve solves multitask problems: it weighs ways to fit them by rows held out.
//
// Fit does the whole. A Bench splits the labelled rows into folds, Choose weighs candidates by
// their predictions of rows that they have not seen, and Bench.Fit fits the ones that count to all
// labelled rows. A Candidate is a Structure of the mixed model (package mixed), in which variances
// say how much tasks share, or problem (1) with a covariance (a Mixture) in the tasks' common
// metric. Test rows are only ever measured on.
//
// A Finder asks the network. It embeds a problem, from its training rows alone. Found has the best
// covariance, and the error expected of any other.
package solve
