// Package pairwise is a body of pairs of tasks, and its estimator. It knows no features, only
// inner products between the signed means of tasks, so that one network serves all datasets:
//
//	E = exp(u) * ((C . w) / m + (1 + exp(v)) I / m),  [w u v] = tanh([|C| Z] M + 1 b') N + 1 a'
//
// row by row, one for every pair of tasks, with the statistics of relations.go: C
// are the pair's cosines and Z describes the two tasks and the problem.
// Only C changes its sign when the labels of a task are flipped, and so E does, as
// the covariance must. N starts at zero: the untrained body is the mean of the
// debiased and the whitened debiased cosines, with 0.3 I added.
//
// The body is "pairwise" and the estimator "pairs", as the preset "pairwise" has them. A program that
// wants them imports the package, as it would one with pieces of its own:
//
//	import _ "l2mt/model/pairwise"
package pairwise

import (
	"math"

	op "gorgonia.org/gorgonia"

	"l2mt/layers"
	"l2mt/model"
)

func init() {
	model.RegisterBody("pairwise", model.Body{
		Params: func(c model.Config) []model.Spec {
			const in = cosines + invariants
			const out = cosines + 2
			return []model.Spec{
				{
					Name:      "M",
					Shape:     []int{in, c.Hidden},
					Deviation: 1 / math.Sqrt(in),
				},
				{
					Name:  "b",
					Shape: []int{c.Hidden},
				},
				{
					Name:  "N",
					Shape: []int{c.Hidden, out},
					Decay: 1,
				},
				{
					Name:  "a",
					Shape: []int{out},
					Start: []float64{0, 0.5, 0, 0.5, 0, math.Log(0.3)},
				},
			}
		},
		Pairs: true,
		Statistics: []model.Statistic{
			{
				Name:    "pairs",
				Cols:    pairColumns,
				Compute: pairStatistics,
			},
		},
		Build: embed,
	})
	model.RegisterEstimator("pairs", pairsEstimator)
}

func embed(in model.BodyInputs) *layers.Node {
	must := op.Must
	s := in.Statistics.Get("pairs") // tasks^2 x columns
	columns := func(x *layers.Node, from, to int) *layers.Node {
		return must(op.Slice(x, nil, op.S(from, to)))
	}
	column := func(x *layers.Node, i int) *layers.Node {
		return must(op.Slice(x, nil, op.S(i)))
	}
	affine := func(x *layers.Node, weight, bias string) *layers.Node {
		product := must(op.Mul(x, in.Params.Get(weight)))
		return must(op.BroadcastAdd(product, in.Params.Get(bias), nil, []byte{0}))
	}
	times := func(a, b *layers.Node) *layers.Node {
		return must(op.HadamardProd(a, b))
	}
	sum := func(a, b *layers.Node) *layers.Node {
		return must(op.Add(a, b))
	}

	c := columns(s, 0, cosines)
	known := columns(s, cosines+2, pairColumns) // tasks^2 x 4, tasks^2 x (4 + invariants)
	share := column(s, cosines)
	self := column(s, cosines+1) // tasks^2: 1/m, and 1/m where i = j

	out := affine(must(op.Tanh(affine(known, "M", "b"))), "N", "a") // tasks^2 x 6
	w := columns(out, 0, cosines)
	u := column(out, cosines)
	v := column(out, cosines+1)

	across := times(share, must(op.Sum(times(w, c), 1))) // tasks^2
	ridge := sum(self, times(self, must(op.Exp(v))))     // tasks^2
	e := times(must(op.Exp(u)), sum(across, ridge))      // tasks^2
	return must(op.Reshape(e, []int{e.Shape()[0], 1}))   // tasks^2 x 1
}

// pairsEstimator takes E for a multiple of the best covariance:
//
//	Phi = (alpha_1 + alpha_2 c) I - 2 E,  c = tr(E)
//
// f is least at the covariance nearest to E / tr(E), and alpha sets its level.
var pairsEstimator = model.Estimator{
	Params: func(model.Config) []model.Spec {
		return []model.Spec{{
			Name:  "alpha",
			Shape: []int{2},
			Start: []float64{0.8, 0},
		}}
	},
	Pairs: true,
	Build: func(p model.Inputs, e *layers.Node) (phi, c *layers.Node) {
		must := op.Must
		m := int(math.Sqrt(float64(e.Shape()[0])))
		e = must(op.Reshape(e, []int{m, m}))
		identity := layers.Identity(e)
		c = must(op.Sum(must(op.HadamardProd(e, identity))))
		slope := must(op.Mul(p.Number("alpha", 1), c))
		level := must(op.Add(p.Number("alpha", 0), slope))
		twice := must(op.Add(e, e))
		return must(op.Sub(must(op.Mul(level, identity)), twice)), c
	},
}
