package model

import (
	op "gorgonia.org/gorgonia"

	"l2mt/layers"
)

// The estimators beside the paper's.
func init() {
	RegisterEstimator("odd-kernel", oddKernelEstimator)
	RegisterEstimator("relu", reluEstimator)
	RegisterEstimator("linear", linearEstimator)
	RegisterEstimator("affine-kernel", affineKernelEstimator)
}

// oddKernelEstimator has a kernel that changes its sign with either embedding,
// K_ij = exp(-alpha_3^2 ||e_i - e_j||^2) - exp(-alpha_3^2 ||e_i + e_j||^2), as
// Omega_ij does when the labels of a task are flipped.
var oddKernelEstimator = kernelMixture(true)

// reluEstimator is the paper's alternative:
//
//	Phi = alpha_1 ReLU(F F'),  F = E L' + 1 beta',  c = alpha_2
var reluEstimator = Estimator{
	Params: func(c Config) []Spec {
		return []Spec{
			vector("alpha", 1, 0.1),
			{
				Name:      "L",
				Shape:     []int{c.Hidden, c.Hidden},
				Deviation: layerDeviation,
			},
			{
				Name:  "beta",
				Shape: []int{c.Hidden},
			},
		}
	},
	Linear: []Entry{{"alpha", 0}, {"alpha", 1}},
	Build: func(p Inputs, e *layers.Node) (phi, c *layers.Node) {
		f := mul(e, must(op.Transpose(p.Get("L"))))                 // m x h
		f = must(op.BroadcastAdd(f, p.Get("beta"), nil, []byte{0})) // m x h
		phi = mul(p.Number("alpha", 0), must(op.Rectify(gram(f))))  // m x m
		return phi, p.Number("alpha", 1)
	},
}

// linearEstimator is linear in the Gram matrix of the embeddings, with a
// constant, which a trace of 1 makes a multiple of I:
//
//	Phi = alpha_1 E E' + alpha_2 I,  c = alpha_3
//
// f then needs no kernel to reach the level of v(o), and alpha_1 says alone
// how much alike tasks should share.
var linearEstimator = Estimator{
	Params: vectors("alpha", -0.1, 0.5, 0.1),
	Linear: []Entry{{"alpha", 0}, {"alpha", 1}, {"alpha", 2}},
	Build: func(p Inputs, e *layers.Node) (phi, c *layers.Node) {
		linear := mul(p.Number("alpha", 0), gram(e)) // m x m
		return diagonal(linear, p.Number("alpha", 1)), p.Number("alpha", 2)
	},
}

// affineKernelEstimator is the odd kernel mixture with a constant:
//
//	Phi = alpha_1 E E' + alpha_2 K + alpha_5 I,  c = alpha_4
//
// Without it the mixture has to make the level of v(o) out of the diagonals of
// E E' and K, with opposite signs, which bends f over the off-diagonals.
var affineKernelEstimator = Estimator{
	Params: vectors("alpha", -0.1, -0.1, 1, 0.1, 0.5),
	Linear: append(oddKernelEstimator.Linear, Entry{"alpha", 4}),
	Build: func(p Inputs, e *layers.Node) (phi, c *layers.Node) {
		mixture, c := oddKernelEstimator.Build(p, e) // m x m, scalar
		return diagonal(mixture, p.Number("alpha", 4)), c
	},
}

// diagonal is K + a I.
func diagonal(k, a *layers.Node) *layers.Node {
	return add(k, mul(a, layers.Identity(k)))
}
