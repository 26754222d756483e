package layers

import (
	"errors"
	"fmt"
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

// Graph is a compiled graph with named inputs and captured results. Numbers go
// in and out as float64 slices in both precisions. A Graph must be used by
// one goroutine at a time; different graphs may run side by side.
type Graph struct {
	dtype    tensor.Dtype
	expr     *gorgonia.ExprGraph
	inputs   map[string]*Node
	captures Nodes
	refresh  []func() // before every run, where shared numbers need a copy
	steps    []step
	values   []gorgonia.Value // of the nodes, in the order of the steps
}

// building guards everything that touches Gorgonia's package-level state: its
// constants and type pools are shared by all graphs under construction.
var building sync.Mutex

// Build makes a graph. Define adds its inputs, operations and captures; the
// graph is then cut down to what the captures need, and compiled.
func Build(dtype DType, define func(g *Graph)) (graph *Graph, err error) {
	g := &Graph{expr: gorgonia.NewGraph(), inputs: map[string]*Node{}}
	switch dtype {
	case Float32:
		g.dtype = tensor.Float32
	case Float64:
		g.dtype = tensor.Float64
	default:
		return nil, ErrGraph.Errorf("precision %q is not one of %q, %q", dtype, Float32, Float64)
	}
	building.Lock()
	defer building.Unlock()
	defer func() {
		if err != nil {
			graph = nil
			err = ErrGraph.Errorf("%w", err)
		}
	}()
	defer recoverTo(&err)
	if _, err := linalg.Select(); err != nil {
		return nil, err
	}
	define(g)
	return g, g.compile()
}

// step is an operation of a run, with the places of its operands and its result.
type step struct {
	op   *boundOp
	from []int
	in   []gorgonia.Value
	to   int
}

// compile lists the operations that the captures need, operands first. It takes the
// place of Gorgonia's machine, which throws all memory away between two runs, and
// merges nodes of equal 32-bit hash without looking at them: such nodes are refused here.
func (g *Graph) compile() error {
	if len(g.captures) == 0 {
		return errors.New("nothing is captured")
	}
	place := map[*Node]int{}
	nodes := map[uint32]*Node{}
	var visit func(n *Node) error
	visit = func(n *Node) error {
		if _, done := place[n]; done {
			return nil
		}
		value := n.Value()
		constant := kindOf(n) == "constantScalar"
		if twin := nodes[n.Hashcode()]; twin != nil {
			if constant && gorgonia.ValueEq(value, twin.Value()) { // Gorgonia has some of its own
				place[n] = place[twin]
				return nil
			}
			return fmt.Errorf("nodes %v and %v have the same identity; give one another name", twin, n)
		}
		nodes[n.Hashcode()] = n
		if value != nil {
			if !constant && g.inputs[n.Name()] != n {
				return fmt.Errorf("a constant of shape %v, which Gorgonia may take for another; declare a parameter", n.Shape())
			}
			place[n] = len(g.values)
			g.values = append(g.values, value)
			return nil
		}
		s := step{op: boundTo(n)}
		for _, operand := range operandsOf(n) {
			if err := visit(operand); err != nil {
				return err
			}
			s.from = append(s.from, place[operand])
		}
		s.to = len(g.values)
		s.in = make([]gorgonia.Value, len(s.from))
		place[n] = s.to
		g.values = append(g.values, nil)
		g.steps = append(g.steps, s)
		return nil
	}
	for _, n := range g.captures {
		if err := visit(n); err != nil {
			return err
		}
	}
	return nil
}

// boundTo is the operation of a node.
func boundTo(n *Node) *boundOp {
	if op, ok := n.Op().(*boundOp); ok {
		return op
	}
	return &boundOp{Op: theirs(n), shape: n.Shape()}
}

func operandsOf(n *Node) (operands Nodes) {
	for from := n.Graph().From(n.ID()); from.Next(); {
		operands = append(operands, from.Node().(*Node))
	}
	return operands
}

// Input adds an input, a vector or a matrix of zeros until Set.
func (g *Graph) Input(name string, shape ...int) *Node {
	zeros := tensor.New(tensor.Of(g.dtype), tensor.WithShape(shape...))
	return g.input(name, shape, zeros)
}

func (g *Graph) input(name string, shape []int, value *tensor.Dense) *Node {
	fit(g.inputs[name] == nil, "input %q exists already", name)
	fit(len(shape) == 1 || len(shape) == 2,
		"input %q has %d dimensions; it must have 1 or 2", name, len(shape))
	n := gorgonia.NewTensor(g.expr, g.dtype, len(shape), gorgonia.WithShape(shape...),
		gorgonia.WithName(name), gorgonia.WithValue(value))
	g.inputs[name] = n
	return n
}

// Set gives an input its numbers, row-major. Fewer numbers than the input
// holds leave the rest zero.
func (g *Graph) Set(name string, value []float64) error {
	n := g.inputs[name]
	if n == nil {
		return ErrGraph.Errorf("it has no input %q", name)
	}
	t := n.Value().(*tensor.Dense)
	if size := t.DataSize(); len(value) > size {
		return ErrGraph.Errorf("input %q holds %d numbers, not %d", name, size, len(value))
	}
	if g.dtype == tensor.Float64 {
		clear(t.Float64s()[copy(t.Float64s(), value):])
		return nil
	}
	to := t.Float32s()
	for i, v := range value {
		to[i] = float32(v)
	}
	clear(to[len(value):])
	return nil
}

// Shared adds an input whose numbers are the caller's, who may change them
// between runs. In single precision the graph reads them where they are, so that
// large weights are in memory once.
func (g *Graph) Shared(name string, value []float32, shape ...int) *Node {
	if g.dtype == tensor.Float32 {
		return g.input(name, shape, tensor.New(tensor.WithShape(shape...), tensor.WithBacking(value)))
	}
	n := g.Input(name, shape...)
	to := n.Value().(*tensor.Dense).Float64s()
	fit(len(to) == len(value), "input %q of shape %v shares %d numbers", name, shape, len(value))
	g.refresh = append(g.refresh, func() {
		for i, v := range value {
			to[i] = float64(v)
		}
	})
	return n
}

// Capture is a result that outlives the run.
type Capture struct {
	// Value holds the numbers of the last run, row-major.
	Value []float64
}

// Capture makes the value of n available after a run, in double precision.
func (g *Graph) Capture(n *Node) *Capture {
	c := &Capture{Value: make([]float64, n.Shape().TotalSize())}
	g.captures = append(g.captures, Apply(Op{
		Name:  fmt.Sprintf("capture%d", len(g.captures)),
		Shape: ScalarShape,
		F32:   keep[float32](c),
		F64:   keep[float64](c),
	}, n))
	return c
}

func keep[T Float](c *Capture) Body[T] {
	return func(out View[T], in []View[T]) {
		for i, v := range in[0].Data {
			c.Value[i] = float64(v)
		}
		out.Data[0] = 0
	}
}

// Check panics if an operation below a node is refused, before Gorgonia stumbles over it.
func Check(n *Node) {
	checked := map[*Node]bool{}
	var check func(n *Node)
	check = func(n *Node) {
		if checked[n] || n.Value() != nil {
			return
		}
		checked[n] = true
		op := boundTo(n)
		fit(op.Name != outer, "operation OuterProd: Gorgonia's gradient of it is wrong; take Mul of matrices")
		for _, operand := range operandsOf(n) {
			check(operand)
		}
	}
	check(n)
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

// Held is a result in single precision, valid until the next run.
type Held struct {
	// Value holds the numbers of the last run, row-major.
	Value []float32
}

// Hold makes a result of an Op available after a run, as Capture does, but in
// single precision, where it has no copy made. No other operation may use it.
func (g *Graph) Hold(n *Node) *Held {
	h := &Held{}
	g.captures = append(g.captures, Apply(Op{
		Name:  fmt.Sprintf("hold%d", len(g.captures)),
		Shape: ScalarShape,
		F32: func(out View[float32], in []View[float32]) {
			h.Value = in[0].Data
			out.Data[0] = 0
		},
		F64: func(out View[float64], in []View[float64]) {
			if h.Value == nil {
				h.Value = make([]float32, len(in[0].Data))
			}
			for i, v := range in[0].Data {
				h.Value[i] = float32(v)
			}
			out.Data[0] = 0
		},
	}, n))
	return h
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
	running := ""
	defer func() {
		switch r := recover().(type) {
		case nil:
		case error: // callers may look for it, say for a cancelled context
			err = fmt.Errorf("run: operation %s: %w", running, r)
		default:
			err = fmt.Errorf("run: operation %s: %v", running, r)
		}
	}()
	for _, copy := range g.refresh {
		copy()
	}
	for _, s := range g.steps {
		running = s.op.Name
		for i, from := range s.from {
			s.in[i] = g.values[from]
		}
		if g.values[s.to], err = s.op.Do(s.in...); err != nil {
			return err
		}
	}
	return nil
}
