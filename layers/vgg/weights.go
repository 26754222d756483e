package vgg

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"l2mt/data/safetensors"
	"l2mt/layers/linalg"
)

// Load reads the weights of a network up to a layer from a .safetensors
// file. Weights of the layers above may be missing. The first tensor that is
// missing or has another shape is an error.
func Load(path string, c Config, up Layer) (*Net, error) {
	file, err := safetensors.Open(path)
	if err != nil {
		return nil, fmt.Errorf("vgg: %w", err)
	}
	n, err := load(file, c, up)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("vgg: %s: %w", path, err)
	}
	return n, nil
}

// tensors are a file of named arrays.
type tensors interface {
	Names() []string
	Shape(name string) ([]int, error)
	Float32s(name string) ([]float32, error)
}

func load(file tensors, c Config, up Layer) (*Net, error) {
	kernels, err := linalg.Select()
	if err != nil {
		return nil, err
	}
	n := &Net{config: c, kernels: kernels, layers: wanted(c, up)}
	for _, l := range n.layers {
		if err := check(file, c, l); err != nil {
			return nil, err
		}
	}
	for i := range n.layers {
		l := &n.layers[i]
		var err1, err2 error
		l.weight, err1 = numbers(file, l.name+".weight")
		l.bias, err2 = numbers(file, l.name+".bias")
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		if len(l.shape) == 4 {
			l.weight = tapsFirst(l.weight, l.in, l.out)
		}
	}
	return n, nil
}

// layerNames are torchvision's, the convolutions first. It counts the layers of its
// Sequential modules, in which ReLU, pooling and dropout are layers too.
func layerNames(c Config) (names []string) {
	at := 0
	for _, b := range c.Blocks {
		for range b.Convolutions {
			names = append(names, fmt.Sprintf("features.%d", at))
			at += 2
		}
		at++
	}
	return append(names, "classifier.0", "classifier.3", "classifier.6")
}

// wanted are the layers of a network up to one, without their numbers.
func wanted(c Config, up Layer) (all []layer) {
	names, in := layerNames(c), colours
	add := func(out int, shape ...int) {
		all = append(all, layer{name: names[len(all)], shape: shape, in: in, out: out})
		in = out
	}
	for _, b := range c.Blocks {
		for range b.Convolutions {
			add(b.Channels, b.Channels, in, 3, 3)
		}
	}
	in = c.Width(Pool5)
	for _, out := range c.Dense[:slices.Index(Layers(), up)] {
		add(out, out, in)
	}
	return all
}

// tapsFirst turns out x in x taps into taps x in x out.
func tapsFirst(weight []float32, in, out int) []float32 {
	turned := make([]float32, len(weight))
	for o := range out {
		for i := range in {
			for t := range taps {
				turned[(t*in+i)*out+o] = weight[(o*in+i)*taps+t]
			}
		}
	}
	return turned
}

// check compares the shapes of the weights and the biases of a layer.
func check(file tensors, c Config, l layer) error {
	for _, part := range []struct {
		name  string
		shape []int
	}{{l.name + ".weight", l.shape}, {l.name + ".bias", []int{l.out}}} {
		if !slices.Contains(file.Names(), part.name) {
			return fmt.Errorf("%w: %s is missing; %s has it with %s, by torchvision's names", ErrWeights, part.name, c.Name, by(part.shape))
		}
		found, err := file.Shape(part.name)
		if err != nil {
			return err
		}
		if !slices.Equal(found, part.shape) {
			return fmt.Errorf("%w: %s is %s; %s has %s", ErrWeights, part.name, by(found), c.Name, by(part.shape))
		}
	}
	return nil
}

// by writes a shape: 64 x 3 x 3 x 3.
func by(shape []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", " x ")
}

// numbers reads the weights or the biases of a layer and checks that they are finite.
func numbers(file tensors, name string) ([]float32, error) {
	value, err := file.Float32s(name)
	if err != nil {
		return nil, err
	}
	for i, v := range value {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("%w: entry %d of %s is %v; it must be finite", ErrWeights, i, name, v)
		}
	}
	return value, nil
}
