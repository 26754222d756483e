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
	// Per is the kind of the rows of E that it takes. The body must have the same.
	Per Per
	// Linear lists the entries of parameters that f is linear in (with the
	// others fixed), so that training can start them from a regression. It may
	// be empty.
	Linear []Entry
	// Build adds Phi (m x m, symmetric) and the scalar c to the graph, given E:
	// m x h, or m^2 x h with a row for every pair, where Phi may be m^2 x 1. Permuting
	// the tasks in E must permute them in Phi.
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
	// Inverse returns the o with v(o) = v, clamped to where v can lie.
	Inverse func(p Params, v float64) float64
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
func must(n *layers.Node, err error) *layers.Node { return op.Must(n, err) }
func add(a, b *layers.Node) *layers.Node          { return must(op.Add(a, b)) }
func mul(a, b *layers.Node) *layers.Node          { return must(op.Mul(a, b)) }

// Piece is a body, readout, estimator, link or objective under its name.
type Piece struct {
	// Kind is "body", "readout", "estimator", "link" or "objective".
	Kind string
	Name string
}

// Pieces lists everything that is registered, by kind and name.
func Pieces() []Piece {
	return slices.Concat(bodies.list(), readouts.list(), estimators.list(), links.list(),
		objectives.list())
}

// registry holds the pieces of one kind by name. It is filled by init functions alone.
type registry[T any] struct {
	kind  string
	piece map[string]T
}

func newRegistry[T any](kind string) *registry[T] {
	return &registry[T]{kind, map[string]T{}}
}

var (
	bodies     = newRegistry[Body]("body")
	readouts   = newRegistry[Readout]("readout")
	estimators = newRegistry[Estimator]("estimator")
	links      = newRegistry[Link]("link")
	objectives = newRegistry[Loss]("objective")
)

func (r *registry[T]) add(name string, piece T) {
	settings.Register(r.piece, r.kind, name, piece)
}

func (r *registry[T]) get(name string) T { return r.piece[name] }
func (r *registry[T]) names() []string   { return sortedKeys(r.piece) }

func (r *registry[T]) list() (pieces []Piece) {
	for _, name := range r.names() {
		pieces = append(pieces, Piece{r.kind, name})
	}
	return pieces
}

// missing is the error of a name that nobody has registered.
func (r *registry[T]) missing(name string) error {
	if name == "" || slices.Contains(r.names(), name) {
		return nil
	}
	return ErrConfig.Errorf("%s %q is not in this binary; import the package that registers it, as l2mt/model/pairwise does for \"pairwise\" (there are %s)", r.kind, name, strings.Join(r.names(), ", "))
}

func sortedKeys[T any](m map[string]T) []string {
	return slices.Sorted(maps.Keys(m))
}

// RegisterBody makes a body available under a name. Like the other Register
// functions it is for init alone, and panics if the name is taken.
func RegisterBody(name string, b Body) { bodies.add(name, b) }

// RegisterReadout makes a readout available under a name.
func RegisterReadout(name string, r Readout) { readouts.add(name, r) }

// RegisterEstimator makes an estimator available under a name.
func RegisterEstimator(name string, e Estimator) { estimators.add(name, e) }

// RegisterLink makes a link available under a name.
func RegisterLink(name string, l Link) { links.add(name, l) }

// RegisterObjective makes an objective available under a name.
func RegisterObjective(name Objective, l Loss) { objectives.add(string(name), l) }

// Bodies lists the names of the bodies.
func Bodies() []string { return bodies.names() }

// Estimators lists the names of the estimators.
func Estimators() []string { return estimators.names() }

// Readouts lists the names of the readouts.
func Readouts() []string { return readouts.names() }

// Links lists the names of the links.
func Links() []string { return links.names() }

// LinearEntries returns the entries of parameters that f is linear in.
func (c Config) LinearEntries() []Entry {
	entries := slices.Clone(estimators.get(c.Estimator).Linear)
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
func (c Config) Measures() bool { return objectives.get(string(c.Objective)).Measured }
