// Package layers holds the pieces that the network is made of, as nodes of a
// Gorgonia graph: the product of the data with a weight matrix, the
// aggregation over the label graph, activations, readouts, and distances
// between tasks.
//
// A Graph is built for the shape of a multitask problem, the number of its tasks and of
// their rows, and serves all problems of that shape. The data of a problem's tasks are a
// Batch, which is put into a Slot of the graph before a run. Graphs that run one after
// another share a Memory.
//
// The names follow the paper. Rows are points or tasks, so H is n x h and E is
// m x h:
//
//	H_1 = act(X L_1 + b_1)                   Product, Activate
//	H_i = act(X L_i + P H_{i-1} + b_i)       Aggregate
//	e_j = sum of w_i h_i over the task's rows   Readout
//	e_j / ||e_j||                            Unit
//	||e - e'||^2                             Distances
//
// Everything else is written in Gorgonia's own operations, which take the same
// nodes: shapes and symbolic gradients are Gorgonia's, and Graph.Run runs them
// (gorgonia.go, docs/operations.md).
//
// Functions that add nodes to a graph panic when their operands do not fit, as
// gonum does and gorgonia.Must; Build turns such a panic into an error. A new
// operation is an Op: a name, a shape, a body written once for float32 and
// float64, and a gradient. A new scaling of the label graph is a case in
// batch.go.
package layers
