package vgg

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"l2mt/data/format"
	"l2mt/data/safetensors"
	"l2mt/layers/linalg"
)

// tensors is a file of weights.
type tensors interface {
	Names() []string
	Shape(name string) ([]int, error)
	Float32s(name string) ([]float32, error)
	Close() error
}

// Load reads the weights of a network up to a layer from a .safetensors or .npz
// file. Weights of the layers above may be missing. The first tensor that is
// missing or has another shape is an error.
func Load(path string, c Config, up Layer) (*Net, error) {
	file, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("vgg: %w", err)
	}
	n, err := load(file, c, up)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("vgg: %s: %w", path, err)
	}
	return n, nil
}

func open(path string) (tensors, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".npz":
		return format.OpenArrays(path)
	case ".safetensors":
		return safetensors.Open(path)
	}
	return nil, fmt.Errorf("%s: %w: its name must end in .safetensors or .npz", path, ErrWeights)
}

func load(file tensors, c Config, up Layer) (*Net, error) {
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
	s, err := newSource(file, c)
	if err != nil {
		return nil, err
	}
	n := &Net{config: c, library: s.library, kernels: kernels}
	wanted := s.wanted(up)
	for _, w := range wanted {
		if err := s.check(w); err != nil {
			return nil, err
		}
	}
	for _, b := range c.Blocks {
		var block []convolution
		for range b.Convolutions {
			weight, bias, err := s.read(wanted[0])
			if err != nil {
				return nil, err
			}
			in, out := wanted[0].in, wanted[0].out
			if s.library.channelsFirst {
				weight = tapsFirst(weight, in, out)
			}
			block = append(block, convolution{in, out, weight, bias})
			wanted = wanted[1:]
		}
		n.blocks = append(n.blocks, block)
	}
	for i, w := range wanted {
		weight, bias, err := s.read(w)
		if err != nil {
			return nil, err
		}
		n.dense = append(n.dense, dense{
			in: w.in, out: w.out, weight: weight, bias: bias,
			transposed: !s.library.channelsFirst,
			relu:       i < len(c.Dense)-1,
		})
	}
	return n, nil
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

// A source is a file of weights whose library is known.
type source struct {
	file    tensors
	config  Config
	library *library
	names   map[tensorID]string // in the file
}

// tensorID is a layer's name in its library, and which of its parts: the
// weights or the biases.
type tensorID struct {
	layer string
	part  int
}

const (
	weights = iota
	biases
)

// partOf is the part that the library's regular expression found.
func partOf(found string) int {
	if found[0] == 'b' {
		return biases
	}
	return weights
}

// newSource finds out whose names a file has, and refuses layers that the
// network does not have: other networks of the family share many layers.
func newSource(file tensors, c Config) (*source, error) {
	for _, l := range []*library{torchvision, keras} {
		s := &source{file, c, l, map[tensorID]string{}}
		layers := l.layers(c)
		for _, name := range file.Names() {
			m := l.tensor.FindStringSubmatch(name)
			if m == nil {
				continue
			}
			if !slices.Contains(layers, m[1]) {
				return nil, fmt.Errorf("%w: the file has %s, which %s does not have", ErrWeights, name, c.Name)
			}
			s.names[tensorID{m[1], partOf(m[2])}] = name
		}
		if len(s.names) > 0 {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%w: there is neither torchvision's %s nor Keras' %s, but %s", ErrWeights,
		torchvision.layers(c)[0]+torchvision.parts[weights], keras.layers(c)[0]+keras.parts[weights], abridged(file.Names()))
}

func abridged(names []string) string {
	const few = 5
	if len(names) == 0 {
		return "nothing"
	}
	if len(names) > few {
		names = append(names[:few:few], "...")
	}
	return strings.Join(names, ", ")
}

// wanted is the parameters of a layer.
type wanted struct {
	layer       string // its library's name
	convolution bool
	in, out     int
}

// wanted returns the layers up to one.
func (s *source) wanted(up Layer) (all []wanted) {
	names := s.library.layers(s.config)
	add := func(convolution bool, in, out int) int {
		all = append(all, wanted{names[len(all)], convolution, in, out})
		return out
	}
	in := colours
	for _, b := range s.config.Blocks {
		for range b.Convolutions {
			in = add(true, in, b.Channels)
		}
	}
	in = s.config.Width(Pool5)
	for _, out := range s.config.Dense[:slices.Index(Layers(), up)] {
		in = add(false, in, out)
	}
	return all
}

// shape is that of the weights in the library's order.
func (s *source) shape(w wanted) []int {
	switch {
	case s.library.channelsFirst && w.convolution:
		return []int{w.out, w.in, 3, 3}
	case s.library.channelsFirst:
		return []int{w.out, w.in}
	case w.convolution:
		return []int{3, 3, w.in, w.out}
	}
	return []int{w.in, w.out}
}

// check compares the shapes of the weights and the biases of a layer.
func (s *source) check(w wanted) error {
	for part, want := range [][]int{s.shape(w), {w.out}} {
		name, ok := s.names[tensorID{w.layer, part}]
		if !ok {
			return fmt.Errorf("%w: %s is missing; %s has it with %s", ErrWeights, w.layer+s.library.parts[part], s.config.Name, by(want))
		}
		found, err := s.file.Shape(name)
		if err != nil {
			return err
		}
		if !slices.Equal(found, want) {
			return fmt.Errorf("%w: %s is %s; %s has %s", ErrWeights, name, by(found), s.config.Name, by(want))
		}
	}
	return nil
}

// by writes a shape: 64 x 3 x 3 x 3.
func by(shape []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", " x ")
}

func (s *source) read(w wanted) (weight, bias []float32, err error) {
	if weight, err = s.numbers(tensorID{w.layer, weights}); err != nil {
		return nil, nil, err
	}
	bias, err = s.numbers(tensorID{w.layer, biases})
	return weight, bias, err
}

// numbers reads a tensor and checks that its numbers are finite.
func (s *source) numbers(id tensorID) ([]float32, error) {
	name := s.names[id]
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
