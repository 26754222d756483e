package model

import (
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"

	"l2mt/layers"
)

// This file builds the network as a graph for the shape of a problem, to which a TrainingGraph adds
// the objective.

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

// shape is the shape that one graph serves.
type shape struct {
	rows   string // of the tasks, if the body looks at them
	tasks  int
	tuples int
}

// mostPrograms bounds the memory of graphs, which have some 50 kB each beside the numbers
// that they share.
const mostPrograms = 500

// programs are the graphs of a network by shape. They run one after another, in the same
// memory.
type programs struct {
	config Config
	memory *layers.Memory
	kept   map[shape]*program

	outcomes  []float64                      // of training
	objective func(g *layers.Graph, n *core) // of training, with its gradient
}

func newPrograms(c Config) programs {
	return programs{
		config: c,
		memory: layers.NewMemory(c.DType),
		kept:   map[shape]*program{},
	}
}

// program is a compiled graph for problems of one shape.
type program struct {
	graph *layers.Graph
	slot  *layers.Slot // empty where the body does not look at rows
	parts *parts       // which embed the problems, or nil
	shape shape

	e, phi, c, f, v           *layers.Capture
	loss, residual, deviation *layers.Capture // of training
	gradient                  Params          // its values are captures
}

// program is the graph for the shape of a problem with some tuples. It is built once more where
// Gorgonia takes two operations for one by chance: among five hundred graphs of some hundred nodes
// that happens to one in a hundred runs.
func (ps *programs) program(p *Payload, tuples int) (*program, error) {
	s := shape{p.shape, p.tasks, tuples}
	kept := ps.kept[s]
	if kept != nil {
		return kept, nil
	}
	compiled, err := ps.compile(p, s)
	for repeats := 2; repeats > 0 &&
		errors.Is(err, layers.ErrAlike); repeats-- {
		compiled, err = ps.compile(p, s)
	}
	if err != nil {
		return nil, err
	}
	if len(ps.kept) == mostPrograms {
		clear(ps.kept)
	}
	ps.kept[s] = compiled
	return compiled, nil
}

// compile makes the graph for a shape.
func (ps *programs) compile(p *Payload, s shape) (compiled *program, err error) {
	compiled = &program{
		shape: s,
		slot:  &layers.Slot{Batch: p.batch},
	}
	if ps.inParts(p.tasks) {
		compiled.parts, err = newParts(ps.config, ps.memory)
		if err != nil {
			return nil, err
		}
	}
	compiled.graph, err = ps.memory.Build(func(g *layers.Graph) {
		n := newCore(g, ps, compiled)
		compiled.e = g.Capture(n.e)
		compiled.phi = g.Capture(n.phi)
		compiled.c = g.Capture(n.c)
		if n.f != nil {
			compiled.f = g.Capture(n.f)
			compiled.v = g.Capture(n.v)
		}
		if ps.objective != nil {
			ps.objective(g, n)
		}
	})
	return compiled, err
}

// core is the part that both graphs share: the inputs and
// f = <Phi, Omega> + c tr(Omega^2) and v(o) for every tuple.
type core struct {
	*programs
	program *program
	params  Inputs

	e, phi, c *layers.Node // tasks x h or tasks^2 x h, tasks x tasks, scalar
	f, v, o   *layers.Node // one entry a tuple; nil without tuples
	omega     *layers.Node // q x tasks^2
}

// newCore adds the inputs and the estimates to a graph. With parts, which embed the
// problems, E is an input.
func newCore(g *layers.Graph, ps *programs, p *program) *core {
	n := &core{
		programs: ps,
		program:  p,
		params:   ps.config.inputs(g),
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

// piece are the parameters of a kind of piece, by the names that it gave them.
func (in Inputs) piece(c Config, kind string) Inputs {
	inputs := Inputs{}
	for _, s := range c.Specs() {
		if s.piece == kind {
			inputs[s.local] = in[s.Name]
		}
	}
	return inputs
}

// named builds a registered piece and puts its name into errors.
func named(kind, name string, build func()) {
	defer func() {
		r := recover()
		if r != nil {
			err, ok := r.(error)
			if !ok {
				err = fmt.Errorf("%v", r)
			}
			panic(fmt.Errorf("%s %q: %w", kind, name, err)) // Memory.Build returns it
		}
	}()
	build()
}

// shaped checks the shape of the result of a piece.
func shaped(name string, n *layers.Node, shape ...int) {
	layers.Check(n)
	if !slices.Equal(shape, n.Shape()) {
		panic(ErrConfig.Errorf("%s has the shape %v; it must have %v", name,
			n.Shape(), shape))
	}
}

// embedding is E, which the body makes unless parts do.
func (n *core) embedding(g *layers.Graph) *layers.Node {
	rows := n.config.rows(n.program.shape.tasks)
	if n.program.parts != nil {
		return g.Input(embedded, rows, n.program.parts.width())
	}
	in := BodyInputs{
		Config: n.config,
		Slot:   n.program.slot,
	}
	in.Params = n.params.piece(n.config, "body")
	return n.config.embedding(g, rows, in)
}

// embedding is E of the body, with so many rows.
func (c Config) embedding(g *layers.Graph, rows int, in BodyInputs) (e *layers.Node) {
	body := bodies[c.Body]
	in.Statistics = Inputs{}
	for _, s := range body.Statistics {
		in.Statistics[s.Name] = g.Input(statisticName(s), rows, s.Cols)
	}
	named("body", c.Body, func() {
		e = body.Build(in)
		width := c.Hidden
		if body.Pairs && e.Dims() == 2 {
			width = e.Shape()[1]
		}
		shaped("E", e, rows, width)
	})
	return e
}

// estimator is Phi and c.
func (n *core) estimator() (phi, c *layers.Node) {
	named("estimator", n.config.Estimator, func() {
		params := n.params.piece(n.config, "estimator")
		phi, c = estimators[n.config.Estimator].Build(params, n.e)
		m := n.program.shape.tasks
		shaped("Phi", phi, m, m)
		shaped("c", c)
	})
	return phi, c
}

// link is v(o).
func (n *core) link(o *layers.Node) (v *layers.Node) {
	named("link", n.config.Link, func() {
		v = links[n.config.Link].Build(n.params.piece(n.config, "link"), o)
		shaped("v(o)", v, o.Shape()...)
	})
	return v
}

// embedded is the name of E as an input.
const embedded = "embedding"

// statisticName tells the names of statistics from the names of parameters.
func statisticName(s Statistic) string {
	return "statistic " + s.Name
}

// inputs are the values of a graph's inputs for a problem and some tuples.
func (ps *programs) inputs(
	params Params, p *Payload, tuples []Tuple) (map[string][]float64, error) {
	m := p.tasks
	inputs := params.inputs()
	for q, t := range tuples {
		if len(t.Omega) != m*m {
			return nil, ErrMismatch.Errorf("tuple %d: Omega has %d entries, but the problem %d tasks",
				q, len(t.Omega), m)
		}
		if t.O < 0 {
			return nil, ErrMismatch.Errorf("tuple %d: o is %v; a relative error is not negative", q, t.O)
		}
		inputs["o"] = append(inputs["o"], t.O)
		inputs["tr(Omega^2)"] = append(inputs["tr(Omega^2)"],
			floats.Dot(t.Omega, t.Omega))
		inputs["Omega"] = append(inputs["Omega"], t.Omega...)
	}
	if ps.outcomes != nil {
		inputs[outcomesName] = ps.outcomes
	}
	if ps.inParts(m) {
		return inputs, nil
	}
	var rows []int
	for row := range ps.config.rows(m) {
		rows = append(rows, row)
	}
	return inputs, p.addStatistics(inputs, rows)
}

// put sets the inputs of the graph for a problem and some tuples, and returns it.
func (ps *programs) put(params Params, p *Payload, tuples []Tuple) (*program, error) {
	inputs, err := ps.inputs(params, p, tuples)
	if err != nil {
		return nil, err
	}
	n, err := ps.program(p, len(tuples))
	if err != nil {
		return nil, err
	}
	n.slot.Batch = p.batch
	if n.parts != nil {
		inputs[embedded], err = n.parts.embed(params, p)
		if err != nil {
			return nil, err
		}
	}
	return n, set(n.graph, inputs)
}

// set gives a graph its inputs.
func set(g *layers.Graph, inputs map[string][]float64) error {
	for name, value := range inputs {
		err := g.Set(name, value)
		if err != nil {
			return err
		}
	}
	return nil
}
