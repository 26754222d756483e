package layers

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"l2mt/data/fault"
	"l2mt/layers/linalg"
)

// DType is the precision that a graph computes in.
type DType string

// The precisions.
const (
	Float32 DType = "float32"
	Float64 DType = "float64"
)

// ErrGraph marks a graph that cannot be built or run.
var ErrGraph = fault.New("invalid graph")

// ErrAlike marks nodes that Gorgonia takes for one, as their 32-bit hashes are equal by chance.
// The next graph in the same memory has other hashes.
var ErrAlike = fault.New("nodes alike")

// Graph is a graph compiled for the shapes of its inputs and slots, with captured
// results. Numbers go in and out as float64 slices in both precisions. Graphs that share a
// Memory must be used by one goroutine at a time; others may run side by side.
type Graph struct {
	memory   *Memory
	size     int // of the memory that it needs
	expr     *gorgonia.ExprGraph
	inputs   map[string]place
	places   map[*Node]place // until it is compiled
	captures []*Capture
	steps    []step
	running  string // the step of a run
}

// Memory has the numbers of graphs that run one after another. The inputs of a
// graph stay until another one is built or runs.
type Memory struct {
	dtype  tensor.Dtype
	single []float32
	double []float64
	salt   string // before the names of inputs, on which all hashes depend
}

// NewMemory returns memory for graphs of a precision.
func NewMemory(dtype DType) *Memory {
	if dtype == Float64 {
		return &Memory{dtype: tensor.Float64}
	}
	return &Memory{dtype: tensor.Float32}
}

// place is where a node has its numbers in the memory, a matrix.
type place struct{ from, rows, cols int }

// viewAt is a place in the memory.
func viewAt[T Float](memory []T, p place) View[T] {
	size := p.rows * p.cols
	return View[T]{p.rows, p.cols, memory[p.from:][:size]}
}

// step is an operation of a run, with the places of its operands and its result.
type step struct {
	name string
	body any // Body[T] in the precision
	in   []place
	out  place
}

// building guards everything that touches Gorgonia's package-level state: its
// constants and type pools are shared by all graphs under construction.
var building sync.Mutex

// Build makes a graph. Define adds its inputs, operations and captures; the
// graph is then cut down to what the captures need, and compiled.
func (m *Memory) Build(define func(g *Graph)) (*Graph, error) {
	return m.build(define, (*Graph).compile)
}

// Express defines a graph for a machine of Gorgonia's, with values for its inputs.
func (m *Memory) Express(
	values map[string][]float64, define func(g *Graph)) (*gorgonia.ExprGraph, error) {
	g, err := m.build(define, func(g *Graph) error {
		for n := range g.places {
			numbers := values[strings.TrimPrefix(n.Name(), m.salt)]
			value := newValue(n.Shape(), slices.Clone(numbers))
			if m.dtype == tensor.Float32 {
				single := make([]float32, len(numbers))
				convert(single, numbers)
				value = newValue(n.Shape(), single)
			}
			err := gorgonia.Let(n, value)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return g.expr, nil
}

func (m *Memory) build(
	define func(g *Graph), finish func(*Graph) error) (graph *Graph, err error) {
	g := &Graph{
		memory: m,
		expr:   gorgonia.NewGraph(),
	}
	g.inputs = map[string]place{}
	g.places = map[*Node]place{}
	building.Lock()
	defer building.Unlock()
	defer func() {
		if errors.Is(err, ErrAlike) {
			m.salt += "'"
		}
		if err != nil {
			err = ErrGraph.Errorf("%w", err)
		}
	}()
	defer recoverTo(&err)
	if _, err := linalg.Select(); err != nil {
		return nil, err
	}
	define(g)
	err = distinct(g.expr.AllNodes())
	if err != nil {
		return nil, err
	}
	return g, finish(g)
}

// distinct refuses nodes of equal hash, which has 32 bits: Gorgonia merges their results without
// looking at the nodes. Of constants it has some of its own, which are equal.
func distinct(nodes gorgonia.Nodes) error {
	known := map[uint32]*Node{}
	for _, n := range nodes {
		hash := n.Hashcode()
		twin := known[hash]
		constant := kindOf(n) == "constantScalar"
		if twin != nil &&
			!(constant && gorgonia.ValueEq(n.Value(), twin.Value())) {
			return ErrAlike.Errorf("nodes %v and %v have the same identity; give one another name", twin, n)
		}
		known[hash] = n
	}
	return nil
}

// compile lists the operations that the captures need, operands first. It takes the
// place of Gorgonia's machine, which throws all memory away between two runs.
func (g *Graph) compile() error {
	for _, c := range g.captures {
		g.visit(c.node)
		c.place = g.places[c.node]
		c.node = nil
	}
	g.places = nil // the steps are all that runs
	g.expr = nil
	if g.memory.dtype == tensor.Float64 {
		g.memory.double = roomFor(g.memory.double, g.size)
	} else {
		g.memory.single = roomFor(g.memory.single, g.size)
	}
	return nil
}

// visit adds the step of a node, after the steps of its operands.
func (g *Graph) visit(n *Node) {
	_, done := g.places[n]
	if done {
		return
	}
	op := operationOf(n)
	s := step{
		name: op.Name,
		body: op.F32,
	}
	if g.memory.dtype == tensor.Float64 {
		s.body = op.F64
	}
	for _, operand := range operandsOf(n) {
		g.visit(operand)
		s.in = append(s.in, g.places[operand])
	}
	s.out = g.newPlace(n)
	g.steps = append(g.steps, s)
}

// newPlace gives a node a part of the memory.
func (g *Graph) newPlace(n *Node) place {
	rows, cols := matrix(n.Shape())
	p := place{
		from: g.size,
		rows: rows,
		cols: cols,
	}
	g.size += rows * cols
	g.places[n] = p
	return p
}

// roomFor is memory for so many numbers.
func roomFor[T Float](memory []T, size int) []T {
	if len(memory) < size {
		return make([]T, size)
	}
	return memory
}

func operandsOf(n *Node) (operands Nodes) {
	for from := n.Graph().From(n.ID()); from.Next(); {
		operands = append(operands, from.Node().(*Node))
	}
	return operands
}

// Input adds an input, a vector or a matrix.
func (g *Graph) Input(name string, shape ...int) *Node {
	_, exists := g.inputs[name]
	fit(!exists, "input %q exists already", name)
	fit(len(shape) == 1 || len(shape) == 2,
		"input %q has %d dimensions; it must have 1 or 2", name, len(shape))
	n := gorgonia.NewTensor(g.expr, g.memory.dtype, len(shape),
		gorgonia.WithShape(shape...), gorgonia.WithName(g.memory.salt+name))
	g.inputs[name] = g.newPlace(n)
	return n
}

// Set gives an input its numbers, row-major. Fewer numbers than the input
// holds leave the rest zero.
func (g *Graph) Set(name string, value []float64) error {
	p, exists := g.inputs[name]
	if !exists {
		return ErrGraph.Errorf("it has no input %q", name)
	}
	size := p.rows * p.cols
	if len(value) > size {
		return ErrGraph.Errorf("input %q holds %d numbers, not %d",
			name, size, len(value))
	}
	if g.memory.dtype == tensor.Float64 {
		set(g.memory.double, p, value)
	} else {
		set(g.memory.single, p, value)
	}
	return nil
}

func set[T Float](memory []T, p place, value []float64) {
	to := viewAt(memory, p).Data
	convert(to, value)
	clear(to[len(value):])
}

// Capture is a result that outlives the run.
type Capture struct {
	// Value holds the numbers of the last run, row-major.
	Value []float64
	node  *Node
	place place
}

// Capture makes the value of n available after a run, in double precision.
func (g *Graph) Capture(n *Node) *Capture {
	c := &Capture{
		Value: make([]float64, n.Shape().TotalSize()),
		node:  n,
	}
	g.captures = append(g.captures, c)
	return c
}

// Check panics if an operation in the graph of a node is refused, before Gorgonia stumbles over it.
func Check(n *Node) {
	for _, n := range n.Graph().AllNodes() {
		if n.Op() != nil {
			name := operationOf(n).Name
			fit(name != outer, "operation OuterProd: Gorgonia's gradient of it is wrong; take Mul of matrices")
		}
	}
}

// Gradient adds the gradient of a scalar with respect to inputs. It is to be
// asked for once, with all inputs.
func Gradient(loss *Node, inputs ...*Node) Nodes {
	Check(loss)
	grads, err := gorgonia.Grad(loss, inputs...)
	if err != nil {
		panic(fmt.Errorf("gradient: %w", err))
	}
	return grads
}

// Constant is a number in the precision of a node.
func Constant(like *Node, v float64) *Node {
	if like.Dtype() == tensor.Float64 {
		return gorgonia.NewConstant(v)
	}
	return gorgonia.NewConstant(float32(v))
}

// Run computes the captures from the inputs and the slots. A panic of an operation
// becomes an error.
func (g *Graph) Run() (err error) {
	defer func() {
		if err != nil { // callers may look for its cause, say a cancelled context
			err = fmt.Errorf("run: operation %s: %w", g.running, err)
		}
	}()
	defer recoverTo(&err)
	if g.memory.dtype == tensor.Float64 {
		run(g, g.memory.double)
	} else {
		run(g, g.memory.single)
	}
	return nil
}

func run[T Float](g *Graph, memory []T) {
	var in []View[T]
	for _, s := range g.steps {
		g.running = s.name
		in = in[:0]
		for _, p := range s.in {
			in = append(in, viewAt(memory, p))
		}
		s.body.(Body[T])(viewAt(memory, s.out), in)
	}
	for _, c := range g.captures {
		convert(c.Value, viewAt(memory, c.place).Data)
	}
}

// NotFinite is the name of the first operation whose result in the last run is not finite.
func (g *Graph) NotFinite() string {
	for _, s := range g.steps {
		bad := -1
		if g.memory.dtype == tensor.Float64 {
			bad = NotFinite(viewAt(g.memory.double, s.out).Data)
		} else {
			bad = NotFinite(viewAt(g.memory.single, s.out).Data)
		}
		if bad >= 0 {
			return s.name
		}
	}
	return ""
}

// NotFinite is the index of the first NaN or infinity, or -1.
func NotFinite[T Float](x []T) int {
	for i, v := range x {
		f := float64(v)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return i
		}
	}
	return -1
}

// convert copies numbers to another precision.
func convert[T, S Float](to []T, from []S) {
	for i, v := range from {
		to[i] = T(v)
	}
}
