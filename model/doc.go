// Package model is the network of "Learning to Multitask": it embeds the tasks
// of a multitask problem from their training data, and estimates from the
// embeddings how good a task covariance Omega is for the problem,
//
//	f(E, Omega) = <Phi(E), Omega> + c tr(Omega^2)  ~  v(o),
//
// o being the test error relative to single-task learning and v the link.
//
// A Config chooses the pieces. Bodies (problem -> E), readouts, estimators
// (E -> Phi, c) and links are looked up by name; RegisterBody, RegisterReadout,
// RegisterEstimator and RegisterLink add one's own, Pieces lists them all, and
// package modeltest proves them right. The body "lgnn" is the paper's; "pairwise"
// knows inner products alone, so that one network serves problems over any
// features. Params are the learned numbers as plain slices, and a Network is both
// with where it came from, saved as a directory.
//
// A head is fully connected layers in front of the network, which make its
// features; ReadHead reads one. It is applied once where it is frozen (Features,
// Through), and its last layers may be in the graphs, to be trained along.
//
// Prepare turns a problem into a Payload. A TrainingGraph gives the loss of
// tuples (payload, Omega, o) and its gradient; a Forward gives E, Phi and c.
// Both are made of the same pieces, which are nodes of package layers.
package model
