package layers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gorgonia.org/gorgonia"

	"l2mt/data"
	"l2mt/data/datatest"
)

// newMatrix has random rows: dense ones, or sparse ones of that share of entries.
func newMatrix(t testing.TB, r *rand.Rand, rows, cols int, density float64) data.Matrix {
	t.Helper()
	ptr, index, value := []int{0}, []int32{}, []float32{}
	for range rows {
		for j := range cols {
			if r.Float64() < density {
				index, value = append(index, int32(j)), append(value, float32(r.NormFloat64()))
			}
		}
		ptr = append(ptr, len(index))
	}
	x, err := data.NewCSR(cols, ptr, index, value)
	if density == 1 {
		x, err = data.NewDense(rows, cols, value)
	}
	datatest.Check(t, err)
	return x
}

// randomTasks are tasks of the given sizes with random classes, symmetric S
// between classes, and readout weights.
func randomTasks(t testing.TB, r *rand.Rand, d int, density float64, sizes ...int) []Task {
	tasks := make([]Task, len(sizes))
	for j, n := range sizes {
		g := &data.LabelGraph{Classes: 2, Ptr: []int32{0}}
		edge := make([]bool, n*n)
		for range n {
			g.Class = append(g.Class, int32(r.IntN(2)))
		}
		for i := range n {
			for k := range i {
				if g.Class[i] != g.Class[k] && r.IntN(3) == 0 {
					edge[i*n+k], edge[k*n+i] = true, true
				}
			}
		}
		for i := range n {
			for k := range n {
				if edge[i*n+k] {
					g.Index = append(g.Index, int32(k))
				}
			}
			g.Ptr = append(g.Ptr, int32(len(g.Index)))
		}
		tasks[j] = Task{X: PointsOf(newMatrix(t, r, n, d, density)), Weights: datatest.Normals[float64](r, n), Graph: g}
	}
	return tasks
}

func batchOf(t testing.TB, dtype DType, norm Norm, tasks []Task) *Batch {
	t.Helper()
	return datatest.Must(NewBatch(dtype, norm, tasks))(t)
}

// build makes a graph with memory of its own.
func build(dtype DType, define func(g *Graph)) (*Graph, error) {
	return NewMemory(dtype).Build(define)
}

// weighted is sum_i w_i y_i over all entries: a scalar whose gradient is w.
func weighted(y, w *Node) *Node {
	if y.IsScalar() {
		return must(gorgonia.Mul(y, must(gorgonia.Slice(w, gorgonia.S(0)))))
	}
	return must(gorgonia.Sum(must(gorgonia.HadamardProd(y, must(gorgonia.Reshape(w, y.Shape()))))))
}

// opCase is an operation on inputs of given shapes.
type opCase struct {
	name  string
	in    [][]int
	out   []int
	build func(in []*Node) *Node
	// positive makes the inputs positive, for logarithms.
	positive bool
}

// compiled is an operation with weights on its result, and its gradient.
type compiled struct {
	*Graph
	value *Capture
	loss  *Capture
	grads []*Capture
}

func (c opCase) compile(t *testing.T, dtype DType) *compiled {
	t.Helper()
	k := &compiled{}
	k.Graph = datatest.Must(build(dtype, func(g *Graph) {
		var in []*Node
		for i, shape := range c.in {
			in = append(in, g.Input(fmt.Sprint("in", i), shape...))
		}
		y := c.build(in)
		datatest.Holds(t, y.Shape().Eq(Shape(c.out)), "the result has shape %v, want %v", y.Shape(), c.out)
		loss := weighted(y, g.Input("weights", Shape(c.out).TotalSize()))
		k.value, k.loss = g.Capture(y), g.Capture(loss)
		k.grads = gradients(g, loss, in...)
	}))(t)
	return k
}

func (k *compiled) run(t *testing.T, inputs [][]float64) float64 {
	t.Helper()
	for i, v := range inputs {
		datatest.Check(t, k.Set(fmt.Sprint("in", i), v))
	}
	datatest.Check(t, k.Run())
	return k.loss.Value[0]
}

const (
	differenceStep      = 1e-5
	differenceTolerance = 1e-6 // of central differences in double precision
	singleTolerance     = 2e-4 // of single against double precision
)

// inputs are random numbers of the shapes.
func (c opCase) inputs(r *rand.Rand) (inputs [][]float64) {
	for _, shape := range c.in {
		v := datatest.Normals[float64](r, Shape(shape).TotalSize())
		for i := range v {
			if c.positive {
				v[i] = math.Abs(v[i]) + 0.1
			}
		}
		inputs = append(inputs, v)
	}
	return inputs
}

// check compares the gradient with central differences, and single precision
// with double.
func (c opCase) check(t *testing.T, r *rand.Rand, put func(DType)) {
	t.Helper()
	inputs := c.inputs(r)
	weights := datatest.Normals[float64](r, Shape(c.out).TotalSize())
	run := func(dtype DType) *compiled {
		k := c.compile(t, dtype)
		put(dtype)
		datatest.Check(t, k.Set("weights", weights))
		k.run(t, inputs)
		return k
	}
	double := run(Float64)
	gradients := make([][]float64, len(inputs))
	for i := range inputs {
		gradients[i] = append(gradients[i], double.grads[i].Value...)
	}
	for i, v := range inputs {
		for j, x := range v {
			v[j] = x + differenceStep
			up := double.run(t, inputs)
			v[j] = x - differenceStep
			down := double.run(t, inputs)
			v[j] = x
			want := (up - down) / (2 * differenceStep)
			if got := gradients[i][j]; math.Abs(got-want) > differenceTolerance*(1+math.Abs(want)) {
				t.Errorf("gradient of input %d at %d is %v, by central differences %v", i, j, got, want)
			}
		}
	}
	double.run(t, inputs)
	single := run(Float32)
	same(t, "value in single precision", single.value.Value, double.value.Value, singleTolerance)
	for i := range inputs {
		same(t, fmt.Sprintf("gradient %d in single precision", i), single.grads[i].Value, gradients[i], singleTolerance)
	}
}

func same(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	scale := 1.0
	for _, w := range want {
		scale = max(scale, math.Abs(w))
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tol*scale) {
			t.Errorf("%s: entry %d is %v, want %v", what, i, got[i], want[i])
			return
		}
	}
}

// gradients captures the gradient of a scalar with respect to inputs.
func gradients(g *Graph, loss *Node, inputs ...*Node) (captures []*Capture) {
	for _, n := range Gradient(loss, inputs...) {
		captures = append(captures, g.Capture(n))
	}
	return captures
}
