package model

import (
	"maps"
	"slices"
	"strings"

	op "gorgonia.org/gorgonia"

	"l2mt/data"
	"l2mt/layers"
	"l2mt/model/settings"
)

// Readout turns the targets of a task's training rows into weights w_i: the
// task is embedded as the sum of w_i h_i over its rows.
type Readout func(kind data.Kind, y []float64) ([]float64, error)

// Estimator turns embeddings into the two terms of
// f(E, Omega) = <Phi, Omega> + c tr(Omega^2).
type Estimator struct {
	// Params declares the estimator's parameters; nil if there are none.
	Params func(c Config) []Spec
	// Pairs says that E has rows for pairs of tasks. The body must have the same.
	Pairs bool
	// Linear lists the entries of parameters that f is linear in (with the
	// others fixed), so that training can start them from a regression. It may
	// be empty.
	Linear []Entry
	// Build adds Phi (m x m, symmetric) and the scalar c to the graph, given E:
	// m x h, or m^2 x h with a row for every pair. Permuting the tasks in E must permute them
	// in Phi.
	Build func(p Inputs, e *layers.Node) (phi, c *layers.Node)
}

// Entry is one number of a parameter.
type Entry struct {
	Param string
	Index int
}

// Link is the monotone function v of the relative error o that f estimates.
type Link struct {
	// Params declares the link's parameters; nil if there are none.
	Params func(c Config) []Spec
	// Build adds v(o) to the graph for a vector o of positive numbers.
	Build func(p Inputs, o *layers.Node) *layers.Node
	// Direction is positive when v rises with o and negative when it falls, so
	// that a small Direction * v means a small o. It scales inference, too:
	// Phi' = Direction * Phi.
	Direction func(p Params) float64
}

// Loss is what an objective of training minimises, beside the squares of the layers' matrices.
type Loss struct {
	// Measured says that Build takes errors of the covariance found: training then measures on its
	// problems.
	Measured bool
	// Build is a scalar, of the tuples of one problem.
	Build func(in LossInputs) *layers.Node
}

// LossInputs are what the q tuples of a step came to.
type LossInputs struct {
	// F, V and O have an entry for each tuple: f(E, Omega), v(o) and o. Omega is q x m^2.
	F, V, O, Omega *layers.Node
	// Residual is the mean of |F - V|, and Deviation the standard deviation of v(o) over the
	// outcomes of training.
	Residual, Deviation *layers.Node
	// Found is the error of the covariance that the closed form finds, or nil if it is not Measured.
	Found *layers.Node
}

// Inputs are the parameters of a piece as inputs of the graph.
type Inputs map[string]*layers.Node

// Get returns a parameter. It panics if there is none of that name, which
// building the graph turns into an error.
func (in Inputs) Get(name string) *layers.Node {
	if in[name] == nil {
		panic(ErrConfig.Errorf("there is no parameter %q; declare it in Params", name))
	}
	return in[name]
}

// Number is entry i of a parameter, a vector, as a scalar.
func (in Inputs) Number(name string, i int) *layers.Node {
	return must(op.Slice(in.Get(name), op.S(i)))
}

// must is a node, or a panic that building the graph returns as an error.
var must = op.Must

func add(a, b *layers.Node) *layers.Node {
	return must(op.Add(a, b))
}
func mul(a, b *layers.Node) *layers.Node {
	return must(op.Mul(a, b))
}

// The pieces by name. They are filled by init functions alone.
var (
	bodies     = map[string]Body{}
	readouts   = map[string]Readout{}
	estimators = map[string]Estimator{}
	links      = map[string]Link{}
	objectives = map[string]Loss{}
)

// Pieces lists the names that are registered, by kind: "body", "readout", "estimator", "link" and
// "objective".
func Pieces() map[string][]string {
	return map[string][]string{
		"body": sortedKeys(bodies), "readout": sortedKeys(readouts),
		"estimator": sortedKeys(estimators), "link": sortedKeys(links),
		"objective": sortedKeys(objectives),
	}
}

// missing is the error of a name that nobody has registered.
func missing[T any](pieces map[string]T, kind, name string) error {
	_, registered := pieces[name]
	if registered {
		return nil
	}
	return ErrConfig.Errorf("model.%s is %q; it must be one of %s, or the program must import the package that registers it, as l2mt/model/pairwise does for \"pairwise\"",
		kind, name, strings.Join(sortedKeys(pieces), ", "))
}

func sortedKeys[T any](m map[string]T) []string {
	return slices.Sorted(maps.Keys(m))
}

// RegisterBody makes a body available under a name. Like the other Register
// functions it is for init alone, and panics if the name is taken.
func RegisterBody(name string, b Body) {
	settings.Register(bodies, "body", name, b)
}

// RegisterReadout makes a readout available under a name.
func RegisterReadout(name string, r Readout) {
	settings.Register(readouts, "readout", name, r)
}

// RegisterEstimator makes an estimator available under a name.
func RegisterEstimator(name string, e Estimator) {
	settings.Register(estimators, "estimator", name, e)
}

// RegisterLink makes a link available under a name.
func RegisterLink(name string, l Link) {
	settings.Register(links, "link", name, l)
}

// RegisterObjective makes an objective available under a name.
func RegisterObjective(name Objective, l Loss) {
	settings.Register(objectives, "objective", name, l)
}

// LinearEntries returns the entries of parameters that f is linear in.
func (c Config) LinearEntries() []Entry {
	entries := slices.Clone(estimators[c.Estimator].Linear)
	for _, s := range c.Specs() {
		for i, e := range entries {
			if s.piece == "estimator" && s.local == e.Param {
				entries[i].Param = s.Name
			}
		}
	}
	return entries
}

// Measures says whether training measures the covariances that are found.
func (c Config) Measures() bool {
	return objectives[c.Objective].Measured
}
