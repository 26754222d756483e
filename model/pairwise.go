package model

import (
	"math"

	"l2mt/layers"
)

// The body of pairs of tasks. It knows no features, only inner products between
// what tasks say of them, so that one network serves all datasets:
//
//	E = exp(u) * ((C . w) / m + (1 + exp(v)) I / m),  [w u v] = tanh([|C| Z] M + 1 b') N + 1 a'
//
// row by row, one for every pair of tasks, with the statistics of relations.go: C
// are the pair's cosines and Z what is known of the two tasks and of the problem.
// Only C changes its sign when the labels of a task are flipped, and so E does, as
// the covariance must. N starts at zero: the untrained body is the mean of the
// debiased and the whitened debiased cosines, with 0.3 I added.
func init() {
	RegisterBody("pairwise", Body{
		Params: func(c Config) []Spec {
			in, out := cosines+invariants, cosines+2
			return []Spec{
				{Name: "M", Shape: []int{in, c.Hidden}, Deviation: 1 / math.Sqrt(float64(in))},
				{Name: "b", Shape: []int{c.Hidden}},
				{Name: "N", Shape: []int{c.Hidden, out}, Decay: 1},
				{Name: "a", Shape: []int{out}, Start: []float64{0, 0.5, 0, 0.5, 0, math.Log(0.3)}},
			}
		},
		Per:   PerPair,
		Width: func(Config) int { return 1 },
		Statistics: []Statistic{
			{Name: "pairs", Per: PerPair, Cols: pairColumns, Of: pairStatistics},
		},
		FeatureFree: true,
		Apart:       true,
		Build:       pairwise,
	})
	RegisterEstimator("pairs", pairsEstimator)
}

func pairwise(in BodyInputs) *layers.Node {
	p, s := in.Params, in.Statistics.Get("pairs") // tasks^2 x columns
	column := func(of *layers.Node, i int) *layers.Node { return layers.Columns(of, i, i+1) }
	c, known := layers.Columns(s, 0, cosines), layers.Columns(s, cosines+2, pairColumns) // tasks^2 x 4, tasks^2 x (4 + invariants)
	share, self := column(s, cosines), column(s, cosines+1)                              // tasks^2 x 1: 1/m, and 1/m where i = j

	hidden := layers.Tanh(layers.AddRow(layers.MatMul(known, p.Get("M")), p.Get("b"))) // tasks^2 x h
	out := layers.AddRow(layers.MatMul(hidden, p.Get("N")), p.Get("a"))                // tasks^2 x 6
	w, u, v := layers.Columns(out, 0, cosines), column(out, cosines), column(out, cosines+1)

	across := layers.Hadamard(share, layers.RowInner(w, c))          // tasks^2 x 1
	alone := layers.Add(self, layers.Hadamard(self, layers.Exp(v)))  // tasks^2 x 1
	return layers.Hadamard(layers.Exp(u), layers.Add(across, alone)) // tasks^2 x 1
}

// pairsEstimator takes E for a multiple of the best covariance:
//
//	Phi = (alpha_1 + alpha_2 c) I - 2 E,  c = tr(E)
//
// f is least at the covariance nearest to E / tr(E), and alpha sets its level.
var pairsEstimator = Estimator{
	Params: func(Config) []Spec {
		return []Spec{{Name: "alpha", Shape: []int{2}, Start: []float64{0.8, 0}}}
	},
	Per: PerPair,
	Build: func(p Inputs, e *layers.Node) (phi, c *layers.Node) {
		alpha, e := p.Get("alpha"), layers.Squared(e) // m x m
		c = layers.Trace(e)
		level := layers.Add(layers.At(alpha, 0), layers.Scale(layers.At(alpha, 1), c))
		return layers.AddIdentity(layers.Neg(layers.Add(e, e)), level), c
	},
}
