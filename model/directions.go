package model

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/files"
	"l2mt/data/safetensors"
)

// Directions are what experience teaches of the features themselves: where the weights
// of the training tasks lie among them.
type Directions struct {
	// M (d x r) is such that M M' is, but for what is small, the mean of w w' over the
	// training tasks, w of length one.
	M *mat.Dense
	// Signal is what data.Metric.Signal is of training problems, the median, with the
	// directions that other problems taught; 0 is unknown.
	Signal float64
	// Names says which features these are, as NamesOf has it.
	Names string
}

// Count is r, 0 of none.
func (d *Directions) Count() int {
	if d == nil {
		return 0
	}
	_, r := d.M.Dims()
	return r
}

// DirectionsFile is kept beside the weights of a network that has them.
const DirectionsFile = "directions.safetensors"

const (
	directionsName = "M"
	signalName     = "signal"
	namesKey       = "features"
)

// DirectionsOf are M for the features of a problem, or nil where the network has none
// for these.
func (n *Network) DirectionsOf(p *data.ProblemData) *mat.Dense {
	if n.Directions == nil || n.Directions.Names != NamesOf(p) {
		return nil
	}
	if d, _ := n.Directions.M.Dims(); d != p.Cols() {
		return nil
	}
	return n.Directions.M
}

// save writes directions to a directory, or removes those that another network left.
func (d *Directions) save(dir string) error {
	path := filepath.Join(dir, DirectionsFile)
	if d == nil {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	rows, cols := d.M.Dims()
	m := Tensor{Name: directionsName, Shape: []int{rows, cols}, DType: safetensors.F32, Value: slices.Clone(d.M.RawMatrix().Data)}
	signal := Tensor{Name: signalName, Shape: []int{1}, DType: safetensors.F64, Value: []float64{d.Signal}}
	file, err := safetensors.Encode([]Tensor{m, signal}, map[string]string{namesKey: d.Names})
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return files.WriteFile(path, file)
}

// LoadDirections reads those of the network in a directory, nil if it has none.
func LoadDirections(from fs.FS) (*Directions, error) {
	b, err := fs.ReadFile(from, DirectionsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	tensors, metadata, err := safetensors.Decode(b)
	if err != nil {
		return nil, err
	}
	named := func(name string, rank int) Tensor {
		i := slices.IndexFunc(tensors, func(t Tensor) bool { return t.Name == name && len(t.Shape) == rank && len(t.Value) > 0 })
		if i < 0 {
			return Tensor{}
		}
		return tensors[i]
	}
	m, signal := named(directionsName, 2), named(signalName, 1)
	if m.Value == nil || signal.Value == nil {
		return nil, fmt.Errorf("%w: it must have the tensors %q, features x directions, and %q, a number", ErrMismatch, directionsName, signalName)
	}
	for _, t := range []Tensor{m, signal} {
		if j := slices.IndexFunc(t.Value, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }); j >= 0 {
			return nil, fmt.Errorf("%w: tensor %q has %v at entry %d; it must be finite", ErrMismatch, t.Name, t.Value[j], j)
		}
	}
	return &Directions{M: mat.NewDense(m.Shape[0], m.Shape[1], m.Value), Signal: signal.Value[0], Names: metadata[namesKey]}, nil
}
