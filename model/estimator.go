package model

import (
	op "gorgonia.org/gorgonia"

	"l2mt/layers"
)

// The built-in estimators. Their alphas start at the paper's values.
func init() {
	RegisterEstimator("kernel", kernelEstimator)
	RegisterEstimator("odd-kernel", oddKernelEstimator)
	RegisterEstimator("relu", reluEstimator)
	RegisterEstimator("affine", affineEstimator)
	RegisterEstimator("affine-kernel", affineKernelEstimator)
}

// kernelEstimator is the paper's:
//
//	Phi = alpha_1 E E' + alpha_2 K,  K_ij = exp(-alpha_3^2 ||e_i - e_j||^2),  c = alpha_4
var kernelEstimator = kernelMixture(radial)

// oddKernelEstimator has a kernel that changes its sign with either embedding,
// K_ij = exp(-alpha_3^2 ||e_i - e_j||^2) - exp(-alpha_3^2 ||e_i + e_j||^2), as
// Omega_ij does when the labels of a task are flipped.
var oddKernelEstimator = kernelMixture(oddRadial)

func kernelMixture(kernel func(e, a *layers.Node) *layers.Node) Estimator {
	return Estimator{
		Params: func(Config) []Spec {
			return []Spec{{Name: "alpha", Shape: []int{4}, Start: []float64{1, 1, 1, 0.1}}}
		},
		Linear: []Entry{{"alpha", 0}, {"alpha", 1}, {"alpha", 3}},
		Build: func(p Inputs, e *layers.Node) (phi, c *layers.Node) {
			alpha := func(i int) *layers.Node { return p.Number("alpha", i-1) }
			linear := must(op.Mul(alpha(1), gram(e)))             // m x m
			radial := must(op.Mul(alpha(2), kernel(e, alpha(3)))) // m x m
			return must(op.Add(linear, radial)), alpha(4)
		},
	}
}

func gram(e *layers.Node) *layers.Node { return must(op.Mul(e, must(op.Transpose(e)))) }

func radial(e, a *layers.Node) *layers.Node { return gaussian(layers.Distances(-1, e), a) }

func oddRadial(e, a *layers.Node) *layers.Node {
	return must(op.Sub(radial(e, a), gaussian(layers.Distances(1, e), a)))
}

func gaussian(distances, a *layers.Node) *layers.Node {
	return must(op.Exp(must(op.Neg(must(op.Mul(must(op.Square(a)), distances))))))
}

// reluEstimator is the paper's alternative:
//
//	Phi = alpha_1 ReLU(F F'),  F = E L' + 1 beta',  c = alpha_2
var reluEstimator = Estimator{
	Params: func(c Config) []Spec {
		return []Spec{
			{Name: "alpha", Shape: []int{2}, Start: []float64{1, 0.1}},
			{Name: "L", Shape: []int{c.Width(), c.Width()}, Deviation: layerDeviation},
			{Name: "beta", Shape: []int{c.Width()}},
		}
	},
	Linear: []Entry{{"alpha", 0}, {"alpha", 1}},
	Build: func(p Inputs, e *layers.Node) (phi, c *layers.Node) {
		f := must(op.Mul(e, must(op.Transpose(p.Get("L")))))                // m x h
		f = must(op.BroadcastAdd(f, p.Get("beta"), nil, []byte{0}))         // m x h
		phi = must(op.Mul(p.Number("alpha", 0), must(op.Rectify(gram(f))))) // m x m
		return phi, p.Number("alpha", 1)
	},
}

// affineEstimator is linear in the Gram matrix of the embeddings, with a
// constant, which a trace of 1 makes a multiple of I:
//
//	Phi = alpha_1 E E' + alpha_2 I,  c = alpha_3
//
// f then needs no kernel to reach the level of v(o), and alpha_1 says alone
// how much alike tasks should share.
var affineEstimator = Estimator{
	Params: func(Config) []Spec {
		return []Spec{{Name: "alpha", Shape: []int{3}, Start: []float64{-0.1, 0.5, 0.1}}}
	},
	Linear: []Entry{{"alpha", 0}, {"alpha", 1}, {"alpha", 2}},
	Build: func(p Inputs, e *layers.Node) (phi, c *layers.Node) {
		linear := must(op.Mul(p.Number("alpha", 0), gram(e))) // m x m
		return layers.AddIdentity(linear, p.Number("alpha", 1)), p.Number("alpha", 2)
	},
}

// affineKernelEstimator is the odd kernel mixture with a constant:
//
//	Phi = alpha_1 E E' + alpha_2 K + alpha_5 I,  c = alpha_4
//
// Without it the mixture has to make the level of v(o) out of the diagonals of
// E E' and K, with opposite signs, which bends f over the off-diagonals.
var affineKernelEstimator = Estimator{
	Params: func(Config) []Spec {
		return []Spec{{Name: "alpha", Shape: []int{5}, Start: []float64{-0.1, -0.1, 1, 0.1, 0.5}}}
	},
	Linear: []Entry{{"alpha", 0}, {"alpha", 1}, {"alpha", 3}, {"alpha", 4}},
	Build: func(p Inputs, e *layers.Node) (phi, c *layers.Node) {
		mixture, c := oddKernelEstimator.Build(p, e) // m x m, scalar
		return layers.AddIdentity(mixture, p.Number("alpha", 4)), c
	},
}
