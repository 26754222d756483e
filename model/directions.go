package model

import (
	"encoding/json"
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
	// Features are the names of the features, or nil where these have none.
	Features []string
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

// DirectionsOf are M for the features of a problem, in the order that these have there, or nil
// where the network has none for these.
func (n *Network) DirectionsOf(p *data.ProblemData) *mat.Dense {
	if n.Directions == nil {
		return nil
	}
	return n.Directions.of(p)
}

func (d *Directions) of(p *data.ProblemData) *mat.Dense {
	rows, cols := d.M.Dims()
	if p.Cols() != rows || len(p.Features) != len(d.Features) {
		return nil
	}
	if slices.Equal(p.Features, d.Features) {
		return d.M
	}
	at := map[string]int{}
	for i, name := range d.Features {
		at[name] = i
	}
	m := mat.NewDense(rows, cols, nil)
	for i, name := range p.Features {
		row, known := at[name]
		if !known {
			return nil
		}
		delete(at, name) // which cannot come twice
		m.SetRow(i, d.M.RawRowView(row))
	}
	return m
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
	names, err := json.Marshal(d.Features)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	file, err := safetensors.Encode([]Tensor{m, signal}, map[string]string{namesKey: string(names)})
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
	d := &Directions{M: mat.NewDense(m.Shape[0], m.Shape[1], m.Value), Signal: signal.Value[0]}
	if err := json.Unmarshal([]byte(metadata[namesKey]), &d.Features); err != nil || d.Features != nil && len(d.Features) != m.Shape[0] {
		return nil, fmt.Errorf("%w: %q of its metadata must be a JSON list of the %d names, or null", ErrMismatch, namesKey, m.Shape[0])
	}
	return d, nil
}
