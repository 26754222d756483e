// Package data holds what multitask learning starts from: datasets with dense
// or sparse features, multitask problems drawn from them or written by hand, and
// the label graphs of their tasks.
//
// Package table reads datasets. SampleProblems and GroupProblems
// draw problems from one, LoadProblems reads them from a file, and
// ProblemFile.Bind brings the rows to them: a ProblemData has a matrix and labels
// for every task and split. Package view transforms rows.
//
// Files may come from anyone: the sizes that they state are not relied on,
// memory grows with the bytes read, and errors name file, line and field.
package data
