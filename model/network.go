// Package model is the network of "Learning to Multitask": it embeds the tasks
// of a multitask problem from their training data, and estimates from the
// embeddings how good a task covariance Omega is for the problem,
//
//	f(E, Omega) = <Phi(E), Omega> + c tr(Omega^2)  ~  v(o),
//
// o being the test error relative to single-task learning and v the link. The file
// network.go has all of it, from the rows of a problem to f and v(o).
//
// A Config chooses the pieces, and a preset is a Config with a name. Bodies (problem
// -> E), readouts, estimators (E -> Phi, c) and links are looked up by name;
// RegisterBody, RegisterReadout, RegisterEstimator and RegisterLink add one's own,
// Pieces lists them all, and package modeltest proves them right. The body "lgnn" is
// the paper's; "pairwise" of package pairwise knows inner products alone, so that one
// network serves problems over any features. Params are the learned numbers as plain slices, and a
// Network is both with where it came from, saved as a directory.
//
// Prepare turns a problem into a Payload. A TrainingGraph gives the loss of
// tuples (payload, Omega, o) and its gradient; a Forward gives E, Phi and c.
// Both are made of the same pieces, in operations of Gorgonia and of package layers.
package model

import (
	"fmt"
	"slices"

	op "gorgonia.org/gorgonia"

	"l2mt/data"
	"l2mt/layers"
)

// The pieces of the paper are registered as anybody's are. Shapes are written for n
// rows of d features in m tasks, h hidden units, and q covariances with their o.
func init() {
	RegisterBody("lgnn", lgnn)
	RegisterReadout("mean", meanReadout)
	RegisterEstimator("kernel", kernelEstimator)
	RegisterLink("tanh", tanhLink)
	RegisterObjective(Paper, Loss{Build: func(in LossInputs) *layers.Node {
		return in.Residual
	}})
}

// presets are the configurations with a name. Features is left to the caller.
var presets = map[string]Config{
	// The paper to the letter (sections 3.2, 3.3 and 4).
	"paper": {
		Body: "lgnn", Layers: 2, Hidden: 50, Neighbours: 6, Norm: layers.NormNone,
		Readout: "mean", Estimator: "kernel", Link: "tanh",
		Objective: Paper, Lambda: 0.1, DType: layers.Float32,
	},
	// The best choices by measurement.
	"default": {
		Body: "lgnn", Layers: 2, Hidden: 200, Neighbours: 6, Norm: layers.NormSize,
		Readout: "signed", Unit: true, Estimator: "affine-kernel", Link: "tanh",
		Objective: Found, Lambda: 1e-4, DType: layers.Float32,
	},
	// One network for problems of any features, of pieces that package pairwise registers.
	"pairwise": {
		Body: "pairwise", Layers: 1, Hidden: 16, Neighbours: 6, Norm: layers.NormSize,
		Readout: "signed", Estimator: "pairs", Link: "identity",
		Objective: Found, Lambda: 0.01, DType: layers.Float64,
	},
}

// estimates is the network: f(E, Omega) and v(o) for every tuple.
func (n *core) estimates(g *layers.Graph) {
	q := n.program.shape.tuples
	m := n.program.shape.tasks
	n.e = n.embedding(g)       // m x h
	n.phi, n.c = n.estimator() // m x m, scalar
	if q == 0 {
		return
	}
	n.omega = g.Input("Omega", q, m*m)
	n.o = g.Input("o", q)
	phi := must(op.Reshape(n.phi, []int{m * m}))
	quadratic := mul(n.c, g.Input("tr(Omega^2)", q)) // q
	n.f = add(mul(n.omega,
		phi), quadratic) // q: <Phi, Omega> + c tr(Omega^2)
	n.v = n.link(n.o) // q
}

// lgnn is the layerwise graph neural network, P being the label graphs of the tasks:
//
//	H_1 = ReLU(X L_1 + b_1),  H_i = ReLU(X L_i + P H_{i-1} + b_i),  E = readout(H_s)
//
// L_2 to L_s are one matrix unless they are free.
var lgnn = Body{
	Params: func(c Config) (specs []Spec) {
		for i := range c.distinctLayers() {
			shared := 1 // by how many layers
			if i == c.distinctLayers()-1 {
				shared = c.Layers - i
			}
			specs = append(specs,
				Spec{Name: weightName(i), Shape: []int{c.Features, c.Hidden}, Embedding: true,
					Deviation: layerDeviation, Decay: float64(shared), FeatureMap: true},
				Spec{
					Name:      biasName(i),
					Shape:     []int{c.Hidden},
					Embedding: true,
				})
		}
		return specs
	},
	Graph: func(c Config) bool {
		return c.Layers > 1
	},
	Build: func(in BodyInputs) *layers.Node {
		c := in.Config
		var products layers.Nodes // n x h: X L_i
		for i := range c.distinctLayers() {
			products = append(products, in.Product(in.Params.Get(weightName(i))))
		}
		var h *layers.Node
		for i := range c.Layers {
			k := min(i, c.distinctLayers()-1)
			z := layers.Nodes{products[k]} // n x h
			if i > 0 {
				z = append(z, layers.Aggregate(in.Slot, h)) // n x h: P H
			}
			h = layers.Activate(in.Params.Get(biasName(k)), z...) // n x h
		}
		return in.Readout(h) // m x h
	},
}

// layerDeviation is the deviation of the paper's initial L_i, whose entries are N(0, 1/100).
const layerDeviation = 0.1

// distinctLayers is the number of layers with a matrix of their own.
func (c Config) distinctLayers() int {
	if c.Free {
		return c.Layers
	}
	return min(c.Layers, 2)
}

func weightName(i int) string {
	return fmt.Sprint("L", i+1)
}
func biasName(i int) string {
	return fmt.Sprint("b", i+1)
}

// Readout is E (m x h) of H (n x h) as the configuration says: each task's rows by the
// weights of the readout, and of length 1 if it is to be.
func (in BodyInputs) Readout(h *layers.Node) *layers.Node {
	e := layers.Readout(in.Slot, h)
	if in.Config.Unit {
		e = layers.Unit(e)
	}
	return e
}

// meanReadout is the paper's e = H_s 1/n. It does not see the targets, so a
// task and the task with all labels flipped have the same embedding.
func meanReadout(_ data.Kind, y []float64) ([]float64, error) {
	return slices.Repeat([]float64{1 / float64(len(y))}, len(y)), nil
}

// kernelEstimator is the paper's:
//
//	Phi = alpha_1 E E' + alpha_2 K,  K_ij = exp(-alpha_3^2 ||e_i - e_j||^2),  c = alpha_4
var kernelEstimator = kernelMixture(false)

func kernelMixture(odd bool) Estimator {
	return Estimator{
		Params: vectors("alpha", 1, 1, 1, 0.1),
		Linear: []Entry{{"alpha", 0}, {"alpha", 1}, {"alpha", 3}},
		Build: func(p Inputs, e *layers.Node) (phi, c *layers.Node) {
			alpha := func(i int) *layers.Node {
				return p.Number("alpha", i-1)
			}
			kernel := gaussian(-1, e, alpha(3)) // m x m
			if odd {
				kernel = must(op.Sub(kernel, gaussian(1, e, alpha(3))))
			}
			linear := mul(alpha(1), gram(e)) // m x m
			return add(linear, mul(alpha(2), kernel)), alpha(4)
		},
	}
}

// gram is E E', m x m.
func gram(e *layers.Node) *layers.Node {
	return mul(e, must(op.Transpose(e)))
}

// gaussian is exp(-a^2 ||e_i + sign e_j||^2), m x m.
func gaussian(sign int, e, a *layers.Node) *layers.Node {
	scaled := mul(must(op.Square(a)), layers.Distances(sign, e))
	return must(op.Exp(must(op.Neg(scaled))))
}

// tanhLink is the paper's v(o) = tanh(gamma_1 o + gamma_2).
var tanhLink = Link{
	Params: gamma,
	Build: func(p Inputs, o *layers.Node) *layers.Node {
		scaled := mul(p.Number("gamma", 0), o)                  // q
		return must(op.Tanh(add(scaled, p.Number("gamma", 1)))) // q
	},
	Direction: func(p Params) float64 {
		return p.Get("gamma")[0]
	},
}

// gamma declares the two parameters of links, with the paper's starting values.
var gamma = vectors("gamma", 1, 0)

// loss is the function that training minimises: the registered one, and lambda
// sum_i ||L_i||^2.
func (n *core) loss(t *TrainingGraph, outcomes *layers.Node) (loss *layers.Node, in LossInputs) {
	in = LossInputs{
		F:     n.f,
		V:     n.v,
		O:     n.o,
		Omega: n.omega,
	}
	in.Residual = mean(must(op.Abs(must(op.Sub(n.f, n.v))))) // scalar
	in.Deviation = deviation(n.link(outcomes))               // scalar
	name := n.config.Objective
	named("objective", name, func() {
		piece := objectives[name]
		if piece.Measured {
			in.Found = t.found(n)
		}
		loss = piece.Build(in)
		shaped("the loss", loss)
	})
	for _, s := range n.config.Specs() {
		if s.Decay > 0 { // a tied matrix counts once a layer
			squares := layers.Penalty(n.params.Get(s.Name))
			weight := layers.Constant(squares, n.config.Lambda*s.Decay)
			loss = add(loss, mul(weight, squares))
		}
	}
	return loss, in
}

// deviation is the population standard deviation of a vector.
func deviation(v *layers.Node) *layers.Node {
	rest := must(op.Sub(v, mean(v)))
	return must(op.Sqrt(mean(must(op.Square(rest)))))
}

// mean is the mean of a vector.
func mean(v *layers.Node) *layers.Node {
	share := layers.Constant(v, 1/float64(v.Shape().TotalSize()))
	return mul(share, must(op.Sum(v)))
}
