package vgg

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"l2mt/data/format"
	"l2mt/layers/linalg"
)

// Load reads the weights of a network up to a layer from a .safetensors or .npz
// file. Weights of the layers above may be missing. The first tensor that is
// missing or has another shape is an error.
func Load(path string, c Config, up Layer) (*Net, error) {
	file, err := format.OpenWeights(path)
	if err != nil {
		return nil, fmt.Errorf("vgg: %w", err)
	}
	n, err := load(file, c, up)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("vgg: %s: %w", path, err)
	}
	return n, nil
}

func load(file format.Weights, c Config, up Layer) (*Net, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if !slices.Contains(Layers(), up) {
		return nil, fmt.Errorf("layer %q: %w: it must be one of %v", up, ErrInvalid, Layers())
	}
	kernels, err := linalg.Select()
	if err != nil {
		return nil, err
	}
	library, names, err := recognise(file, c)
	if err != nil {
		return nil, err
	}
	s := source{file, c.Name, library, names}
	n := &Net{config: c, library: library, kernels: kernels, layers: library.wanted(c, up)}
	for _, l := range n.layers {
		if err := s.check(l); err != nil {
			return nil, err
		}
	}
	for i := range n.layers {
		l := &n.layers[i]
		var err1, err2 error
		l.weight, err1 = s.numbers(l.name, 0)
		l.bias, err2 = s.numbers(l.name, 1)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		if len(l.shape) == 4 && library.channelsFirst {
			l.weight = tapsFirst(l.weight, l.in, l.out)
		}
	}
	return n, nil
}

// wanted are the layers of a network up to one, without their numbers.
func (l *library) wanted(c Config, up Layer) (all []layer) {
	names, in := l.layers(c), colours
	add := func(out int, firstIn, firstOut []int) {
		shape := firstIn
		if l.channelsFirst {
			shape = firstOut
		}
		all = append(all, layer{name: names[len(all)], shape: shape, in: in, out: out})
		in = out
	}
	for _, b := range c.Blocks {
		for range b.Convolutions {
			add(b.Channels, []int{3, 3, in, b.Channels}, []int{b.Channels, in, 3, 3})
		}
	}
	in = c.Width(Pool5)
	for _, out := range c.Dense[:slices.Index(Layers(), up)] {
		add(out, []int{in, out}, []int{out, in})
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

// recognise finds out whose names a file has, and refuses layers that the
// network does not have: other networks of the family share many layers. The names of
// the weights and the biases of a layer are found by its name.
func recognise(file format.Weights, c Config) (*library, map[string]*[2]string, error) {
	for _, l := range []*library{torchvision, keras} {
		names, layers := map[string]*[2]string{}, l.layers(c)
		for _, name := range file.Names() {
			m := l.tensor.FindStringSubmatch(name)
			if m == nil {
				continue
			}
			if !slices.Contains(layers, m[1]) {
				return nil, nil, fmt.Errorf("%w: the file has %s, which %s does not have", ErrWeights, name, c.Name)
			}
			if names[m[1]] == nil {
				names[m[1]] = new([2]string)
			}
			part := 0
			if m[2][0] == 'b' {
				part = 1
			}
			names[m[1]][part] = name
		}
		if len(names) > 0 {
			return l, names, nil
		}
	}
	found := "nothing"
	if names := file.Names(); len(names) > 5 {
		found = strings.Join(names[:5], ", ") + ", ..."
	} else if len(names) > 0 {
		found = strings.Join(names, ", ")
	}
	return nil, nil, fmt.Errorf("%w: there is neither torchvision's %s nor Keras' %s, but %s", ErrWeights,
		torchvision.layers(c)[0]+torchvision.parts[0], keras.layers(c)[0]+keras.parts[0], found)
}

// A source is a file of weights whose library is known.
type source struct {
	file    format.Weights
	network string
	library *library
	names   map[string]*[2]string // those of recognise
}

// check compares the shapes of the weights and the biases of a layer.
func (s source) check(l layer) error {
	for part, want := range [][]int{l.shape, {l.out}} {
		names := s.names[l.name]
		if names == nil || names[part] == "" {
			return fmt.Errorf("%w: %s is missing; %s has it with %s", ErrWeights, l.name+s.library.parts[part], s.network, by(want))
		}
		found, err := s.file.Shape(names[part])
		if err != nil {
			return err
		}
		if !slices.Equal(found, want) {
			return fmt.Errorf("%w: %s is %s; %s has %s", ErrWeights, names[part], by(found), s.network, by(want))
		}
	}
	return nil
}

// by writes a shape: 64 x 3 x 3 x 3.
func by(shape []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", " x ")
}

// numbers reads a part of a layer and checks that its numbers are finite.
func (s source) numbers(layer string, part int) ([]float32, error) {
	name := s.names[layer][part]
	value, err := s.file.Float32s(name)
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
