package vgg

import (
	"fmt"
	"slices"
	"strings"

	"l2mt/data/safetensors"
	"l2mt/layers"
	"l2mt/layers/linalg"
)

// Load reads the weights of a network up to a layer from a .safetensors
// file. Weights of the layers above may be missing. The first tensor that is
// missing or has another shape is an error.
func Load(path string, c Config, up Layer) (*Net, error) {
	layers := wanted(c, up)
	tensors, _, err := safetensors.Read(path,
		func(name string) safetensors.DType {
			for _, l := range layers {
				if name == l.name+".weight" || name == l.name+".bias" {
					return safetensors.F32
				}
			}
			return ""
		})
	if err != nil {
		return nil, err
	}
	n, err := load(tensors, c, up)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return n, nil
}

func load(tensors []safetensors.Tensor, c Config, up Layer) (*Net, error) {
	_, err := linalg.Select()
	if err != nil {
		return nil, err
	}
	n := &Net{config: c}
	for _, l := range wanted(c, up) {
		l.weight, err = numbers(tensors, c, l.name+".weight", l.shape)
		if err != nil {
			return nil, err
		}
		l.bias, err = numbers(tensors, c, l.name+".bias", []int{l.out})
		if err != nil {
			return nil, err
		}
		if len(l.shape) == 4 {
			l.weight = tapsFirst(l.weight, l.in, l.out)
			n.layers = append(n.layers, l)
			continue
		}
		weight := safetensors.Transposed(l.weight, l.out, l.in)
		n.head = append(n.head, layers.Connected{In: l.in, Out: l.out,
			W: weight, B: l.bias})
	}
	return n, nil
}

// wanted are the layers of a network up to one, without their numbers, by torchvision's names.
// Torchvision counts ReLU, pooling and dropout as layers too.
func wanted(c Config, up Layer) (layers []layer) {
	in := colours
	number := 0
	add := func(part string, out int, shape ...int) {
		name := fmt.Sprint(part, number)
		layers = append(layers, layer{
			name:  name,
			shape: shape,
			in:    in,
			out:   out,
		})
		in = out
	}
	for _, b := range c.Blocks {
		for range b.Convolutions {
			add("features.", b.Channels, b.Channels, in, 3, 3)
			number += 2
		}
		number++
	}
	in = c.Width(Pool5)
	number = 0
	for _, out := range c.Dense[:slices.Index(Layers(), up)] {
		add("classifier.", out, out, in)
		number += 3
	}
	return layers
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

// by writes a shape: 64 x 3 x 3 x 3.
func by(shape []int) string {
	return strings.ReplaceAll(
		strings.Trim(fmt.Sprint(shape), "[]"), " ", " x ")
}

// numbers are the weights or the biases of a layer. They have a shape and are finite.
func numbers(tensors []safetensors.Tensor, c Config, name string, shape []int) ([]float32, error) {
	k := slices.IndexFunc(tensors, func(t safetensors.Tensor) bool {
		return t.Name == name
	})
	if k < 0 {
		return nil, ErrWeights.Errorf("%s is missing; %s has it with %s, by torchvision's names",
			name, c.Name, by(shape))
	}
	t := tensors[k]
	if !slices.Equal(t.Shape, shape) {
		return nil, ErrWeights.Errorf("%s is %s; %s has %s", name,
			by(t.Shape), c.Name, by(shape))
	}
	i := layers.NotFinite(t.Single)
	if i >= 0 {
		return nil, ErrWeights.Errorf("entry %d of %s is %v; it must be finite",
			i, name, t.Single[i])
	}
	return t.Single, nil
}
