// Package multitask fits the multitask models of the unified formulation
//
//	min over W, b, Omega >= 0 of
//	  sum_i 1/n_i sum_j loss(<w_i, x_ij> + b_i, y_ij)
//	  + Lambda1/2 tr(W Omega^-1 W') + Lambda2 g(Omega)                  (1)
//
// for m tasks over the same d features. W is d x m with one column a task, b
// holds the m biases, which are not penalised, and Omega is the m x m task
// covariance. The models differ only in g. An Omega that is singular means its
// pseudo-inverse, with W in the range of Omega.
//
// # Names
//
// Names follow the paper.
//
//	W, B             weights (d x m) and biases (m)
//	Omega            task covariance, m x m
//	Lambda1, Lambda2 strengths of the two regularisers
//	S                W'W, the weights as an Omega step sees them
//	A                AMTL's matrix of transfers between the tasks
//
// # Solvers
//
// There are three, one for each kind of model. Each ends with its gap.
//
// Where Omega is given (solve_held.go) Newton's method minimises over W and b, by conjugate
// gradients that are preconditioned with Omega; strong convexity bounds the gap. A model
// that is convex in W and Omega together (solve_joint.go) is split: one W for the losses and
// one for the penalty, drawn together by alternating directions, with a gap between (1) and
// its Fenchel dual (certificate.go). The others, AMTL, glMTL and Schatten norms with r < 1
// (solve_local.go), take turns between Omega steps and Newton's method given Omega until the
// gaps of both are small; they may end in a local minimum, a few per cent above a better one.
//
// # Sizes
//
// Two things depend on sizes alone. A squared loss of many rows is computed from d + 2 rows a
// task where these have less than two thirds of the entries (rows.go). Omega is multiplied by row
// by row where it is diagonal.
package multitask
