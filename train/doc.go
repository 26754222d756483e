// Package train fits a network to experience: tuples of a multitask problem, a
// task covariance Omega and the relative test error o that came of it.
//
//	min over Theta  mean |f(E, Omega) - v(o)| [/ sd v(o)] + lambda sum_i ||L_i||^2
//
// or, for the objective "found", the error of the fit with the covariance that the network finds by
// the closed form, plus a tenth of the objective above.
//
// Run is the loop: Adam or another optimiser at rates that a schedule changes, one tuple or
// one problem a step, metrics on held-out problems after every epoch, the best epoch kept,
// and a checkpoint from which an interrupted run goes on to the same bytes.
// Package train/collect makes the experience.
package train
