package layers

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"l2mt/data"
	"l2mt/data/datatest"
)

var must = gorgonia.Must

// An operation of Gorgonia's on one operand, or on two.
func one(f func(a *Node) (*Node, error)) func([]*Node) *Node {
	return func(in []*Node) *Node { return must(f(in[0])) }
}

func two(f func(a, b *Node) (*Node, error)) func([]*Node) *Node {
	return func(in []*Node) *Node { return must(f(in[0], in[1])) }
}

// twice is one on the same operand twice, which is used elsewhere too.
func twice(f func(a, b *Node) (*Node, error)) func([]*Node) *Node {
	return func(in []*Node) *Node {
		x := must(gorgonia.Tanh(in[0]))
		return must(gorgonia.Add(must(f(x, x)), x))
	}
}

// cube is a node in another shape.
func cube(x *Node, shape ...int) *Node { return must(gorgonia.Reshape(x, shape)) }

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// operations are those of Gorgonia's that run here, on operands of m rows and h columns.
func operations(m, h int) []opCase {
	a, ab, shape := [][]int{{m, h}}, [][]int{{m, h}, {m, h}}, []int{m, h}
	along := func(axes ...int) func(a *Node) (*Node, error) {
		return func(a *Node) (*Node, error) { return gorgonia.Sum(a, axes...) }
	}
	return []opCase{
		{name: "Abs", in: a, out: shape, build: one(gorgonia.Abs)},
		{name: "Add", in: ab, out: shape, build: two(gorgonia.Add)},
		{name: "Add, used twice", in: a, out: shape, build: twice(gorgonia.Add)},
		{name: "BroadcastAdd", in: [][]int{{m, h}, {h}}, out: shape, build: func(in []*Node) *Node {
			return must(gorgonia.BroadcastAdd(in[0], in[1], nil, []byte{0}))
		}},
		{name: "BroadcastHadamardDiv", in: [][]int{{m, h}, {m}}, out: shape, positive: true, build: func(in []*Node) *Node {
			return must(gorgonia.BroadcastHadamardDiv(in[0], in[1], nil, []byte{1}))
		}},
		{name: "BroadcastHadamardProd", in: [][]int{{1, h}, {m, h}}, out: shape, build: func(in []*Node) *Node {
			return must(gorgonia.BroadcastHadamardProd(in[0], in[1], []byte{0}, nil))
		}},
		{name: "Cos", in: a, out: shape, build: one(gorgonia.Cos)},
		{name: "Cube", in: a, out: shape, build: one(gorgonia.Cube)},
		{name: "Exp", in: a, out: shape, build: one(gorgonia.Exp)},
		{name: "Expm1", in: a, out: shape, build: one(gorgonia.Expm1)},
		{name: "Gt, Gte, Lt, Lte, Eq, Ne", in: ab, out: shape, build: func(in []*Node) *Node {
			sum := must(gorgonia.Sub(in[0], in[1]))
			for _, f := range []func(a, b *Node, same bool) (*Node, error){gorgonia.Gt, gorgonia.Gte, gorgonia.Lt, gorgonia.Lte, gorgonia.Eq, gorgonia.Ne} {
				sum = must(gorgonia.Add(sum, must(gorgonia.HadamardProd(in[0], must(f(in[0], in[1], true))))))
			}
			return sum
		}},
		{name: "HadamardDiv", in: ab, out: shape, positive: true, build: two(gorgonia.HadamardDiv)},
		{name: "HadamardProd", in: ab, out: shape, build: two(gorgonia.HadamardProd)},
		{name: "HadamardProd, used twice", in: a, out: shape, build: twice(gorgonia.HadamardProd)},
		{name: "Inverse", in: a, out: shape, positive: true, build: one(gorgonia.Inverse)},
		{name: "LeakyRelu", in: a, out: shape, build: one(func(a *Node) (*Node, error) { return gorgonia.LeakyRelu(a, 0.25) })},
		{name: "Log", in: a, out: shape, positive: true, build: one(gorgonia.Log)},
		{name: "Log of 1 + x, used twice", in: a, out: shape, positive: true, build: func(in []*Node) *Node { // Gorgonia makes it Log1p
			sum := must(gorgonia.Add(in[0], Constant(in[0], 1)))
			return must(gorgonia.HadamardProd(must(gorgonia.Log(sum)), sum))
		}},
		{name: "Log1p", in: a, out: shape, positive: true, build: one(gorgonia.Log1p)},
		{name: "Mul of a matrix and a vector", in: [][]int{{m, h}, {h}}, out: []int{m}, build: two(gorgonia.Mul)},
		{name: "Mul of a scalar, HadamardDiv by a number", in: [][]int{{m, h}, {h}}, out: shape, build: func(in []*Node) *Node {
			return must(gorgonia.HadamardDiv(must(gorgonia.Mul(must(gorgonia.Sum(in[1])), in[0])), Constant(in[0], 2)))
		}},
		{name: "Mul of a vector and a matrix", in: [][]int{{m}, {m, h}}, out: []int{h}, build: two(gorgonia.Mul)},
		{name: "Mul of matrices", in: [][]int{{m, h}, {h, 3}}, out: []int{m, 3}, build: two(gorgonia.Mul)},
		{name: "Mul of matrices, used twice", in: [][]int{{m, m}}, out: []int{m, m}, build: twice(gorgonia.Mul)},
		{name: "Mul of vectors", in: [][]int{{m}, {m}}, build: two(gorgonia.Mul)},
		{name: "Mul with Transpose of itself", in: a, out: []int{m, m}, build: func(in []*Node) *Node {
			return must(gorgonia.Mul(in[0], must(gorgonia.Transpose(in[0]))))
		}},
		{name: "Neg", in: a, out: shape, build: one(gorgonia.Neg)},
		{name: "Pow", in: ab, out: shape, positive: true, build: two(gorgonia.Pow)},
		{name: "Rectify", in: a, out: shape, build: one(gorgonia.Rectify)},
		{name: "Reshape, used twice", in: a, out: []int{h, m}, build: func(in []*Node) *Node {
			turned := must(gorgonia.Reshape(in[0], tensor.Shape{h, m}))
			return must(gorgonia.HadamardProd(must(gorgonia.Exp(turned)), must(gorgonia.Transpose(in[0]))))
		}},
		{name: "Sigmoid", in: a, out: shape, build: one(gorgonia.Sigmoid)},
		{name: "Sign, Ceil, Floor", in: ab, out: shape, build: func(in []*Node) *Node {
			steps := must(gorgonia.Add(must(gorgonia.Sign(in[1])), must(gorgonia.Add(must(gorgonia.Ceil(in[1])), must(gorgonia.Floor(in[1]))))))
			return must(gorgonia.Add(must(gorgonia.HadamardProd(steps, in[0])), in[1]))
		}},
		{name: "Sin", in: a, out: shape, build: one(gorgonia.Sin)},
		{name: "Slice of a column", in: a, out: []int{m}, build: one(func(a *Node) (*Node, error) { return gorgonia.Slice(a, nil, gorgonia.S(h-1)) })},
		{name: "Slice of a number", in: [][]int{{m}}, build: one(func(a *Node) (*Node, error) { return gorgonia.Slice(a, gorgonia.S(m-1)) })},
		{name: "Slice of rows and columns", in: a, out: []int{m - 1, h - 1}, build: one(func(a *Node) (*Node, error) {
			return gorgonia.Slice(a, gorgonia.S(1, m), gorgonia.S(0, h-1))
		})},
		{name: "Softplus", in: a, out: shape, build: one(gorgonia.Softplus)},
		{name: "Sqrt", in: a, out: shape, positive: true, build: one(gorgonia.Sqrt)},
		{name: "Square", in: a, out: shape, build: one(gorgonia.Square)},
		{name: "Sub", in: ab, out: shape, build: two(gorgonia.Sub)},
		{name: "Sum", in: a, build: one(along())},
		{name: "Sum of columns", in: a, out: []int{h}, build: one(along(0))},
		{name: "Sum of rows", in: a, out: []int{m}, build: one(along(1))},
		{name: "Tanh", in: a, out: shape, build: one(gorgonia.Tanh)},
		{name: "Transpose", in: a, out: []int{h, m}, build: one(func(a *Node) (*Node, error) { return gorgonia.Transpose(a) })},
		{name: "SoftMax, of rows and of columns", in: a, out: shape, build: one(func(a *Node) (*Node, error) {
			return gorgonia.HadamardProd(must(gorgonia.SoftMax(a, 0)), must(gorgonia.SoftMax(a)))
		})},
		{name: "LogSoftMax beside SoftMax", in: a, out: shape, build: one(func(a *Node) (*Node, error) {
			return gorgonia.HadamardProd(must(gorgonia.LogSoftMax(a)), must(gorgonia.SoftMax(a)))
		})},
		{name: "Max of columns", in: a, out: []int{h}, build: one(func(a *Node) (*Node, error) { return gorgonia.Max(a, 0) })},
		{name: "Max of rows", in: a, out: []int{m}, build: one(func(a *Node) (*Node, error) { return gorgonia.Max(a, 1) })},
		{name: "Max", in: a, build: one(func(a *Node) (*Node, error) { return gorgonia.Max(a) })},
		{name: "Mean of columns", in: a, out: []int{h}, build: one(func(a *Node) (*Node, error) { return gorgonia.Mean(a, 0) })},
		{name: "Mean of rows", in: a, out: []int{m}, build: one(func(a *Node) (*Node, error) { return gorgonia.Mean(a, 1) })},
		{name: "Mean", in: a, build: one(func(a *Node) (*Node, error) { return gorgonia.Mean(a) })},
		{name: "Norm", in: a, out: []int{m}, build: one(func(a *Node) (*Node, error) { return gorgonia.Norm(a, 1, 2) })},
		{name: "MaxBetween, MinBetween", in: ab, out: shape, build: two(func(a, b *Node) (*Node, error) {
			return gorgonia.HadamardProd(must(gorgonia.MaxBetween(a, b)), must(gorgonia.MinBetween(a, b)))
		})},
		{name: "Mish", in: a, out: shape, build: one(gorgonia.Mish)},
		{name: "Concat of rows", in: ab, out: []int{2 * m, h}, build: two(func(a, b *Node) (*Node, error) { return gorgonia.Concat(0, a, b) })},
		{name: "Concat of columns", in: ab, out: []int{m, 2 * h}, build: two(func(a, b *Node) (*Node, error) { return gorgonia.Concat(1, a, b) })},
		{name: "Unconcat", in: [][]int{{2 * m, h}}, out: shape, build: func(in []*Node) *Node {
			parts, err := gorgonia.Unconcat(in[0], 0, 2)
			check(err)
			return must(gorgonia.HadamardProd(parts[0], must(gorgonia.Tanh(parts[1]))))
		}},
		{name: "KeepDims", in: a, out: []int{m, 1}, build: one(func(a *Node) (*Node, error) {
			return gorgonia.KeepDims(a, false, func(a *Node) (*Node, error) { return gorgonia.Sum(a, 1) })
		})},
		{name: "BatchedMatMul, transposed too", in: [][]int{{2 * m, m}, {2 * m, m}}, out: []int{2 * m, m}, build: func(in []*Node) *Node {
			x, y := cube(in[0], 2, m, m), cube(in[1], 2, m, m)
			product := must(gorgonia.BatchedMatMul(x, y))
			for _, turn := range [][]bool{{true, false}, {false, true}} {
				product = must(gorgonia.HadamardProd(product, must(gorgonia.BatchedMatMul(x, y, turn...))))
			}
			return cube(product, 2*m, m)
		}},
		{name: "Tensordot", in: [][]int{{m, 2 * h}, {2 * h, 2}}, out: []int{m, 2}, build: func(in []*Node) *Node {
			return must(gorgonia.Tensordot([]int{1, 2}, []int{0, 1}, cube(in[0], m, 2, h), cube(in[1], 2, h, 2)))
		}},
		{name: "SoftMax, Sum, Slice and Transpose of rank 3", in: [][]int{{m, 2 * h}}, out: []int{h, m}, build: func(in []*Node) *Node {
			x := must(gorgonia.SoftMax(cube(in[0], m, 2, h)))
			x = must(gorgonia.Transpose(must(gorgonia.Tanh(x)), 2, 1, 0)) // h x 2 x m
			return must(gorgonia.HadamardProd(must(gorgonia.Sum(x, 1)), must(gorgonia.Slice(x, nil, gorgonia.S(1)))))
		}},
		{name: "BroadcastAdd of rank 3", in: [][]int{{m, 2 * h}, {1, 2 * h}}, out: []int{m, 2 * h}, build: func(in []*Node) *Node {
			return cube(must(gorgonia.BroadcastAdd(cube(in[0], m, 2, h), cube(in[1], 1, 2, h), nil, []byte{0})), m, 2*h)
		}},
		{name: "Conv2d", in: [][]int{{5, 6}, {2, 9}}, out: []int{6, 4}, build: func(in []*Node) *Node {
			two, one, none := tensor.Shape{3, 3}, []int{1, 1}, []int{0, 0}
			return cube(must(gorgonia.Conv2d(cube(in[0], 1, 1, 5, 6), cube(in[1], 2, 1, 3, 3), two, none, one, one)), 6, 4)
		}},
		{name: "MaxPool2D", in: [][]int{{4, 6}}, out: []int{2, 3}, build: func(in []*Node) *Node {
			return cube(must(gorgonia.MaxPool2D(cube(in[0], 1, 1, 4, 6), tensor.Shape{2, 2}, []int{0, 0}, []int{2, 2})), 2, 3)
		}},
	}
}

// Values are those of Gorgonia's own machine, gradients those of central differences.
func TestOperationsOfGorgonia(t *testing.T) {
	for seed := range uint64(3) {
		r := data.Stream(seed, "operations of Gorgonia")
		m, h := 3+r.IntN(4), 3+r.IntN(4)
		for _, c := range operations(m, h) {
			t.Run(fmt.Sprintf("%s/m=%d,h=%d", c.name, m, h), func(t *testing.T) {
				c.check(t, r, func(DType) {})
				c.againstGorgonia(t, r)
			})
		}
	}
}

func (c opCase) againstGorgonia(t *testing.T, r *rand.Rand) {
	numbers, values := c.inputs(r), map[string][]float64{}
	var want gorgonia.Value
	memory := NewMemory(Float64)
	g := datatest.Must(memory.Express(values, func(g *Graph) {
		var in []*Node
		for i, shape := range c.in {
			name := fmt.Sprint("in", i)
			values[name] = numbers[i]
			in = append(in, g.Input(name, shape...))
		}
		gorgonia.Read(c.build(in), &want)
	}))(t)
	machine := gorgonia.NewTapeMachine(g)
	defer machine.Close()
	datatest.Check(t, machine.RunAll())
	k := c.compile(t, Float64)
	k.run(t, numbers)
	same(t, "value by Gorgonia's machine", k.value.Value, entries[float64](want), 1e-13)
}

// refusal is an operation that Build refuses, with words that the error has.
type refusal struct {
	words string
	build func(x *Node) *Node
}

var refusals = map[string]refusal{
	"At":          {"Slice", func(x *Node) *Node { return must(gorgonia.At(x, 0, 0)) }},
	"Dropout":     {"Op of layers", func(x *Node) *Node { return must(gorgonia.Dropout(x, 0.5)) }},
	"InverseSqrt": {"Inverse of Sqrt", func(x *Node) *Node { return must(gorgonia.InverseSqrt(x)) }},
	"Log2":        {"take Log", func(x *Node) *Node { return must(gorgonia.Log2(x)) }},
	"Mul of a matrix and a vector of its rows": {"inner dimensions", func(x *Node) *Node {
		return must(gorgonia.Mul(must(gorgonia.Concat(1, x, x)), must(gorgonia.Sum(x, 1))))
	}},
	"OuterProd": {"take Mul", func(x *Node) *Node { v := must(gorgonia.Sum(x, 0)); return must(gorgonia.OuterProd(v, v)) }},
	"AveragePool2D": {"take Mean", func(x *Node) *Node {
		x = must(gorgonia.Concat(0, x, x))
		x = must(gorgonia.Concat(1, x, must(gorgonia.Square(x))))
		return must(gorgonia.AveragePool2D(cube(x, 1, 1, 4, 4), tensor.Shape{2, 2}, []int{0, 0}, []int{2, 2}))
	}},
	"BatchNorm": {"not saved", func(x *Node) *Node {
		one := cube(must(gorgonia.Sum(x, 0)), 1, 2, 1, 1)
		y, _, _, _, err := gorgonia.BatchNorm(cube(x, 1, 2, 2, 1), one, one, 0.9, 1e-5)
		return must(y, err)
	}},
	"GroupNorm": {"prints", func(x *Node) *Node {
		one := cube(must(gorgonia.Sum(x, 0)), 1, 2, 1, 1)
		return must(gorgonia.GroupNorm(cube(x, 1, 2, 2, 1), one, one, 1, 2, 1e-5))
	}},
	"Sparsemax": {"SoftMax", func(x *Node) *Node { return must(gorgonia.Sparsemax(x, 0)) }},
	"Slice with steps": {"one after the other", func(x *Node) *Node {
		return must(gorgonia.Slice(must(gorgonia.Reshape(x, tensor.Shape{4})), gorgonia.S(0, 4, 2)))
	}},
	"SoftMax of a column": {"name the axis", func(x *Node) *Node { return must(gorgonia.SoftMax(cube(x, 4, 1))) }},
	"UniformRandomNode": {"declare a parameter", func(x *Node) *Node {
		return must(gorgonia.Add(x, gorgonia.UniformRandomNode(x.Graph(), x.Dtype(), 0, 1, 2, 2)))
	}},
	"a constant matrix": {"declare a parameter", func(x *Node) *Node {
		return must(gorgonia.Add(x, gorgonia.NewConstant(tensor.New(tensor.WithShape(2, 2), tensor.WithBacking([]float64{1, 2, 3, 4})))))
	}},
	"an input of Gorgonia's": {"declare a parameter", func(x *Node) *Node {
		return must(gorgonia.Add(x, gorgonia.NewMatrix(x.Graph(), x.Dtype(), gorgonia.WithShape(2, 2), gorgonia.WithName("mine"))))
	}},
}

func TestOperationsThatGorgoniaGetsWrongAreRefused(t *testing.T) {
	for name, c := range refusals {
		t.Run(name, func(t *testing.T) {
			why := c.error()
			datatest.Holds(t, strings.Contains(why, c.words), "the error is %q; it is to say %q", why, c.words)
		})
	}
	slice := func(g *Graph) { g.Capture(must(gorgonia.Slice(g.Input("x", 300), gorgonia.S(0, 10)))) }
	datatest.Refused(build(Float64, slice))(t, nil, "256")
}

// Gorgonia's own machine gives gradients that its own values contradict. An operation whose
// gradient is right by now need not be refused any more.
func TestRefusedGradientsAreWrong(t *testing.T) {
	for _, name := range []string{"AveragePool2D", "InverseSqrt", "Log2", "SoftMax of a column", "Sparsemax"} {
		loss := func(numbers ...float64) (value float64, slopes []float64) {
			g := gorgonia.NewGraph()
			backing := tensor.New(tensor.WithShape(2, 2), tensor.WithBacking(numbers))
			x := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(2, 2), gorgonia.WithName("x"), gorgonia.WithValue(backing))
			sum := must(gorgonia.Sum(must(gorgonia.Square(refusals[name].build(x)))))
			_, err := gorgonia.Grad(sum, x)
			check(err)
			machine := gorgonia.NewTapeMachine(g, gorgonia.BindDualValues(x))
			defer machine.Close()
			check(machine.RunAll())
			slope, err := x.Grad()
			check(err)
			return sum.Value().Data().(float64), slices.Clone(slope.Data().([]float64))
		}
		_, slopes := loss(0.9, 1.3, 1.2, 0.4)
		wrong := false
		for i, slope := range slopes {
			ups, downs := []float64{0.9, 1.3, 1.2, 0.4}, []float64{0.9, 1.3, 1.2, 0.4}
			ups[i] += differenceStep
			downs[i] -= differenceStep
			up, _ := loss(ups...)
			down, _ := loss(downs...)
			wrong = wrong || math.Abs((up-down)/(2*differenceStep)-slope) > 1e-3
		}
		datatest.Holds(t, wrong, "Gorgonia's gradient of %s is right", name)
	}
}

// error is what Build says.
func (c refusal) error() string {
	_, err := build(Float64, func(g *Graph) {
		x := g.Input("x", 2, 2)
		gradients(g, must(gorgonia.Sum(must(gorgonia.Square(c.build(x))))), x)
	})
	if err == nil {
		return ""
	}
	return strings.TrimPrefix(err.Error(), "layers: ")
}

// The page of operations is the table that these tests make.
func TestThePageOfOperationsIsWhatTheTestsSay(t *testing.T) {
	page := datatest.Must(os.ReadFile(filepath.Join("..", "docs", "operations.md")))(t)
	var table strings.Builder
	var names []string
	for _, c := range operations(4, 3) {
		names = append(names, c.name)
	}
	fmt.Fprintf(&table, "| | |\n|---|---|\n| **these run** | %s |\n", strings.Join(names, "; "))
	for _, name := range slices.Sorted(maps.Keys(refusals)) {
		fmt.Fprintf(&table, "| %s | %s |\n", name, refusals[name].error())
	}
	datatest.Holds(t, strings.Contains(string(page), table.String()),
		"the table of docs/operations.md is to be\n%s", &table)
}
