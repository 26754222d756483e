package model

import (
	"errors"
	"fmt"
	"strings"

	"l2mt/data/fault"
	"l2mt/layers"
	"l2mt/model/settings"
)

// Errors that callers distinguish; they come wrapped with the field, tensor or file.
var (
	// ErrConfig marks a choice that does not exist or makes no sense.
	ErrConfig = fault.New("invalid configuration")
	// ErrMismatch marks pieces that do not belong together: a payload and a
	// graph, or the files of a network.
	ErrMismatch = fault.New("network does not match")
	// ErrNotFinite marks a step whose numbers are not finite.
	ErrNotFinite = fault.New("numbers not finite")
)

// Objective is the function that training minimises.
type Objective = string

// The objectives, over the tuples of a step and with lambda sum_i ||L_i||^2 added.
const (
	// Paper is the mean of |f - v(o)|. It is least for f = v = 0.
	Paper Objective = "paper"
	// Scaled divides it by the standard deviation of v(o) over all training
	// tuples, so that shrinking both sides gains nothing.
	Scaled Objective = "scaled"
	// Found is the error of the covariance that the closed form finds, through which
	// it is differentiated, with a part of Scaled to keep f at the level of v(o).
	Found Objective = "found"
)

// Config holds every choice about a network. The zero value is not valid:
// start from a preset. Package settings reads the tags, and kong where fields are flags.
type Config struct {
	// Features is d, the number of columns of X. A body that is free of the
	// features does not look at it.
	Features int `json:"features" min:"0" kong:"-"`
	// Names says which features these are, as NamesOf has it; empty where they have no
	// names, or do not matter to the body.
	Names string `json:"names,omitempty" kong:"-"`

	Body   string `json:"body" placeholder:"lgnn" help:"What turns a problem into embeddings of its tasks: ${body}."`
	Layers int    `json:"layers" min:"1" max:"100" placeholder:"2" help:"Number s of hidden layers; with 1 the label graph is not used."`
	Hidden int    `json:"hidden" min:"1" placeholder:"200" help:"Width h of the layers and of the embeddings."`
	Free   bool   `json:"free" help:"Give each layer from the second on a matrix and a bias of its own; the paper ties them."`
	// Neighbours is k. Smaller tasks use all their rows.
	Neighbours int          `json:"k" min:"1" name:"k" placeholder:"6" help:"Number k of neighbours in the label graph."`
	Norm       layers.Norm  `json:"norm" names:"none size" placeholder:"size" help:"Scaling of the label graph: none, or size (divided by the number of rows of the task)."`
	Readout    string       `json:"readout" placeholder:"signed" help:"How the rows of a task become its embedding: ${readout}."`
	Unit       bool         `json:"unit" placeholder:"true" help:"Scale embeddings to length one; --model.unit=false leaves them."`
	Estimator  string       `json:"estimator" placeholder:"affine-kernel" help:"What turns embeddings into Phi and c: ${estimator}."`
	Link       string       `json:"link" placeholder:"tanh" help:"Function v of the relative error that is estimated: ${link}."`
	Objective  Objective    `json:"objective" placeholder:"found" help:"What training minimises: found (the error of the covariance that the network finds on a training problem), paper (the distance of f from v(o) of the tuples), scaled (this distance divided by the standard deviation of v), or an objective that the program registers."`
	Lambda     float64      `json:"lambda" min:"0" placeholder:"0.0001" help:"Strength of the penalty on the squares of the layers' matrices; 0 is no penalty."`
	DType      layers.DType `json:"dtype" names:"float32 float64" name:"dtype" placeholder:"float32" help:"Precision of the computation: float32 or float64."`
}

// Settings is the table of the configuration, section "model". The names of pieces are checked by
// Validate.
func (c *Config) Settings() settings.Table {
	return settings.New("model", c, nil)
}

// FeatureFree says that networks like this serve problems of any number of
// features.
func (c Config) FeatureFree() bool {
	return bodies[c.Body].Pairs
}

// Preset returns the configuration of that name, "default", "paper" or "pairwise", for data of the
// given number of features. The pieces of the last are in package pairwise, which has to be
// imported.
func Preset(name string, features int) (Config, error) {
	c, ok := presets[name]
	if !ok {
		return Config{}, ErrConfig.Errorf("preset is %q; it must be one of %s",
			name, strings.Join(Presets(), ", "))
	}
	c.Features = features
	return c, c.missing()
}

// Presets lists the names of the presets.
func Presets() []string {
	return sortedKeys(presets)
}

// Validate checks every field but the objective, which training alone needs (Trainable), and
// reports all faults.
func (c Config) Validate() error {
	faults := append(c.Settings().Faults(), c.missing())
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf(format, args...))
	}
	if c.Features == 0 && !c.FeatureFree() {
		fault("model.features is 0; the body %q needs at least 1", c.Body)
	}
	if c.FeatureFree() != estimators[c.Estimator].Pairs {
		fault("the body %q or the estimator %q is of pairs of tasks, but not both; they must agree", c.Body, c.Estimator)
	}
	err := errors.Join(faults...)
	if err != nil {
		return ErrConfig.Errorf("%w", err)
	}
	return nil
}

// Trainable checks the objective: networks that other programs have trained with one of their own
// serve here all the same.
func (c Config) Trainable() error {
	return missing(objectives, "objective", c.Objective)
}

// missing names the pieces that somebody has to register.
func (c Config) missing() error {
	return errors.Join(missing(bodies, "body", c.Body),
		missing(readouts, "readout", c.Readout),
		missing(estimators, "estimator", c.Estimator),
		missing(links, "link", c.Link))
}
