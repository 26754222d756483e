package model

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/safetensors"
	"l2mt/layers"
)

// Spec declares a parameter.
type Spec struct {
	// Name is unique within a piece. If an earlier piece of a network has the same one, the
	// parameter is called "estimator.Name" or "link.Name" outside of its own.
	Name string
	// Shape has one or two dimensions.
	Shape []int
	// Start is the initial value, row-major. Nil draws it from a normal
	// distribution with mean 0 and standard deviation Deviation.
	Start     []float64
	Deviation float64
	// Decay is how many times the penalty of training counts the sum of its
	// squares; 0 leaves it free.
	Decay float64
	// FeatureMap says that the rows, one for each feature, may begin with a map M learned
	// from training tasks, as [M, -M].
	FeatureMap bool
	// Embedding says that the parameter belongs to the layers below the
	// embeddings, which want smaller steps than the few numbers above them.
	Embedding bool

	piece, local string // the kind of the piece, and the name that this gave
}

// vector declares a parameter by its initial values.
func vector(name string, start ...float64) Spec {
	return Spec{
		Name:  name,
		Shape: []int{len(start)},
		Start: start,
	}
}

// vectors declares a vector as the only parameter of a piece.
func vectors(name string, start ...float64) func(Config) []Spec {
	return func(Config) []Spec {
		return []Spec{vector(name, start...)}
	}
}

// Tensor is a named array of numbers, row-major.
type Tensor = safetensors.Tensor

// Params are the parameters of a network in the order of Config.Specs: of the
// body, of the estimator, of the link.
type Params []Tensor

// Specs declares the parameters of a valid configuration.
func (c Config) Specs() (specs []Spec) {
	taken := map[string]string{}
	add := func(kind string, params func(Config) []Spec) {
		if params == nil {
			return
		}
		for _, s := range params(c) {
			s.piece = kind
			s.local = s.Name
			if cmp.Or(taken[s.Name], kind) != kind {
				s.Name = kind + "." + s.Name
			}
			taken[s.Name] = kind
			specs = append(specs, s)
		}
	}
	add("body", bodies[c.Body].Params)
	add("estimator", estimators[c.Estimator].Params)
	add("link", links[c.Link].Params)
	return specs
}

// NewParams returns the initial parameters. Each is drawn from a stream of its
// own, so that changing one piece of the configuration leaves the others alone.
func NewParams(c Config, seed uint64) Params {
	var p Params
	for _, s := range c.Specs() {
		t := Tensor{
			Name:  s.Name,
			Shape: s.Shape,
			Value: s.Start,
		}
		if s.Start == nil {
			r := data.Stream(seed, "initial "+s.Name)
			t.Value = make([]float64, layers.Shape(s.Shape).TotalSize())
			for i := range t.Value {
				t.Value[i] = s.Deviation * r.NormFloat64()
			}
		}
		p = append(p, t)
	}
	return p.Clone()
}

// Get returns the values of a parameter, or nil if there is none of that name.
func (p Params) Get(name string) []float64 {
	for _, t := range p {
		if t.Name == name {
			return t.Value
		}
	}
	return nil
}

// inputs are the parameters as inputs of a graph.
func (p Params) inputs() map[string][]float64 {
	inputs := map[string][]float64{}
	for _, t := range p {
		inputs[t.Name] = t.Value
	}
	return inputs
}

// Clone copies the parameters.
func (p Params) Clone() Params {
	q := slices.Clone(p)
	for i := range q {
		q[i].Value = slices.Clone(q[i].Value)
	}
	return q
}

// setFeatureMap sets a parameter of rows for the features to [M, -M], in the size of random
// numbers, and further columns to zero: x M = relu(x M) - relu(-x M).
func (s Spec) setFeatureMap(value []float64, m *mat.Dense) {
	d, k := m.Dims()
	size := mat.Norm(m, 2)
	if size == 0 {
		return
	}
	size = s.Deviation * math.Sqrt(float64(d*k)) / size
	l := mat.NewDense(d, s.Shape[1], value)
	l.Zero()
	l.Slice(0, d, 0, k).(*mat.Dense).Scale(size, m)
	l.Slice(0, d, k, 2*k).(*mat.Dense).Scale(-size, m)
}
