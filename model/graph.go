package model

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"

	"l2mt/layers"
)

// This file builds the network as a graph. TrainingGraph and Forward differ in
// their captures only.

// Capacity is the size of the largest problem that a graph serves.
type Capacity struct {
	// Rows and Tasks of a problem, and Tuples evaluated on it at once.
	Rows, Tasks, Tuples int
}

// atLeast returns the capacity that holds both. Gorgonia takes vectors of one
// element for scalars now and then, so no dimension goes below two.
func (a Capacity) atLeast(b Capacity) Capacity {
	return Capacity{
		max(2, a.Rows, b.Rows),
		max(2, a.Tasks, b.Tasks),
		max(2, a.Tuples, b.Tuples),
	}
}

// Tuple is a covariance tried on a problem and the relative error o that came
// of it. The problem is given separately, as a Payload.
type Tuple struct {
	// Omega is m x m, row-major, symmetric, with trace 1.
	Omega []float64
	// O is the test error divided by the error of single-task learning.
	O float64
	// Lambda1 belongs to the refit with the error O; 0 if it is not known.
	Lambda1 float64
}

// core is the part that both graphs share: the inputs and
// f = <Phi, Omega> + c tr(Omega^2) and v(o) for every tuple.
type core struct {
	config Config
	size   Capacity
	slot   *layers.Slot
	head   layers.Head // the layers of the head that are in the graph
	params Inputs
	parts  *parts

	weights   layers.Nodes // of the head: W, b, W, b, ...
	e, phi, c *layers.Node // tasks x h or tasks^2 x h, tasks x tasks, scalar
	f, v      *layers.Node // one entry a tuple

	omega, squares, o []float64 // of Put, kept to avoid garbage
}

// newCore adds the inputs and the estimates to a graph. With parts, which embed the
// problems, E is an input.
func newCore(g *layers.Graph, config Config, size Capacity, head layers.Head, parts *parts) *core {
	n := &core{
		config: config, size: size, head: head, params: config.inputs(g), parts: parts,
		slot:    layers.NewSlot("problem", size.Rows, size.Tasks),
		omega:   make([]float64, size.Tuples*size.Tasks*size.Tasks),
		squares: make([]float64, size.Tuples),
		o:       make([]float64, size.Tuples),
	}
	n.estimates(g)
	return n
}

// inputs are the parameters in a graph.
func (c Config) inputs(g *layers.Graph) Inputs {
	params := Inputs{}
	for _, s := range c.Specs() {
		params[s.Name] = g.Input(s.Name, s.Shape...)
	}
	return params
}

// named builds a registered piece and puts its name into errors.
func named(kind, name string, build func()) {
	defer func() {
		if r := recover(); r != nil {
			err, ok := r.(error)
			if !ok {
				err = fmt.Errorf("%v", r)
			}
			panic(fmt.Errorf("%s %q: %w", kind, name, err)) // layers.Build returns it
		}
	}()
	build()
}

// shaped checks the result of a piece, which must have one of the shapes.
func shaped(name string, n *layers.Node, shapes ...[]int) {
	layers.Check(n)
	fits := func(s []int) bool { return slices.Equal(s, n.Shape()) }
	if !slices.ContainsFunc(shapes, fits) {
		panic(ErrConfig.Errorf("%s has the shape %v; it must have %v", name, layers.Shape(n.Shape()), shapes[0]))
	}
}

// embedding is E, which the body makes unless parts do.
func (n *core) embedding(g *layers.Graph) *layers.Node {
	rows := func(per Per) int { return per.rows(n.size.Tasks) }
	if n.parts != nil {
		return g.Input(embedded, rows(PerPair), n.parts.width())
	}
	in := BodyInputs{Config: n.config, Params: n.params, Slot: n.slot}
	in.features = n.features(g)
	return n.config.embedding(g, rows, in)
}

// embedding is E of the body, whose matrices have so many rows.
func (c Config) embedding(
	g *layers.Graph, rows func(Per) int, in BodyInputs) (e *layers.Node) {
	body := bodies.get(c.Body)
	in.Statistics = Inputs{}
	for _, s := range body.Statistics {
		in.Statistics[s.Name] = g.Input(statisticName(s), rows(s.Per), s.Cols)
	}
	named("body", c.Body, func() {
		e = body.Build(in)
		width := c.Hidden
		if body.Per == PerPair && e.Dims() == 2 {
			width = e.Shape()[1]
		}
		shaped("E", e, []int{rows(body.Per), width})
	})
	return e
}

// estimator is Phi and c.
func (n *core) estimator() (phi, c *layers.Node) {
	named("estimator", n.config.Estimator, func() {
		phi, c = estimators.get(n.config.Estimator).Build(n.params, n.e)
		m := n.size.Tasks
		shaped("Phi", phi, []int{m, m}, []int{m * m, 1})
		shaped("c", c, nil)
	})
	return phi, c
}

// link is v(o).
func (n *core) link(o *layers.Node) (v *layers.Node) {
	named("link", n.config.Link, func() {
		v = links.get(n.config.Link).Build(n.params, o)
		shaped("v(o)", v, o.Shape())
	})
	return v
}

// embedded is the name of E as an input.
const embedded = "embedding"

// features puts the rows in the slot through the layers of the head, and makes the
// label graph of the result:
//
//	F = ReLU(... ReLU(X W_1 + 1 b_1') ...) W_k + 1 b_k'
//
// It is nil without layers, for X itself.
func (n *core) features(g *layers.Graph) (f *layers.Node) {
	for i, l := range n.head {
		w := g.Shared(fmt.Sprint("head.W", i), l.W, l.In, l.Out)
		b := g.Shared(fmt.Sprint("head.b", i), l.B, l.Out)
		n.weights = append(n.weights, w, b)
		in := BodyInputs{Config: Config{Features: l.In}, Slot: n.slot, features: f}
		f = layers.Activate(n.slot, i < len(n.head)-1, b, in.Product(w)) // n x out
	}
	if f != nil && n.config.usesGraph() {
		f = layers.Regraph(n.slot, n.config.Neighbours, f) // n x d
	}
	return f
}

// statisticName tells the names of statistics from the names of parameters.
func statisticName(s Statistic) string { return "statistic " + s.Name }

// put sets the inputs: parameters, payload and tuples. Unused entries of the
// tuples hold Omega = 0 and o = 1.
func (n *core) put(g *layers.Graph, params Params, p *Payload, tuples []Tuple) error {
	if err := p.fits(below(n.config, n.head)); err != nil {
		return err
	}
	if err := params.matches(n.config); err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	if len(tuples) > n.size.Tuples {
		return ErrMismatch.Errorf("there are %d tuples; the graph takes up to %d", len(tuples), n.size.Tuples)
	}
	if p.batch != nil {
		if err := n.slot.Put(p.batch); err != nil {
			return err
		}
	}
	m := p.Tasks()
	tasks := n.size.Tasks
	if m > tasks {
		return ErrMismatch.Errorf("the problem has %d tasks; the graph takes up to %d", m, tasks)
	}
	if err := n.putProblem(g, params, p); err != nil {
		return err
	}
	for _, t := range params {
		if err := g.Set(t.Name, t.Value); err != nil {
			return err
		}
	}
	clear(n.omega)
	clear(n.squares)
	for q := range n.o {
		n.o[q] = 1
	}
	for q, t := range tuples {
		if len(t.Omega) != m*m {
			return ErrMismatch.Errorf("tuple %d: Omega has %d entries, but the problem %d tasks", q, len(t.Omega), m)
		}
		if t.O < 0 {
			return ErrMismatch.Errorf("tuple %d: o is %v; a relative error is not negative", q, t.O)
		}
		n.o[q] = t.O
		n.squares[q] = floats.Dot(t.Omega, t.Omega)
		PerPair.move(n.omega[q*tasks*tasks:], tasks, t.Omega, m, 1)
	}
	inputs := map[string][]float64{"Omega": n.omega, "tr(Omega^2)": n.squares, "o": n.o}
	for name, value := range inputs {
		if err := g.Set(name, value); err != nil {
			return err
		}
	}
	return nil
}

// putProblem sets the statistics of the body, or the embedding that parts make of them.
func (n *core) putProblem(g *layers.Graph, params Params, p *Payload) error {
	body := bodies.get(n.config.Body)
	set := func(name string, value []float64, per Per, cols int) error {
		v := make([]float64, per.rows(n.size.Tasks)*cols)
		per.move(v, n.size.Tasks, value, p.Tasks(), cols)
		return g.Set(name, v)
	}
	if n.parts != nil {
		e, err := n.parts.embed(params, p)
		if err != nil {
			return err
		}
		return set(embedded, e, PerPair, n.parts.width())
	}
	for i, s := range body.Statistics {
		rows := p.statistics[i](nil, 0, s.Per.rows(p.Tasks()))
		if err := set(statisticName(s), rows, s.Per, s.Cols); err != nil {
			return err
		}
	}
	return nil
}
