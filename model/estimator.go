package model

import "l2mt/layers"

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
var kernelEstimator = kernelMixture(layers.RBF)

// oddKernelEstimator has a kernel that changes its sign with either embedding,
// K_ij = exp(-alpha_3^2 ||e_i - e_j||^2) - exp(-alpha_3^2 ||e_i + e_j||^2), as
// Omega_ij does when the labels of a task are flipped.
var oddKernelEstimator = kernelMixture(layers.OddRBF)

func kernelMixture(kernel func(e, a *layers.Node) *layers.Node) Estimator {
	return Estimator{
		Params: func(Config) []Spec {
			return []Spec{{Name: "alpha", Shape: []int{4}, Start: []float64{1, 1, 1, 0.1}}}
		},
		Linear: []Entry{{"alpha", 0}, {"alpha", 1}, {"alpha", 3}},
		Build: func(p Inputs, e *layers.Node) (phi, c *layers.Node) {
			alpha := func(i int) *layers.Node { return layers.At(p.Get("alpha"), i-1) }
			linear := layers.Scale(alpha(1), layers.Gram(e))      // m x m
			radial := layers.Scale(alpha(2), kernel(e, alpha(3))) // m x m
			return layers.Add(linear, radial), alpha(4)
		},
	}
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
		alpha := p.Get("alpha")
		f := layers.AddRow(layers.MatMul(e, layers.Transpose(p.Get("L"))), p.Get("beta")) // m x h
		phi = layers.Scale(layers.At(alpha, 0), layers.Rectify(layers.Gram(f)))           // m x m
		return phi, layers.At(alpha, 1)
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
		alpha := p.Get("alpha")
		linear := layers.Scale(layers.At(alpha, 0), layers.Gram(e)) // m x m
		return layers.AddIdentity(linear, layers.At(alpha, 1)), layers.At(alpha, 2)
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
		return layers.AddIdentity(mixture, layers.At(p.Get("alpha"), 4)), c
	},
}
