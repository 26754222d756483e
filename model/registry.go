package model

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"l2mt/data"
	"l2mt/layers"
)

// Readout turns the targets of a task's training rows into weights w_i: the
// task is embedded as the sum of w_i h_i over its rows.
type Readout func(kind data.Kind, y []float64) ([]float64, error)

// Estimator turns embeddings into the two terms of
// f(E, Omega) = <Phi, Omega> + c tr(Omega^2).
type Estimator struct {
	// Params declares the estimator's parameters.
	Params func(c Config) []Spec
	// Linear lists the entries of parameters that f is linear in (with the
	// others fixed), so that training can start them from a regression. It may
	// be empty.
	Linear []Entry
	// Build adds Phi (m x m, symmetric) and the scalar c to the graph, given E
	// (m x h). E has zero rows at the end when the graph serves larger
	// problems too; what Phi is there does not matter. Permuting the rows of E
	// must permute the rows and columns of Phi.
	Build func(p Inputs, e *layers.Node) (phi, c *layers.Node)
}

// Entry is one number of a parameter.
type Entry struct {
	Param string
	Index int
}

// Link is the monotone function v of the relative error o that f estimates.
type Link struct {
	// Params declares the link's parameters.
	Params func(c Config) []Spec
	// Build adds v(o) to the graph for a vector o of positive numbers.
	Build func(p Inputs, o *layers.Node) *layers.Node
	// Direction is positive when v rises with o and negative when it falls, so
	// that a small Direction * v means a small o. It scales inference, too:
	// Phi' = Direction * Phi.
	Direction func(p Params) float64
	// Inverse returns the o with v(o) = v, clamped to where v can lie.
	Inverse func(p Params, v float64) float64
}

// Inputs are the parameters of a network as inputs of its graph.
type Inputs map[string]*layers.Node

// Get returns a parameter. It panics if there is none of that name, which
// building the graph turns into an error.
func (in Inputs) Get(name string) *layers.Node {
	if in[name] == nil {
		panic(fmt.Errorf("model: %w: there is no parameter %q", ErrConfig, name))
	}
	return in[name]
}

// registry holds the pieces of one kind by name.
type registry[T any] struct {
	kind  string
	mu    sync.RWMutex
	piece map[string]T
}

var (
	readouts   = registry[Readout]{kind: "readout", piece: map[string]Readout{"mean": meanReadout, "signed": signedReadout}}
	estimators = registry[Estimator]{kind: "estimator", piece: map[string]Estimator{"kernel": kernelEstimator, "odd-kernel": oddKernelEstimator, "relu": reluEstimator, "affine": affineEstimator, "affine-kernel": affineKernelEstimator}}
	links      = registry[Link]{kind: "link", piece: map[string]Link{"tanh": tanhLink, "log": logLink}}
)

func (r *registry[T]) add(name string, piece T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.piece[name]; ok || name == "" {
		panic(fmt.Sprintf("model: %s %q is registered already, or has no name", r.kind, name))
	}
	r.piece[name] = piece
}

func (r *registry[T]) get(name string) T {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.piece[name]
}

func (r *registry[T]) names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return sortedKeys(r.piece)
}

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// RegisterReadout makes a readout available under a name. Like the other
// Register functions it is meant for init, and panics if the name is taken.
func RegisterReadout(name string, r Readout) { readouts.add(name, r) }

// RegisterEstimator makes an estimator available under a name.
func RegisterEstimator(name string, e Estimator) { estimators.add(name, e) }

// RegisterLink makes a link available under a name.
func RegisterLink(name string, l Link) { links.add(name, l) }

// Readouts lists the names of the readouts.
func Readouts() []string { return readouts.names() }

// Estimators lists the names of the estimators.
func Estimators() []string { return estimators.names() }

// Links lists the names of the links.
func Links() []string { return links.names() }

// LinearEntries returns the entries of parameters that f is linear in.
func (c Config) LinearEntries() []Entry { return estimators.get(c.Estimator).Linear }
