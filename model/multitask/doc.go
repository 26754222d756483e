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
//	S                W'W, all that an Omega step sees of the weights
//	A                AMTL's matrix of transfers between the tasks
//
// # Solver
//
// For given W the best Omega is known for every model (its Step), which leaves
// a function of W and b alone. Its gradient needs Omega and nothing else, and
// Newton's method minimises it as a whole. Alternating between W and Omega
// instead converges slowly, and stops short of the minimum where W cannot have
// rank m. Where Omega may become singular the solver works with W'W + floor^2 I
// and lets the floor shrink; for SPATS, whose Omega is sparse and often has a
// larger range than W has, it follows the central path of an interior point
// method. Where there are fewer features than tasks, a model whose g depends on the
// eigenvalues of Omega alone has a covariance of the features instead, on the other
// side of W. Where there are 64 of both or more, CMTL, SNR1, MTRL and the convex SSNR are
// split instead: one W for the losses and one for the penalty, drawn together by
// alternating directions. It stops on a certificate: the gap between (1)
// and its Fenchel dual for models that are convex in W and Omega together,
// and the gaps of the two steps for the others. These others, AMTL and glMTL, may
// end in a local minimum, a few per cent above a better one.
package multitask
