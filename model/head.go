package model

import (
	"cmp"
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

// HeadPrefix comes before the names of a head's arrays where they are parameters.
const HeadPrefix = "head."

// layerArray is the name of an array of a layer: of PyTorch, in an nn.Sequential with gaps where it
// has other layers, or of NumPy programs, where a single layer needs no number. Its groups are the
// number and the weight of one, and the weight and the number of the other.
var layerArray = regexp.MustCompile(`^(?:(?:.*\.)?(\d+)\.(?:(weight)|bias)|(?:(W)|b)(\d*))$`)

// classifier is the beginning of such names in torchvision's models, which have others beside.
const classifier = "classifier."

// ReadHead reads the fully connected layers of a head from a .safetensors
// file, with these arrays:
//
//	W0, b0, W1, b1, ...         W is in x out; W and b if there is one layer
//	0.weight, 0.bias, ...       weight is out x in, as PyTorch has it
//	classifier.0.weight, ...    likewise, whatever else the file has
//
// Layers come in the order of their numbers, and gaps do not matter.
func ReadHead(path string) (layers.Head, error) {
	arrays, _, err := safetensors.Read(path,
		func(name string) safetensors.DType {
			if layerArray.MatchString(name) {
				return safetensors.F32
			}
			return "" // other arrays are left out
		})
	if err != nil {
		return nil, fmt.Errorf("head: %w", err)
	}
	head, err := readHead(arrays)
	if err == nil {
		err = head.Validate()
	}
	if err != nil {
		return nil, fmt.Errorf("head: %s: %w", path, err)
	}
	return head, nil
}

// readHead finds the layers among the arrays of a file.
func readHead(arrays []Tensor) (head layers.Head, err error) {
	var names []string
	prefix := ""
	for _, a := range arrays {
		names = append(names, a.Name)
		if strings.HasPrefix(a.Name, classifier) &&
			layerArray.MatchString(a.Name) {
			prefix = classifier
		}
	}
	weights := map[int]Tensor{}
	biases := map[int]Tensor{}
	for _, a := range arrays {
		m := layerArray.FindStringSubmatch(a.Name)
		if m == nil || !strings.HasPrefix(a.Name, prefix) {
			continue
		}
		number, err := strconv.Atoi(cmp.Or(m[1], m[4], "-1")) // of W and b
		if err != nil {
			return nil, data.Malformed("array %q: %w", a.Name, err)
		}
		part := biases
		if m[2]+m[3] != "" {
			part = weights
		}
		first, taken := part[number]
		if taken {
			return nil, data.Malformed("%q and %q have the same number; the file must have the layers of the head alone",
				first.Name, a.Name)
		}
		part[number] = a
	}
	numbers := slices.AppendSeq(slices.Collect(maps.Keys(weights)),
		maps.Keys(biases))
	for _, number := range data.Distinct(numbers) {
		l, err := connected(weights[number], biases[number])
		if err != nil {
			return nil, err
		}
		head = append(head, l)
	}
	if head == nil {
		err = data.Malformed("the arrays are %q; a head has W0, b0, W1, b1, ... (or W and b), or 0.weight, 0.bias, ... with or without \"classifier.\" before it", names)
	}
	return head, err
}

// connected is the layer of two arrays, which have no name where they are missing.
func connected(weight, bias Tensor) (l layers.Connected, err error) {
	switch {
	case bias.Name == "":
		return l, data.Malformed("there is a weight %q without its bias; a layer needs both", weight.Name)
	case weight.Name == "":
		return l, data.Malformed("there is a bias %q without its weight; a layer needs both", bias.Name)
	case len(weight.Shape) != 2:
		return l, data.Malformed("array %q: its shape is %v; the weight of a fully connected layer has two dimensions",
			weight.Name, weight.Shape)
	}
	l = layers.Connected{
		In:  weight.Shape[0],
		Out: weight.Shape[1],
	}
	l.W = weight.Single
	l.B = bias.Single
	if strings.HasSuffix(weight.Name, ".weight") { // out x in
		l.In = weight.Shape[1]
		l.Out = weight.Shape[0]
		l.W = safetensors.Transposed(l.W, l.Out, l.In)
	}
	if !slices.Equal(bias.Shape, []int{l.Out}) {
		return l, data.Mismatch("array %q: its shape is %v; the weight %q, %v, needs %d biases",
			bias.Name, bias.Shape, weight.Name, weight.Shape, l.Out)
	}
	return l, nil
}

// saveHead writes a head to a directory, unless the file there is the same:
// only the layers that are trained change, and the others may be large.
func saveHead(dir string, head layers.Head) error {
	path := filepath.Join(dir, HeadFile)
	shapeAlone := func(string) safetensors.DType {
		return ""
	}
	_, metadata, err := safetensors.Read(path, shapeAlone)
	if err == nil && metadata[safetensors.Checksum] == head.Sum() {
		return nil
	}
	return safetensors.Write(path, HeadArrays("", head), nil)
}

// HeadArrays are the weights of a head as arrays of a file, where they are in
// memory. The prefix comes before their names.
func HeadArrays(prefix string, head layers.Head) (arrays []Tensor) {
	put := func(name string, values []float32, shape ...int) {
		t := Tensor{
			Name:   prefix + name,
			DType:  safetensors.F32,
			Shape:  shape,
			Single: values,
		}
		arrays = append(arrays, t)
	}
	for i, l := range head {
		put(fmt.Sprint("W", i), l.W, l.In, l.Out)
		put(fmt.Sprint("b", i), l.B, l.Out)
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
		return nil, ErrMismatch.Errorf("%s: the head is %s, but %s says %s",
			filepath.Join(dir, HeadFile), head, WeightsFile, widths)
	}
	return head, nil
}

// Features returns a problem with the features that the network works on: the output
// of its head, or the problem itself if it has none. Everything that is done with the
// network's covariances takes these.
func (n *Network) Features(p *data.ProblemData) (*data.ProblemData, error) {
	return Through(n.Head, len(n.Head), p)
}

// Through returns a problem with the features that the first layers of a head
// make of its own. All of its rows are gone through; a problem without layers
// to go through is returned unchanged.
func Through(head layers.Head, count int, p *data.ProblemData) (*data.ProblemData, error) {
	if err := p.Check(); err != nil || count == 0 {
		return p, err
	}
	if len(p.Prepare) > 0 {
		return nil, ErrMismatch.Errorf("problem %q: its features are prepared (%s), but a head takes the features of the dataset; draw the problems without --prepare",
			p.Name, strings.Join(p.Prepare, ", "))
	}
	q, err := p.Mapped(func(x data.Matrix) (data.Matrix, error) {
		return head.Apply(x, count)
	})
	if err != nil {
		return nil, fmt.Errorf("problem %q, %w", p.Name, err)
	}
	return q, nil
}
