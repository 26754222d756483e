package model

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"l2mt/data"
	"l2mt/data/safetensors"
	"l2mt/layers"
)

// Head is a stack of fully connected layers, of Connected, in front of a network.
type (
	Head      = layers.Head
	Connected = layers.Connected
)

// HeadFile is the head of a network that has one, beside its weights. It has
// the names that ReadHead reads, W0, b0, W1, b1 and so on, so it can be the
// start of another training.
const HeadFile = "head.safetensors"

// namings are the ways to name the arrays of a head. Of a file that has several it is the
// first.
var namings = []*regexp.Regexp{
	// As torchvision's models name their head: weight is out x in, here and below.
	regexp.MustCompile(`^classifier\.(?P<number>\d+)\.(?P<kind>weight|bias)$`),
	// As PyTorch names the layers of an nn.Sequential, with gaps where it has others.
	regexp.MustCompile(`^(?:.*\.)?(?P<number>\d+)\.(?P<kind>weight|bias)$`),
	numpy,
}

// numpy is how NumPy programs do: W is in x out. A single layer needs no number.
var numpy = regexp.MustCompile(`^(?P<kind>W|b)(?P<number>\d*)$`)

// ReadHead reads the fully connected layers of a head from a .safetensors
// file, with these arrays:
//
//	W0, b0, W1, b1, ...         W is in x out; W and b if there is one layer
//	0.weight, 0.bias, ...       weight is out x in, as PyTorch has it
//	classifier.0.weight, ...    likewise, whatever else the file has
//
// Layers come in the order of their numbers, and gaps do not matter.
func ReadHead(path string) (layers.Head, error) {
	file, err := safetensors.Open(path)
	if err != nil {
		return nil, fmt.Errorf("model: head: %w", err)
	}
	defer file.Close()
	head, err := readHead(file)
	if err == nil {
		err = head.Validate()
	}
	if err != nil {
		return nil, fmt.Errorf("model: head: %s: %w", path, err)
	}
	return head, nil
}

// connectedNames are the names of one layer's arrays.
type connectedNames struct {
	weight, bias string
	transposed   bool // the weight is out x in
}

func readHead(file *safetensors.File) (layers.Head, error) {
	names, err := layerNames(file.Names())
	if err != nil {
		return nil, err
	}
	var head layers.Head
	for _, n := range names {
		l, err := readConnected(file, n)
		if err != nil {
			return nil, err
		}
		head = append(head, l)
	}
	return head, nil
}

// layerNames finds the layers among the names of a file.
func layerNames(names []string) (found []connectedNames, err error) {
	for _, pattern := range namings {
		layers := map[int]*connectedNames{}
		for _, name := range names {
			m := pattern.FindStringSubmatch(name)
			if m == nil {
				continue
			}
			number, err := strconv.Atoi(cmp.Or(m[pattern.SubexpIndex("number")], "-1")) // of W and b
			if err != nil {
				return nil, fmt.Errorf("array %q: %w: %w", name, data.ErrFormat, err)
			}
			if layers[number] == nil {
				layers[number] = &connectedNames{transposed: pattern != numpy}
			}
			at := &layers[number].bias
			if kind := m[pattern.SubexpIndex("kind")]; kind == "W" || kind == "weight" {
				at = &layers[number].weight
			}
			if *at != "" {
				return nil, fmt.Errorf("%w: %q and %q have one number; give the layers of the head alone", data.ErrFormat, *at, name)
			}
			*at = name
		}
		for _, number := range slices.Sorted(maps.Keys(layers)) {
			found = append(found, *layers[number])
		}
		if len(found) > 0 {
			return found, nil
		}
	}
	return nil, fmt.Errorf("%w: the arrays are %q; a head has W0, b0, W1, b1, ... (or W and b), or 0.weight, 0.bias, ... with or without \"classifier.\" before it", data.ErrFormat, names)
}

func readConnected(file *safetensors.File, n connectedNames) (l layers.Connected, err error) {
	switch {
	case n.bias == "":
		return l, fmt.Errorf("%w: there is a weight %q without its bias; a layer has both", data.ErrFormat, n.weight)
	case n.weight == "":
		return l, fmt.Errorf("%w: there is a bias %q without its weight; a layer has both", data.ErrFormat, n.bias)
	}
	shape, err := file.Shape(n.weight)
	if err != nil {
		return l, err
	}
	if len(shape) != 2 {
		return l, fmt.Errorf("array %q: %w: its shape is %v; the weight of a fully connected layer has two dimensions", n.weight, data.ErrFormat, shape)
	}
	l.In, l.Out = shape[0], shape[1]
	if n.transposed {
		l.In, l.Out = l.Out, l.In
	}
	if biases, err := file.Shape(n.bias); err != nil {
		return l, err
	} else if !slices.Equal(biases, []int{l.Out}) {
		return l, fmt.Errorf("array %q: %w: its shape is %v; the weight %q, %v, needs %d biases", n.bias, data.ErrMismatch, biases, n.weight, shape, l.Out)
	}
	var err1, err2 error
	l.W, err1 = file.Float32s(n.weight)
	l.B, err2 = file.Float32s(n.bias)
	if err := errors.Join(err1, err2); err != nil {
		return l, err
	}
	if n.transposed {
		l.W = safetensors.Transposed(l.W, l.Out, l.In)
	}
	return l, nil
}

// saveHead writes a head to a directory, unless the file there is the same:
// only the layers that are trained change, and the others may be large.
func saveHead(dir string, head layers.Head) error {
	path := filepath.Join(dir, HeadFile)
	if f, err := safetensors.Open(path); err == nil {
		f.Close()
		if f.Checksum() == head.Sum() {
			return nil
		}
	}
	return safetensors.Write(path, HeadArrays("", head), nil)
}

// HeadArrays are the weights of a head as arrays of a file, where they are in
// memory. The prefix comes before their names.
func HeadArrays(prefix string, head layers.Head) (arrays []Tensor) {
	for i, l := range head {
		arrays = append(arrays,
			Tensor{Name: fmt.Sprint(prefix, "W", i), DType: safetensors.F32, Shape: []int{l.In, l.Out}, Single: l.W},
			Tensor{Name: fmt.Sprint(prefix, "b", i), DType: safetensors.F32, Shape: []int{l.Out}, Single: l.B})
	}
	return arrays
}

// loadHead reads the head of a saved network of the given widths.
func loadHead(dir, widths string) (layers.Head, error) {
	if widths == "" {
		return nil, nil
	}
	head, err := ReadHead(filepath.Join(dir, HeadFile))
	if err != nil {
		return nil, err
	}
	if head.String() != widths {
		return nil, fmt.Errorf("model: %s: %w: the head is %s, but %s says %s", filepath.Join(dir, HeadFile), ErrMismatch, head, WeightsFile, widths)
	}
	return head, nil
}

// Features returns a problem with the features that the network works on: those
// that its head makes, or the problem itself if it has none. Everything that is
// done with the network's covariances takes these.
func (n *Network) Features(p *data.ProblemData) (*data.ProblemData, error) {
	return Through(n.Head, len(n.Head), p)
}

// Through returns a problem with the features that the first layers of a head
// make of its own. All of its rows are gone through; a problem without layers
// to go through is returned as it is.
func Through(head layers.Head, count int, p *data.ProblemData) (*data.ProblemData, error) {
	if count == 0 {
		return p, nil
	}
	if len(p.Prepare) > 0 {
		return nil, fmt.Errorf("model: problem %q: %w: its features are prepared (%s), but a head takes those of the dataset; draw the problems without", p.Name, ErrMismatch, strings.Join(p.Prepare, ", "))
	}
	q := &data.ProblemData{Problem: p.Problem, Tasks: slices.Clone(p.Tasks)}
	for i := range q.Tasks {
		t := &q.Tasks[i]
		for _, s := range []*data.Samples{&t.TrainSet, &t.ValidationSet, &t.TestSet} {
			if s.X == nil {
				continue
			}
			x, err := head.Apply(s.X, count)
			if err != nil {
				return nil, fmt.Errorf("model: problem %q, task %q: %w", p.Name, t.Name, err)
			}
			s.X = x
		}
	}
	return q, nil
}
