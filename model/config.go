package model

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"l2mt/layers"
)

// Errors that callers tell apart; they come wrapped with the field, tensor or file.
var (
	// ErrConfig marks a choice that does not exist or makes no sense.
	ErrConfig = errors.New("invalid configuration")
	// ErrMismatch marks pieces that do not belong together: a payload and a
	// graph, or the files of a network.
	ErrMismatch = errors.New("network does not match")
)

// Objective is what training minimises.
type Objective string

// The objectives, over the tuples of a step and with lambda sum_i ||L_i||^2 added.
const (
	// Paper is the mean of |f - v(o)|. Its least value is that of f = v = 0.
	Paper Objective = "paper"
	// Scaled divides it by the standard deviation of v(o) over all training
	// tuples, so that shrinking both sides gains nothing.
	Scaled Objective = "scaled"
	// Slopes adds to Scaled how far the slope of f is from that of v(o) at the
	// tuples that have one: m(m+1)/2 numbers a tuple instead of one.
	Slopes Objective = "slopes"
)

// Config holds every choice about a network. The zero value is not valid:
// start from a preset.
type Config struct {
	// Features is d, the number of columns of X. A body that is free of the
	// features does not look at it.
	Features int `json:"features"`
	// Head has the widths of the fully connected layers in front of the network,
	// as "1280-1000"; the last is Features. It is empty where there are none.
	Head string `json:"head,omitempty"`
	// Body names what turns a problem into embeddings.
	Body string `json:"body"`
	// Layers is s, the number of hidden layers; with 1 the label graph is not used.
	Layers int `json:"layers"`
	// Hidden is h, the width of the layers and of the embeddings.
	Hidden int `json:"hidden"`
	// Free gives each of the layers 2..s a matrix and a bias of its own; the
	// zero value ties them, as the paper does.
	Free bool `json:"free"`
	// Activation is the nonlinearity of the layers; the paper's is relu.
	Activation layers.Activation `json:"activation"`
	// Neighbours is k of the label graph. Smaller tasks use all their rows.
	Neighbours int `json:"k"`
	// Norm scales the aggregation over the label graph.
	Norm layers.Norm `json:"norm"`
	// Readout names how the rows of a task become its embedding.
	Readout string `json:"readout"`
	// Unit scales the embeddings to length 1; the zero value does not.
	Unit bool `json:"unit"`
	// Estimator names what turns embeddings into Phi and c.
	Estimator string `json:"estimator"`
	// Link names v.
	Link string `json:"link"`
	// Objective is what training minimises.
	Objective Objective `json:"objective"`
	// Lambda weighs the squares of the layers' matrices; 0 leaves them free.
	Lambda float64 `json:"lambda"`
	// DType is the precision of the computation.
	DType layers.DType `json:"dtype"`
}

// presets are the configurations with a name. Features is left to the caller.
var presets = map[string]Config{
	// The paper to the letter (sections 3.2, 3.3 and 4).
	"paper": {
		Body: "lgnn", Layers: 2, Hidden: 50, Activation: layers.ActReLU, Neighbours: 6, Norm: layers.NormNone,
		Readout: "mean", Estimator: "kernel", Link: "tanh",
		Objective: Paper, Lambda: 0.1, DType: layers.Float32,
	},
	// What works best by measurement.
	"default": {
		Body: "lgnn", Layers: 2, Hidden: 200, Activation: layers.ActReLU, Neighbours: 6, Norm: layers.NormSize,
		Readout: "signed", Unit: true, Estimator: "affine-kernel", Link: "tanh",
		Objective: Scaled, Lambda: 1e-4, DType: layers.Float32,
	},
	// One network for problems of any features.
	"pairwise": {
		Body: "pairwise", Layers: 1, Hidden: 16, Activation: layers.ActReLU, Neighbours: 6, Norm: layers.NormSize,
		Readout: "signed", Estimator: "pairs", Link: "tanh",
		Objective: Slopes, Lambda: 1e-4, DType: layers.Float64,
	},
}

// FeatureFree says that networks like this serve problems of any number of
// features.
func (c Config) FeatureFree() bool { return bodies.get(c.Body).FeatureFree }

// Preset returns the configuration of that name, "default" or "paper", for
// data of the given number of features.
func Preset(name string, features int) (Config, error) {
	c, ok := presets[name]
	if !ok {
		return Config{}, choice("preset", name, Presets())
	}
	c.Features = features
	return c, nil
}

// Presets lists the names of the presets.
func Presets() []string { return sortedKeys(presets) }

// maxLayers keeps a damaged configuration from building a graph without end.
const maxLayers = 100

// Validate checks every field and reports all faults.
func (c Config) Validate() error {
	var faults []error
	positive := func(field string, v int) {
		if v < 1 {
			faults = append(faults, fmt.Errorf("model: %w: %s is %d; it must be at least 1", ErrConfig, field, v))
		}
	}
	among := func(field, v string, names []string) {
		if !slices.Contains(names, v) {
			faults = append(faults, choice(field, v, names))
		}
	}
	if !c.FeatureFree() {
		positive("features", c.Features)
	}
	if c.Head != "" && !strings.HasSuffix(c.Head, fmt.Sprint("-", c.Features)) {
		faults = append(faults, fmt.Errorf("model: %w: head is %q, but features %d; a head makes as many features as the network takes", ErrConfig, c.Head, c.Features))
	}
	positive("layers", c.Layers)
	if c.Layers > maxLayers {
		faults = append(faults, fmt.Errorf("model: %w: layers is %d; it must be at most %d", ErrConfig, c.Layers, maxLayers))
	}
	positive("hidden", c.Hidden)
	positive("k", c.Neighbours)
	among("activation", string(c.Activation), texts(layers.Activations()))
	among("norm", string(c.Norm), texts([]layers.Norm{layers.NormNone, layers.NormSize}))
	among("body", c.Body, Bodies())
	among("readout", c.Readout, Readouts())
	among("estimator", c.Estimator, Estimators())
	among("link", c.Link, Links())
	among("objective", string(c.Objective), texts([]Objective{Paper, Scaled, Slopes}))
	among("dtype", string(c.DType), texts([]layers.DType{layers.Float32, layers.Float64}))
	if body, estimator := bodies.get(c.Body).Per, estimators.get(c.Estimator).Per; body != estimator {
		faults = append(faults, fmt.Errorf("model: %w: the body %q makes a row for every %s, but the estimator %q takes one for every %s; they must agree", ErrConfig, c.Body, body, c.Estimator, estimator))
	}
	if c.Lambda < 0 || math.IsNaN(c.Lambda) || math.IsInf(c.Lambda, 0) {
		faults = append(faults, fmt.Errorf("model: %w: lambda is %v; it must be finite and not negative", ErrConfig, c.Lambda))
	}
	return errors.Join(faults...)
}

// missing names the pieces that somebody has to register.
func (c Config) missing() error {
	return errors.Join(bodies.missing(c.Body), readouts.missing(c.Readout), estimators.missing(c.Estimator), links.missing(c.Link))
}

// choice is the error of a name that is not among the valid ones.
func choice(field, name string, valid []string) error {
	return fmt.Errorf("model: %w: %s is %q; it must be one of %s", ErrConfig, field, name, strings.Join(valid, ", "))
}

func texts[S ~string](names []S) []string {
	t := make([]string, len(names))
	for i, n := range names {
		t[i] = string(n)
	}
	return t
}
