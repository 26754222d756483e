package model

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"l2mt/layers"
)

// The layerwise graph neural network of the paper, X being the rows of all tasks
// and P their label graph:
//
//	H_1 = act(X L_1 + b_1),  H_i = act(X L_i + P H_{i-1} + b_i),  E = readout(H_s)
//
// L_2 to L_s are one matrix unless they are free.
func init() {
	RegisterBody("lgnn", Body{
		Params: lgnnParams,
		Graph:  func(c Config) bool { return c.Layers > 1 },
		Teach:  teachLGNN,
		Build:  lgnn,
	})
}

// layerDeviation is that of the paper's initial L_i, whose entries are N(0, 1/100).
const layerDeviation = 0.1

func lgnnParams(c Config) (specs []Spec) {
	for i := 1; i <= c.distinctLayers(); i++ {
		layers := 1
		if i == c.distinctLayers() {
			layers = c.Layers - i + 1 // that share the matrix
		}
		specs = append(specs,
			Spec{Name: weightName(i), Shape: []int{c.Features, c.Hidden}, Deviation: layerDeviation, Embedding: true, Decay: float64(layers)},
			Spec{Name: biasName(i), Shape: []int{c.Hidden}, Embedding: true})
	}
	return specs
}

func lgnn(in BodyInputs) *layers.Node {
	c := in.Config
	var weights layers.Nodes
	for i := range c.distinctLayers() {
		weights = append(weights, in.Params.Get(weightName(i+1)))
	}
	var h *layers.Node
	products := in.Products(weights...) // n x h
	for i := 1; i <= c.Layers; i++ {
		own := min(i, c.distinctLayers())
		z := layers.Nodes{products[own-1]} // n x h
		if i > 1 {
			z = append(z, layers.Aggregate(in.Slot, h)) // n x h
		}
		h = layers.Activate(in.Slot, c.Activation, in.Params.Get(biasName(own)), z...) // n x h
	}
	return in.Readout(h) // tasks x h
}

// teachLGNN sets every L_i to [M, -M], in the size of random ones, and the columns that
// are left to zero: x M = relu(x M) - relu(-x M).
func teachLGNN(c Config, p Params, m *mat.Dense) {
	d, k := m.Dims()
	size := mat.Norm(m, 2)
	if size == 0 {
		return
	}
	size = layerDeviation * math.Sqrt(float64(d*k)) / size
	for i := range c.distinctLayers() {
		l := mat.NewDense(d, c.Hidden, p.Get(weightName(i+1)))
		l.Zero()
		l.Slice(0, d, 0, k).(*mat.Dense).Scale(size, m)
		l.Slice(0, d, k, 2*k).(*mat.Dense).Scale(-size, m)
	}
}

// distinctLayers is the number of layers with a matrix of their own.
func (c Config) distinctLayers() int {
	if c.Free {
		return c.Layers
	}
	return min(c.Layers, 2)
}

func weightName(layer int) string { return fmt.Sprintf("L%d", layer) }
func biasName(layer int) string   { return fmt.Sprintf("b%d", layer) }
