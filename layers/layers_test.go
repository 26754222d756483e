package layers

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"gorgonia.org/tensor"

	"l2mt/data"
)

// randomPoints are points in double precision, a share of them zero.
type randomPoints struct {
	rows, cols int
	value      []float64
}

func newPoints(r *rand.Rand, rows, cols int, density float64) randomPoints {
	p := randomPoints{rows, cols, make([]float64, rows*cols)}
	for i := range p.value {
		if r.Float64() < density {
			p.value[i] = r.NormFloat64()
		}
	}
	return p
}

func (p randomPoints) Rows() int { return p.rows }
func (p randomPoints) Cols() int { return p.cols }
func (p randomPoints) NNZ() (n int) {
	for _, v := range p.value {
		if v != 0 {
			n++
		}
	}
	return n
}
func (p randomPoints) Visit(i int, entry func(j int, v float64)) {
	for j, v := range p.value[i*p.cols:][:p.cols] {
		if v != 0 {
			entry(j, v)
		}
	}
}

// randomTasks are tasks of the given sizes with random classes, symmetric S
// between classes, and readout weights.
func randomTasks(r *rand.Rand, d int, density float64, sizes ...int) []Task {
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
		tasks[j] = Task{X: newPoints(r, n, d, density), Weights: normals(r, n), Graph: g}
	}
	return tasks
}

func normals(r *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = r.NormFloat64()
	}
	return v
}

func batchOf(t testing.TB, dtype DType, norm Norm, tasks []Task) *Batch {
	t.Helper()
	b, err := NewBatch(dtype, norm, tasks)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// weighted is sum_i w_i y_i over all entries: a scalar whose gradient is w.
func weighted(y, w *Node) *Node {
	scalar := func([]tensor.Shape) tensor.Shape { return tensor.ScalarShape() }
	return Apply(Op{
		Name: "weighted", Shape: scalar, F32: weightedBody[float32], F64: weightedBody[float64], Constant: []bool{false, true},
		Grad: func(in Nodes, _, grad *Node) Nodes {
			return Nodes{Apply(Op{
				Name: "weighted'", Shape: sameShape, F32: weightedGrad[float32], F64: weightedGrad[float64],
			}, in[0], in[1], grad), nil}
		},
	}, y, w)
}

func weightedBody[T Float](out View[T], in []View[T]) { out.Data[0] = dot(in[0].Data, in[1].Data) }
func weightedGrad[T Float](out View[T], in []View[T]) {
	if len(out.Data) == 1 {
		out.Data[0] = in[1].Data[0] * in[2].Data[0]
		return
	}
	for i, w := range in[1].Data {
		out.Data[i] = w * in[2].Data[0]
	}
}

// opCase is an operation on inputs of given shapes. Rows counts the rows of the
// result that mean something; the rest is capacity.
type opCase struct {
	name  string
	in    [][]int
	out   []int
	rows  int
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
	var err error
	k.Graph, err = Build(dtype, func(g *Graph) {
		var in []*Node
		for i, shape := range c.in {
			in = append(in, g.Input(fmt.Sprint("in", i), shape...))
		}
		y := c.build(in)
		size := 1
		for _, n := range c.out {
			size *= n
		}
		if y.Shape().TotalSize() != size || y.Dims() != len(c.out) {
			t.Errorf("the result has shape %v, want %v", y.Shape(), c.out)
		}
		loss := weighted(y, g.Input("weights", size))
		k.value, k.loss = g.Capture(y), g.Capture(loss)
		k.grads = g.Gradients(loss, in...)
	})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *compiled) run(t *testing.T, inputs [][]float64) float64 {
	t.Helper()
	for i, v := range inputs {
		if err := k.Set(fmt.Sprint("in", i), v); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.Run(); err != nil {
		t.Fatal(err)
	}
	return k.loss.Value[0]
}

const (
	differenceStep      = 1e-5
	differenceTolerance = 1e-6 // of central differences in double precision
	singleTolerance     = 2e-4 // of single against double precision
)

// check compares the gradient with central differences, and single precision
// with double.
func (c opCase) check(t *testing.T, r *rand.Rand, put func(DType)) {
	t.Helper()
	var inputs [][]float64
	for _, shape := range c.in {
		size := 1
		for _, n := range shape {
			size *= n
		}
		v := normals(r, size)
		if c.positive {
			for i := range v {
				v[i] = math.Abs(v[i]) + 0.1
			}
		}
		inputs = append(inputs, v)
	}
	size := 1
	for _, n := range c.out {
		size *= n
	}
	weights := normals(r, size)
	if c.rows > 0 {
		weights = weights[:c.rows*c.out[1]]
	}
	run := func(dtype DType) *compiled {
		k := c.compile(t, dtype)
		put(dtype)
		if err := k.Set("weights", weights); err != nil {
			t.Fatal(err)
		}
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
	if double.DType() != Float64 || single.DType() != Float32 {
		t.Errorf("precisions %s and %s", double.DType(), single.DType())
	}
	same(t, "value in single precision", single.value.Value[:len(weights)], double.value.Value[:len(weights)], singleTolerance)
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

func TestOperationsHaveTheGradientsOfTheirValues(t *testing.T) {
	for seed := range uint64(6) {
		r := data.Stream(seed, "operations")
		m, h := 1+r.IntN(5), 1+r.IntN(4)
		for _, c := range []opCase{
			{name: "Unit", in: [][]int{{m, h}}, out: []int{m, h}, build: func(in []*Node) *Node { return Unit(in[0]) }},
			{name: "Gram", in: [][]int{{m, h}}, out: []int{m, m}, build: func(in []*Node) *Node { return Gram(in[0]) }},
			{name: "AddIdentity", in: [][]int{{m, m}, {2}}, out: []int{m, m}, build: func(in []*Node) *Node { return AddIdentity(in[0], At(in[1], 1)) }},
			{name: "Distances-", in: [][]int{{m, h}}, out: []int{m, m}, build: func(in []*Node) *Node { return Distances(-1, in[0]) }},
			{name: "Distances+", in: [][]int{{m, h}}, out: []int{m, m}, build: func(in []*Node) *Node { return Distances(1, in[0]) }},
			{name: "RBF", in: [][]int{{m, h}, {1}}, out: []int{m, m}, build: func(in []*Node) *Node { return RBF(in[0], At(in[1], 0)) }},
			{name: "OddRBF", in: [][]int{{m, h}, {3}}, out: []int{m, m}, build: func(in []*Node) *Node { return OddRBF(in[0], At(in[1], 2)) }},
			{name: "At", in: [][]int{{h}}, out: nil, build: func(in []*Node) *Node { return At(in[0], h-1) }},
			{name: "Penalty", in: [][]int{{m, h}}, out: nil, build: func(in []*Node) *Node { return Penalty(in[0]) }},
			{name: "AddRow, MatMul, Transpose", in: [][]int{{m + 1, h + 1}, {3, h + 1}, {3}}, out: []int{m + 1, 3}, build: func(in []*Node) *Node {
				return AddRow(MatMul(in[0], Transpose(in[1])), in[2])
			}},
			{name: "Div, Hadamard, Sub", in: [][]int{{m + 1, h + 1}, {m + 1, h + 1}, {1}}, out: []int{m + 1, h + 1}, positive: true, build: func(in []*Node) *Node {
				return Div(Sub(Hadamard(in[0], in[1]), Sqrt(in[0])), At(in[2], 0))
			}},
			{name: "Rectify, Abs, Sum, Mean", in: [][]int{{m + 1, h + 1}}, out: nil, build: func(in []*Node) *Node {
				return Add(Sum(Rectify(in[0])), Mean(Square(Abs(in[0]))))
			}},
			{name: "TanhLink", in: [][]int{{2}, {4}}, out: []int{4}, build: func(in []*Node) *Node { return TanhLink(in[0], in[1]) }},
			{name: "LogLink", in: [][]int{{2}, {4}}, out: []int{4}, positive: true, build: func(in []*Node) *Node { return LogLink(in[0], in[1]) }},
		} {
			t.Run(fmt.Sprintf("%s/m=%d,h=%d,seed=%d", c.name, m, h, seed), func(t *testing.T) {
				c.check(t, r, func(DType) {})
			})
		}
	}
}

func TestInnerIsTheInnerProductWithEveryCovariance(t *testing.T) {
	r := data.Stream(1, "inner")
	const m, tuples = 3, 4
	phi, omegas := normals(r, m*m), normals(r, tuples*m*m)
	var value *Capture
	var grads []*Capture
	g, err := Build(Float64, func(g *Graph) {
		p := g.Input("phi", m, m)
		y := Inner(p, g.Input("omegas", tuples, m*m))
		value = g.Capture(y)
		grads = g.Gradients(weighted(y, g.Input("weights", tuples)), p)
	})
	if err != nil {
		t.Fatal(err)
	}
	weights := normals(r, tuples)
	for name, v := range map[string][]float64{"phi": phi, "omegas": omegas, "weights": weights} {
		if err := g.Set(name, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Run(); err != nil {
		t.Fatal(err)
	}
	wantGrad := make([]float64, m*m)
	for q := range tuples {
		want := 0.0
		for i := range phi {
			want += phi[i] * omegas[q*m*m+i]
			wantGrad[i] += weights[q] * omegas[q*m*m+i]
		}
		same(t, "inner product", value.Value[q:q+1], []float64{want}, 1e-14)
	}
	same(t, "gradient", grads[0].Value, wantGrad, 1e-14)
}

func TestUnitLeavesAZeroEmbeddingAndItsGradientZero(t *testing.T) {
	c := opCase{in: [][]int{{3, 2}}, out: []int{3, 2}, build: func(in []*Node) *Node { return Unit(in[0]) }}
	k := c.compile(t, Float64)
	if err := k.Set("weights", []float64{1, 2, 3, 4, 5, 6}); err != nil {
		t.Fatal(err)
	}
	k.run(t, [][]float64{{3, 4, 0, 0, 0, -2}})
	same(t, "unit rows", k.value.Value, []float64{0.6, 0.8, 0, 0, 0, -1}, 1e-15)
	same(t, "gradient of the zero row", k.grads[0].Value[2:4], []float64{0, 0}, 0)
}

// Every operation that looks into the slot, over dense and sparse data, on a
// graph with room to spare.
func TestSlotOperationsHaveTheGradientsOfTheirValues(t *testing.T) {
	for seed := range uint64(6) {
		r := data.Stream(seed, "slot operations")
		d, h := 1+r.IntN(5), 1+r.IntN(3)
		sizes := []int{1 + r.IntN(6), 2 + r.IntN(6), 1 + r.IntN(3)}
		tasks := randomTasks(r, d, []float64{1, 0.15}[seed%2], sizes...)
		norm := []Norm{NormNone, NormSize}[seed/2%2]
		rows := sizes[0] + sizes[1] + sizes[2]
		s := NewSlot("p", rows+3, len(sizes)+2)
		put := func(dtype DType) {
			if err := s.Put(batchOf(t, dtype, norm, tasks)); err != nil {
				t.Fatal(err)
			}
		}
		stacked := []int{s.rows, h}
		cases := []opCase{
			{name: "Product", in: [][]int{{d, h}}, out: stacked, rows: rows, build: func(in []*Node) *Node { return Product(s, in[0]) }},
			{name: "Aggregate", in: [][]int{stacked}, out: stacked, rows: rows, build: func(in []*Node) *Node { return Aggregate(s, in[0]) }},
			{name: "Readout", in: [][]int{stacked}, out: []int{s.tasks, h}, build: func(in []*Node) *Node { return Readout(s, in[0]) }},
		}
		for _, act := range Activations() {
			cases = append(cases,
				opCase{name: string(act) + "/1", in: [][]int{{h}, stacked}, out: stacked, rows: rows, build: func(in []*Node) *Node { return Activate(s, act, in[0], in[1]) }},
				opCase{name: string(act) + "/2", in: [][]int{{h}, stacked, stacked}, out: stacked, rows: rows, build: func(in []*Node) *Node { return Activate(s, act, in[0], in[1:]...) }})
		}
		for _, c := range cases {
			t.Run(fmt.Sprintf("%s/d=%d,h=%d,sizes=%v,seed=%d", c.name, d, h, sizes, seed), func(t *testing.T) {
				c.check(t, r, put)
			})
		}
	}
}

// stockNetwork is the LGNN with its readout from Gorgonia's own operations on
// dense matrices, with P and the readout written out from their definitions.
func stockNetwork(t *testing.T, norm Norm, tasks []Task, layers int, params map[string][]float64, d, h int, weights []float64) (e []float64, grads map[string][]float64) {
	t.Helper()
	n := 0
	for _, task := range tasks {
		n += task.X.Rows()
	}
	x, p, w := make([]float64, n*d), make([]float64, n*n), make([]float64, len(tasks)*n)
	start := 0
	for j, task := range tasks {
		g, size := task.Graph, task.X.Rows()
		scale := 1.0
		if norm == NormSize {
			scale /= float64(size)
		}
		for i := range size {
			task.X.Visit(i, func(k int, v float64) { x[(start+i)*d+k] = v })
			w[j*n+start+i] = task.Weights[i]
			for k := range size {
				if g.Class[i] == g.Class[k] {
					p[(start+i)*n+start+k] = scale
				}
			}
			for _, k := range g.Index[g.Ptr[i]:g.Ptr[i+1]] {
				p[(start+i)*n+start+int(k)] = -scale
			}
		}
		start += size
	}
	names := []string{"L1", "b1", "L2", "b2"}
	var value *Capture
	var captures []*Capture
	g, err := Build(Float64, func(g *Graph) {
		X, P, R := g.Input("X", n, d), g.Input("P", n, n), g.Input("R", len(tasks), n)
		in := map[string]*Node{"L1": g.Input("L1", d, h), "b1": g.Input("b1", h), "L2": g.Input("L2", d, h), "b2": g.Input("b2", h)}
		H := Rectify(AddRow(MatMul(X, in["L1"]), in["b1"]))
		for range layers - 1 {
			H = Rectify(AddRow(Add(MatMul(X, in["L2"]), MatMul(P, H)), in["b2"]))
		}
		E := MatMul(R, H)
		value = g.Capture(E)
		var wrt []*Node
		for _, name := range names {
			wrt = append(wrt, in[name])
		}
		captures = g.Gradients(weighted(E, g.Input("weights", len(weights))), wrt...)
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string][]float64{"X": x, "P": p, "R": w, "weights": weights} {
		if err := g.Set(name, v); err != nil {
			t.Fatal(err)
		}
	}
	for name, v := range params {
		if err := g.Set(name, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Run(); err != nil {
		t.Fatal(err)
	}
	grads = map[string][]float64{}
	for i, name := range names {
		grads[name] = captures[i].Value
	}
	return value.Value, grads
}

// One graph, compiled once, serves problems of any shape and agrees with a
// dense graph of stock operations made for each.
func TestOneGraphServesEveryProblemAsADenseStockGraphWould(t *testing.T) {
	const d, h, depth = 6, 4, 3
	r := data.Stream(3, "stock")
	params := map[string][]float64{"L1": normals(r, d*h), "b1": normals(r, h), "L2": normals(r, d*h), "b2": normals(r, h)}
	const taskCapacity = 5
	weights := normals(r, taskCapacity*h)
	s := NewSlot("p", 60, taskCapacity)
	var value *Capture
	var captures []*Capture
	names := []string{"L1", "b1", "L2", "b2"}
	g, err := Build(Float64, func(g *Graph) {
		in := map[string]*Node{"L1": g.Input("L1", d, h), "b1": g.Input("b1", h), "L2": g.Input("L2", d, h), "b2": g.Input("b2", h)}
		H := Activate(s, ActReLU, in["b1"], Product(s, in["L1"]))
		for range depth - 1 {
			H = Activate(s, ActReLU, in["b2"], Product(s, in["L2"]), Aggregate(s, H))
		}
		E := Readout(s, H)
		value = g.Capture(E)
		captures = g.Gradients(weighted(E, g.Input("weights", taskCapacity*h)), in["L1"], in["b1"], in["L2"], in["b2"])
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range params {
		if err := g.Set(name, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Set("weights", weights); err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		var sizes []int
		for range 2 + r.IntN(taskCapacity-1) {
			sizes = append(sizes, 2+r.IntN(10))
		}
		norm := []Norm{NormNone, NormSize}[i%2]
		tasks := randomTasks(r, d, []float64{1, 0.2}[i/2%2], sizes...)
		if err := s.Put(batchOf(t, Float64, norm, tasks)); err != nil {
			t.Fatal(err)
		}
		if err := g.Run(); err != nil {
			t.Fatal(err)
		}
		m := len(sizes)
		e, grads := stockNetwork(t, norm, tasks, depth, params, d, h, weights[:m*h])
		same(t, fmt.Sprintf("E of sizes %v", sizes), value.Value[:m*h], e, 1e-12)
		same(t, "rows of E beyond the tasks", value.Value[m*h:], make([]float64, (taskCapacity-m)*h), 0)
		for k, name := range names {
			same(t, fmt.Sprintf("gradient of %s, sizes %v", name, sizes), captures[k].Value, grads[name], 1e-12)
		}
	}
}

func TestBuildRefusesWhatGorgoniaWouldGetWrong(t *testing.T) {
	scalar := func([]tensor.Shape) tensor.Shape { return tensor.ScalarShape() }
	flat := Op{Name: "flat", Shape: scalar, F32: weightedBody[float32], F64: weightedBody[float64]}
	for name, define := range map[string]func(g *Graph){
		"nothing captured":         func(g *Graph) { g.Input("x", 2) },
		"the same input twice":     func(g *Graph) { g.Capture(g.Input("x", 2)); g.Input("x", 2) },
		"an input of dimension 3":  func(g *Graph) { g.Capture(g.Input("x", 2, 2, 2)) },
		"operands that do not fit": func(g *Graph) { g.Capture(At(g.Input("x", 2), 5)) },
		"two inputs with one 32-bit hash": func(g *Graph) {
			a, b := collision(g)
			g.Capture(g.Input(a, 2))
			g.Capture(g.Input(b, 2))
		},
		"an input that the loss does not depend on": func(g *Graph) {
			g.Gradients(At(g.Input("x", 2), 0), g.Input("y", 2))
		},
		"the gradient of an operation without one": func(g *Graph) {
			x := g.Input("x", 2)
			g.Gradients(Apply(flat, x, x), x)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Build(Float64, define); !errors.Is(err, ErrGraph) {
				t.Errorf("the error is %v, want one of ErrGraph", err)
			}
		})
	}
	if _, err := Build("float16", func(*Graph) {}); !errors.Is(err, ErrGraph) {
		t.Errorf("unknown precision: %v", err)
	}
}

// collision finds two names of vectors of length 2 that Gorgonia takes for one.
func collision(g *Graph) (a, b string) {
	probe := g.Input("probe", 2)
	seen := map[uint32]string{}
	for r := data.Stream(1, "names"); ; {
		name := fmt.Sprintf("%x", r.Uint64()) // among some 2^16 names two collide
		h := fnv.New32a()
		fmt.Fprintf(h, "%v%v%s\x00", probe.Type(), probe.Shape(), name)
		if other, ok := seen[h.Sum32()]; ok {
			return other, name
		}
		seen[h.Sum32()] = name
	}
}

func TestAPanicInABodyIsAnErrorOfTheRun(t *testing.T) {
	g, err := Build(Float64, func(g *Graph) {
		g.Capture(Apply(Op{
			Name: "broken", Shape: sameShape,
			F64: func(View[float64], []View[float64]) { panic("no such luck") },
		}, g.Input("x", 2)))
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // and again after a failed run
		if err := g.Run(); err == nil || !strings.Contains(err.Error(), "no such luck") {
			t.Errorf("the error is %v", err)
		}
	}
}

func TestGraphsAreBuiltAndRunSideBySide(t *testing.T) {
	const d, h = 5, 3
	r := data.Stream(9, "side by side")
	batch := batchOf(t, Float64, NormSize, randomTasks(r, d, 1, 7, 9, 4)) // shared by all
	l, b := normals(r, d*h), normals(r, h)
	results := make([][]float64, 4)
	var wait sync.WaitGroup
	for w := range results {
		wait.Go(func() {
			s := NewSlot("p", 20, 3)
			var e, dl *Capture
			g, err := Build(Float64, func(g *Graph) {
				L, bias := g.Input("L", d, h), g.Input("b", h)
				E := Readout(s, Activate(s, ActTanh, bias, Product(s, L), Aggregate(s, Product(s, L))))
				e = g.Capture(E)
				dl = g.Gradients(Penalty(E), L)[0]
			})
			if err := errors.Join(err, s.Put(batch)); err != nil {
				t.Error(err)
				return
			}
			for range 50 {
				if err := errors.Join(g.Set("L", l), g.Set("b", b), g.Run()); err != nil {
					t.Error(err)
					return
				}
			}
			results[w] = append(append([]float64{}, e.Value...), dl.Value...)
		})
	}
	wait.Wait()
	for _, v := range results[1:] {
		same(t, "result of another goroutine", v, results[0], 0)
	}
}

func TestBatchesRefuseTasksThatDoNotFit(t *testing.T) {
	r := data.Stream(1, "misfits")
	good := randomTasks(r, 3, 1, 4, 5)
	change := func(f func(tasks []Task)) []Task {
		tasks := append([]Task{}, good...)
		f(tasks)
		return tasks
	}
	for name, tasks := range map[string][]Task{
		"no tasks":        nil,
		"no rows":         {{X: randomPoints{0, 3, nil}}},
		"too few weights": change(func(tasks []Task) { tasks[1].Weights = tasks[1].Weights[1:] }),
		"other features":  change(func(tasks []Task) { tasks[1].X = newPoints(r, 5, 4, 1) }),
		"other graph":     change(func(tasks []Task) { tasks[1].Graph = tasks[0].Graph }),
		"one graph only":  change(func(tasks []Task) { tasks[1].Graph = nil }),
	} {
		if _, err := NewBatch(Float32, NormSize, tasks); !errors.Is(err, data.ErrInvalid) && !errors.Is(err, data.ErrMismatch) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	b := batchOf(t, Float32, NormSize, good)
	if err := NewSlot("p", b.Rows()-1, 2).Put(b); !errors.Is(err, data.ErrMismatch) {
		t.Errorf("too many rows: the error is %v", err)
	}
	if err := NewSlot("p", b.Rows(), 1).Put(b); !errors.Is(err, data.ErrMismatch) {
		t.Errorf("too many tasks: the error is %v", err)
	}
}
