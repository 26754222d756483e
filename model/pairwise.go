package model

import (
	"math"

	op "gorgonia.org/gorgonia"

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
			in := cosines + invariants
			out := cosines + 2
			return []Spec{
				{Name: "M", Shape: []int{in, c.Hidden}, Deviation: 1 / math.Sqrt(float64(in))},
				{Name: "b", Shape: []int{c.Hidden}},
				{Name: "N", Shape: []int{c.Hidden, out}, Decay: 1},
				{Name: "a", Shape: []int{out}, Start: []float64{0, 0.5, 0, 0.5, 0, math.Log(0.3)}},
			}
		},
		Per: PerPair,
		Statistics: []Statistic{
			{Name: "pairs", Per: PerPair, Cols: pairColumns, Of: pairStatistics},
		},
		Build: pairwise,
	})
	RegisterEstimator("pairs", pairsEstimator)
}

func pairwise(in BodyInputs) *layers.Node {
	p := in.Params
	s := in.Statistics.Get("pairs") // tasks^2 x columns
	columns := func(of *layers.Node, from, to int) *layers.Node { return must(op.Slice(of, nil, op.S(from, to))) }
	column := func(of *layers.Node, i int) *layers.Node { return must(op.Slice(of, nil, op.S(i))) } // tasks^2
	affine := func(x *layers.Node, weight, bias string) *layers.Node {
		return must(op.BroadcastAdd(must(op.Mul(x, p.Get(weight))), p.Get(bias), nil, []byte{0}))
	}
	c := columns(s, 0, cosines)
	known := columns(s, cosines+2, pairColumns) // tasks^2 x 4, tasks^2 x (4 + invariants)
	share := column(s, cosines)
	self := column(s, cosines+1) // tasks^2: 1/m, and 1/m where i = j

	out := affine(must(op.Tanh(affine(known, "M", "b"))), "N", "a") // tasks^2 x 6
	w := columns(out, 0, cosines)
	u := column(out, cosines)
	v := column(out, cosines+1)

	across := must(op.HadamardProd(share, must(op.Sum(must(op.HadamardProd(w, c)), 1)))) // tasks^2
	alone := must(op.Add(self, must(op.HadamardProd(self, must(op.Exp(v))))))            // tasks^2
	e := must(op.HadamardProd(must(op.Exp(u)), must(op.Add(across, alone))))             // tasks^2
	return must(op.Reshape(e, []int{e.Shape()[0], 1}))                                   // tasks^2 x 1
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
		m := int(math.Sqrt(float64(e.Shape()[0])))
		e = must(op.Reshape(e, []int{m, m}))
		identity := layers.Identity(e)
		c = must(op.Sum(must(op.HadamardProd(e, identity)))) // the trace
		level := must(op.Add(p.Number("alpha", 0), must(op.Mul(p.Number("alpha", 1), c))))
		return must(op.Sub(must(op.Mul(level, identity)), must(op.Add(e, e)))), c
	},
}
