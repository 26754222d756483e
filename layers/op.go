package layers

import (
	"fmt"
	"hash"
	"hash/fnv"
	"runtime"
	"slices"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"l2mt/layers/linalg"
)

// Node and Nodes are Gorgonia's.
type (
	Node  = gorgonia.Node
	Nodes = gorgonia.Nodes
)

// Float is the element type of a graph.
type Float = linalg.Float

// View is an operand of an Op's body: a row-major matrix. A vector of length n
// is n x 1 and a scalar 1 x 1.
type View[T Float] struct {
	Rows, Cols int
	Data       []T
}

// Row returns row i.
func (v View[T]) Row(i int) []T {
	return v.Data[i*v.Cols:][:v.Cols:v.Cols]
}

// NewView is a matrix of zeros.
func NewView[T Float](rows, cols int) View[T] {
	return View[T]{rows, cols, make([]T, rows*cols)}
}

// Shape is the shape of an operand: its dimensions, none for a scalar.
type Shape = tensor.Shape

// matrix is the shape of an operand's View.
func matrix(s Shape) (rows, cols int) {
	if len(s) == 2 {
		return s[0], s[1]
	}
	return s.TotalSize(), 1
}

// turned is the shape of an operand's View, or of the View's transpose.
func turned(s Shape, t linalg.Transpose) (rows, cols int) {
	rows, cols = matrix(s)
	if t == linalg.Trans {
		return cols, rows
	}
	return rows, cols
}

// SameShape is the Shape of an Op whose result has its first operand's shape.
func SameShape(in []Shape) Shape {
	return in[0]
}

// ScalarShape is the Shape of an Op whose result is a scalar.
func ScalarShape([]Shape) Shape {
	return nil
}

// Body computes a result from the operands. Out holds stale numbers: every entry has to be
// written.
type Body[T Float] func(out View[T], in []View[T])

// Op describes an operation of a graph. Gorgonia asks a dozen methods of one;
// they follow from these few fields.
type Op struct {
	// Name distinguishes operations: two of the same name on the same operands
	// are one. Everything that the body depends on beside its operands belongs in it.
	Name string
	// Shape gives the shape of the result, with no dimensions for a scalar.
	// It panics when the operands do not fit.
	Shape func(in []Shape) Shape
	// F32 and F64 are the body in both precisions, usually one generic function.
	F32 Body[float32]
	F64 Body[float64]
	// Slope32 and Slope64 are the body of the gradient with respect to an only operand: it
	// takes the operand, the result, and the gradient with respect to the result.
	Slope32 Body[float32]
	Slope64 Body[float64]
	// Grad returns the gradient with respect to every operand, given the gradient with respect
	// to the result, where an Op has no slopes. With neither it can only be used where nothing
	// is differentiated, such as in a gradient.
	Grad func(in Nodes, out, grad *Node) Nodes
}

// Apply adds the operation on the given operands to their graph.
func Apply(op Op, in ...*Node) *Node {
	bound := &boundOp{
		Op:    op,
		types: make([]hm.Type, len(in)+1),
	}
	shapes := make([]Shape, len(in))
	for i, n := range in {
		shapes[i] = n.Shape()
		bound.types[i] = n.Type()
	}
	bound.shape = op.Shape(shapes)
	dtype := in[0].Dtype()
	bound.types[len(in)] = hm.Type(dtype)
	if len(bound.shape) > 0 {
		bound.types[len(in)] = gorgonia.TensorType{
			Dims: len(bound.shape),
			Of:   dtype,
		}
	}
	n, err := gorgonia.ApplyOp(bound, in...)
	if err != nil {
		panic(fmt.Errorf("operation %s: %w", op.Name, err))
	}
	return n
}

// boundOp is an Op on particular operands, as Gorgonia wants it.
type boundOp struct {
	Op
	types []hm.Type // of the operands, then of the result
	shape Shape
}

func (o *boundOp) Arity() int {
	return len(o.types) - 1
}
func (o *boundOp) Type() hm.Type {
	return hm.NewFnType(o.types...)
}
func (o *boundOp) ReturnsPtr() bool {
	return true
}
func (o *boundOp) CallsExtern() bool {
	return false
} // the machine need not allocate
func (o *boundOp) OverwritesInput() int {
	return -1
}
func (o *boundOp) WriteHash(h hash.Hash) {
	fmt.Fprint(h, o.Name)
}
func (o *boundOp) String() string {
	return o.Name
}

func (o *boundOp) InferShape(...gorgonia.DimSizer) (Shape, error) {
	return o.shape.Clone(), nil
}

func (o *boundOp) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}

// Do runs the operation in a machine of Gorgonia's.
func (o *boundOp) Do(in ...gorgonia.Value) (out gorgonia.Value, err error) {
	defer recoverTo(&err)
	if in[0].Dtype() == tensor.Float64 {
		return computed(o.F64, o.shape, in), nil
	}
	return computed(o.F32, o.shape, in), nil
}

func computed[T Float](body Body[T], shape Shape, in []gorgonia.Value) gorgonia.Value {
	views := make([]View[T], len(in))
	for i, v := range in {
		rows, cols := matrix(v.Shape())
		views[i] = View[T]{rows, cols, entries[T](v)}
	}
	out := NewView[T](matrix(shape))
	body(out, views)
	return newValue(shape, out.Data)
}

// newValue is Gorgonia's value of some numbers.
func newValue[T Float](shape Shape, numbers []T) gorgonia.Value {
	if len(shape) > 0 {
		defer runtime.KeepAlive(numbers) // as in entries
		return tensor.New(tensor.WithShape(shape...),
			tensor.WithBacking(numbers))
	}
	x, ok := any(numbers[0]).(float64)
	if ok {
		return gorgonia.NewF64(x)
	}
	return gorgonia.NewF32(float32(numbers[0]))
}

// entries are the numbers of a value.
func entries[T Float](v gorgonia.Value) []T {
	t, ok := v.(*tensor.Dense)
	if ok {
		v = t.Materialize().(*tensor.Dense) // of views and transposes
	}
	numbers := v.Data()
	runtime.KeepAlive(v) // Data goes by an address, which alone keeps no memory
	if x, ok := numbers.(T); ok {
		return []T{x}
	}
	return numbers.([]T)
}

func (o *boundOp) DiffWRT(n int) []bool {
	return slices.Repeat([]bool{o.Grad != nil || o.Slope64 != nil}, n)
}

func (o *boundOp) SymDiff(in Nodes, out, grad *Node) (n Nodes, err error) {
	if o.Slope64 != nil {
		slope := Op{Name: o.Name + "'", Shape: SameShape,
			F32: o.Slope32, F64: o.Slope64}
		return Nodes{Apply(slope, in[0], out, grad)}, nil
	}
	if o.Grad == nil {
		return nil, fmt.Errorf("operation %s has no gradient", o.Name)
	}
	defer recoverTo(&err)
	return o.Grad(in, out, grad), nil
}

// recoverTo turns a panic of graph building into an error.
func recoverTo(err *error) {
	switch r := recover().(type) {
	case nil:
	case error:
		*err = r
	default:
		*err = fmt.Errorf("%v", r)
	}
}

// fit panics unless ok: a building error that Build returns.
func fit(ok bool, format string, args ...any) {
	if !ok {
		panic(fmt.Errorf(format, args...))
	}
}

// Outside adds a scalar function that is computed outside of the graph, in double
// precision: it returns its value, and sets its slopes with respect to the operands.
func Outside(name string, f func(in, slopes []View[float64]) float64, operands ...*Node) *Node {
	slopes := make([]View[float64], len(operands))
	return Apply(Op{
		Name: name, Shape: ScalarShape,
		F32: outside[float32](f, slopes), F64: outside[float64](f, slopes),
		Grad: func(in Nodes, out, grad *Node) (n Nodes) {
			for i, operand := range in {
				n = append(n, Apply(Op{ // of out, so that it runs after the function
					Name: fmt.Sprint(name, "'", i),
					Shape: func([]Shape) Shape {
						return operand.Shape()
					},
					F32: scaledSlope[float32](&slopes[i]),
					F64: scaledSlope[float64](&slopes[i]),
				}, grad, out))
			}
			return n
		},
	}, operands...)
}

// outside runs a function of operands in double precision, and keeps its slopes.
func outside[T Float](
	f func(in, slopes []View[float64]) float64, slopes []View[float64],
) Body[T] {
	return func(out View[T], in []View[T]) {
		var double []View[float64]
		for i, v := range in {
			double = append(double, NewView[float64](v.Rows, v.Cols))
			slopes[i] = NewView[float64](v.Rows, v.Cols)
			convert(double[i].Data, v.Data)
		}
		out.Data[0] = T(f(double, slopes))
	}
}

func scaledSlope[T Float](slope *View[float64]) Body[T] {
	return func(out View[T], in []View[T]) {
		for j, v := range slope.Data {
			out.Data[j] = in[0].Data[0] * T(v)
		}
	}
}
