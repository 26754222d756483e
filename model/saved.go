package model

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/mat"

	"l2mt/data/files"
	"l2mt/data/safetensors"
	"l2mt/layers"
)

// Network is a configuration with parameters.
type Network struct {
	Config Config `json:"config"`
	Params Params `json:"-"`
	// Sigma is what the rows of the experience have taught, or nil.
	Sigma *Sigma `json:"-"`
	// Provenance says how the network was trained, in the trainer's own words: experience, seed, epoch, versions. It may be empty.
	Provenance map[string]string `json:"provenance,omitempty"`
}

// NewNetwork returns an untrained network.
func NewNetwork(c Config, seed uint64) (*Network, error) {
	err := c.Validate()
	if err != nil {
		return nil, err
	}
	for _, s := range c.Specs() {
		size := layers.Shape(s.Shape).TotalSize()
		if s.Start != nil && len(s.Start) != size {
			return nil, ErrMismatch.Errorf("parameter %q starts with %d numbers; its shape %v has %d",
				s.Name, len(s.Start), s.Shape, size)
		}
	}
	return &Network{
		Config: c,
		Params: NewParams(c, seed),
	}, nil
}

// Direction is the link's direction: minimising Direction * f minimises the
// estimated relative error. Inference uses Phi' = Direction * Phi and
// rho = Direction * c.
func (n *Network) Direction() float64 {
	return n.Config.direction(n.Params)
}

func (c Config) direction(p Params) float64 {
	var params Params // by the names that the link gave them
	for i, s := range c.Specs() {
		if s.piece == "link" {
			t := p[i]
			t.Name = s.local
			params = append(params, t)
		}
	}
	return links[c.Link].Direction(params)
}

// FeatureMap gives parameters a map M to begin with (d x k, k at most h/2): embeddings have
// about the inner products of the readout's x M. It is nil where there is no place for one.
func (n *Network) FeatureMap() func(m *mat.Dense) {
	mapped := slices.DeleteFunc(n.Config.Specs(), func(s Spec) bool {
		return !s.FeatureMap
	})
	if len(mapped) == 0 {
		return nil
	}
	return func(m *mat.Dense) {
		for _, s := range mapped {
			s.setFeatureMap(n.Params.Get(s.Name), m)
		}
	}
}

// A network is saved as a directory: its weights, which carry the configuration, and
// config.json, which is for people.
const (
	ConfigFile  = "config.json"
	WeightsFile = "weights.safetensors"

	configSchema = 2
	configKey    = "network" // in the metadata, for the text of config.json
)

type configFile struct {
	Schema int `json:"schema"`
	Network
}

// Save writes the network to a directory, which is made if need be. Each file
// replaces the old one at once. Parameters are rounded to the precision of the
// configuration, in which the graphs see them anyway.
func (n *Network) Save(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(
		configFile{configSchema, *n}, "", "  ")
	if err != nil {
		return err
	}
	metadata := map[string]string{configKey: string(text)}
	stored := slices.Clone(n.Params)
	for i := range stored {
		stored[i].DType = n.Config.storage()
	}
	stored, err = n.Sigma.save(stored, metadata)
	if err != nil {
		return err
	}
	if err := safetensors.Write(filepath.Join(dir, WeightsFile),
		stored, metadata); err != nil {
		return err
	}
	return files.WriteFile(filepath.Join(dir, ConfigFile), append(text, '\n'))
}

// Load reads a network that Save wrote, and checks that its files are whole,
// belong together and hold finite numbers. All mismatches are named.
func Load(dir string) (*Network, error) {
	return read(os.DirFS(dir), dir)
}

// LoadFS is Load from a file system, such as one that a program embeds.
func LoadFS(from fs.FS) (*Network, error) {
	return read(from, "")
}

// read reads a network. Errors call the file system dir.
func read(from fs.FS, dir string) (n *Network, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", filepath.Join(dir, WeightsFile), err)
		}
	}()
	b, err := fs.ReadFile(from, WeightsFile)
	if err != nil {
		return nil, err
	}
	tensors, metadata, err := safetensors.Decode(b)
	if err != nil {
		return nil, err
	}
	var file configFile
	n = &file.Network
	err = files.DecodeSchema([]byte(metadata[configKey]), configSchema, &file)
	err = cmp.Or(err, n.Config.Validate())
	if err != nil {
		return nil, ErrConfig.Errorf("metadata %q: %w", configKey, err)
	}
	n.Sigma, tensors, err = takeSigma(tensors, metadata[sigmaKey])
	if err != nil {
		return nil, err
	}
	n.Params, err = arrange(n.Config, tensors)
	return n, err
}

// arrange puts tensors into the order of the configuration's parameters, and
// reports tensors that are missing, left over, or not of the right kind.
func arrange(c Config, tensors []Tensor) (p Params, err error) {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, ErrMismatch.Errorf(format, args...))
	}
	rest := map[string]Tensor{}
	for _, t := range tensors {
		rest[t.Name] = t
	}
	for _, s := range c.Specs() {
		t, found := rest[s.Name]
		delete(rest, s.Name)
		switch bad := layers.NotFinite(t.Value); {
		case !found:
			fault("there is no tensor %q", s.Name)
		case !slices.Equal(t.Shape, s.Shape):
			fault("tensor %q has shape %v; it must have %v", t.Name,
				t.Shape, s.Shape)
		case t.DType != c.storage():
			fault("tensor %q has dtype %s; it must have %s", t.Name,
				t.DType, c.storage())
		case bad >= 0:
			fault("tensor %q has %v at entry %d; it must be finite", t.Name,
				t.Value[bad], bad)
		}
		p = append(p, t)
	}
	for _, name := range sortedKeys(rest) {
		fault("there is a tensor %q, which the configuration does not have", name)
	}
	return p, errors.Join(faults...)
}

// storage is the precision of the parameters in a file.
func (c Config) storage() safetensors.DType {
	if c.DType == layers.Float64 {
		return safetensors.F64
	}
	return safetensors.F32
}
