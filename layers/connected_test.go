package layers

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"

	"l2mt/data"
	"l2mt/data/datatest"
)

// The operations of a trained head.
func TestHeadOperationsHaveTheGradientsOfTheirValues(t *testing.T) {
	for seed := range uint64(6) {
		r := data.Stream(seed, "head operations")
		d, h := 2+r.IntN(4), 1+r.IntN(4)
		sizes := []int{2 + r.IntN(5), 3 + r.IntN(5)}
		tasks := randomTasks(t, r, d, 1, sizes...)
		s := NewSlot(batchOf(t, Float64, NormSize, tasks))
		put := func(dtype DType) {
			datatest.Check(t, s.Put(batchOf(t, dtype, NormSize, tasks)))
		}
		for _, c := range []opCase{
			{name: "Regraph", in: [][]int{{s.rows(), d}}, out: []int{s.rows(), d}, build: func(in []*Node) *Node { return Regraph(s, 2, in[0]) }},
			// Neighbours are not what an infinitesimal step changes.
			{name: "Regraph, Aggregate", in: [][]int{{s.rows(), d}}, out: []int{s.rows(), d}, build: func(in []*Node) *Node { return Aggregate(s, Regraph(s, 2, in[0])) }},
			{name: "two layers", in: [][]int{{d, h}, {h}, {h, 3}, {3}}, out: []int{s.rows(), 3}, build: func(in []*Node) *Node {
				f := Activate(true, in[1], Product(s, in[0]))
				return Activate(false, in[3], must(gorgonia.Mul(f, in[2])))
			}},
		} {
			t.Run(fmt.Sprintf("%s/d=%d,h=%d,sizes=%v,seed=%d", c.name, d, h, sizes, seed), func(t *testing.T) {
				c.check(t, r, put)
			})
		}
	}
}

// Aggregating after Regraph is aggregating over the label graph that the
// features would have had from the start, and the next batch starts afresh.
func TestRegraphIsTheLabelGraphOfTheFeatures(t *testing.T) {
	for seed := range uint64(8) {
		r := data.Stream(seed, "regraph")
		width, k := 1+r.IntN(4), 1+r.IntN(3)
		tasks := randomTasks(t, r, 3, 1, 4+r.IntN(6), 5+r.IntN(6))
		norm := []Norm{NormNone, NormSize}[seed%2]
		batch := batchOf(t, Float64, norm, tasks)
		x := newMatrix(t, r, batch.rows, width, 1)
		afresh, row := append([]Task{}, tasks...), 0
		for j := range afresh {
			var rows []int
			for range afresh[j].X.Rows() {
				rows = append(rows, row)
				row++
			}
			afresh[j].Graph = datatest.Must(data.NewLabelGraph(x.Take(rows), tasks[j].Graph.Class, k))(t)
		}
		run := func(b *Batch, through func(*Slot, *Node) *Node) []float64 {
			s := NewSlot(b)
			var sum *Capture
			g, err := build(Float64, func(g *Graph) { sum = g.Capture(Aggregate(s, through(s, g.Input("f", s.rows(), width)))) })
			for range 2 {
				datatest.Check(t, errors.Join(err, s.Put(b), g.Set("f", DenseRows(PointsOf(x)).Data), g.Run()))
			}
			if err := s.Put(b); err != nil || s.graph != b.graph {
				t.Errorf("seed %d: the next batch does not start afresh (%v)", seed, err)
			}
			return sum.Value
		}
		got := run(batch, func(s *Slot, f *Node) *Node { return Regraph(s, k, f) })
		want := run(batchOf(t, Float64, norm, afresh), func(_ *Slot, f *Node) *Node { return f })
		same(t, fmt.Sprintf("seed %d", seed), got, want, 0)
	}
}

func TestRegraphLeavesFeaturesThatAreNotFiniteAlone(t *testing.T) {
	tasks := randomTasks(t, data.Stream(1, "not finite"), 2, 1, 5)
	s := NewSlot(batchOf(t, Float64, NormSize, tasks))
	var got *Capture
	g, err := build(Float64, func(g *Graph) { got = g.Capture(Regraph(s, 2, g.Input("f", 5, 1))) })
	datatest.Check(t, errors.Join(err, s.Put(batchOf(t, Float64, NormSize, tasks)), g.Set("f", []float64{1, math.NaN(), 3, math.Inf(1), 5}), g.Run()))
	datatest.Holds(t, math.IsNaN(got.Value[1]) && math.IsInf(got.Value[3], 1) && s.graph == s.batch.graph,
		"the features are %v and the graph %v", got.Value, s.graph)
}

// By the definition, one row and one number at a time.
func TestAHeadIsAppliedAsDefined(t *testing.T) {
	for seed := range uint64(6) {
		r := data.Stream(seed, "apply")
		h := randomHead(r, 1+r.IntN(6), 1+r.IntN(5), 1+r.IntN(5), 2)
		x := newMatrix(t, r, []int{3, rowsAtOnce + 5}[seed%2], h.In(), []float64{1, 0.6}[seed%3/2])
		rows := DenseRows(PointsOf(x))
		for n := range len(h) + 1 {
			made := DenseRows(PointsOf(datatest.Must(h.Apply(x, n))(t)))
			for i := range rows.Rows {
				row := rows.Row(i)
				for k, l := range h[:n] {
					next := make([]float64, l.Out)
					for o := range next {
						next[o] = float64(l.B[o])
						for j, v := range row {
							next[o] += v * float64(l.W[j*l.Out+o])
						}
						if k < len(h)-1 {
							next[o] = max(next[o], 0)
						}
					}
					row = next
				}
				same(t, fmt.Sprintf("seed %d, %d layers, row %d", seed, n, i), made.Row(i), row, 1e-4)
			}
		}
	}
}

// Weights that are shared are read where they are, and their gradient is that
// of weights which are set.
func TestSharedInputsFollowTheirOwner(t *testing.T) {
	for _, dtype := range []DType{Float32, Float64} {
		r := data.Stream(2, "shared")
		w := randomHead(r, 4, 3)[0].W
		tasks := randomTasks(t, r, 4, 1, 6)
		s := NewSlot(batchOf(t, dtype, NormSize, tasks))
		var value *Capture
		var held []float32
		var captured *Capture
		g, err := build(dtype, func(g *Graph) {
			shared, v := g.Shared("w", w, 4, 3), g.Input("v", 4, 3)
			h := must(gorgonia.Add(Product(s, shared), Product(s, v)))
			y := must(gorgonia.Sum(must(gorgonia.Square(Readout(s, h)))))
			value = g.Capture(y)
			grads := Gradient(y, shared, v)
			g.Hold(grads[0], &held)
			captured = g.Capture(grads[1])
		})
		datatest.Check(t, errors.Join(err, s.Put(batchOf(t, dtype, NormSize, tasks))))
		var before float64
		for step := range 3 {
			datatest.Check(t, g.Run())
			datatest.Holds(t, step <= 0 || value.Value[0] != before,
				"%s: the graph does not see the new weights", dtype)
			before = value.Value[0]
			for i, v := range held {
				datatest.Holds(t, math.Abs(float64(v)-captured.Value[i]) <= 1e-6*(1+math.Abs(captured.Value[i])),
					"%s: the gradient held is %v, captured %v", dtype, held, captured.Value)
				w[i] -= 0.01 * v
			}
		}
	}
}

func TestHeadsThatCannotBeAreRefused(t *testing.T) {
	r := data.Stream(1, "bad heads")
	change := func(f func(h Head) Head) Head { return f(randomHead(r, 4, 3, 2)) }
	for name, c := range map[string]struct {
		head Head
		want error
		text string
	}{
		"no layers":        {nil, data.ErrInvalid, "no layers"},
		"no chain":         {Head{randomHead(r, 4, 3)[0], randomHead(r, 2, 2)[0]}, data.ErrMismatch, "layer 1: it takes 2 numbers, but layer 0 makes 3"},
		"missing bias":     {change(func(h Head) Head { h[1].B = nil; return h }), data.ErrInvalid, "layer 1: it is 3 x 2 with 6 weights and 0 biases"},
		"too few weights":  {change(func(h Head) Head { h[0].W = h[0].W[1:]; return h }), data.ErrInvalid, "11 weights"},
		"NaN weight":       {change(func(h Head) Head { h[0].W[7] = float32(math.NaN()); return h }), data.ErrInvalid, "layer 0: a weight or bias is infinite or is NaN"},
		"infinite bias":    {change(func(h Head) Head { h[1].B[1] = float32(math.Inf(-1)); return h }), data.ErrInvalid, "layer 1: a weight or bias"},
		"sound, of course": {randomHead(r, 4, 3, 2), nil, ""},
	} {
		err := c.head.Validate()
		datatest.Holds(t, errors.Is(err, c.want) && (err == nil || strings.Contains(err.Error(), c.text)),
			"%s: the error is %v", name, err)
	}
	datatest.Refused(randomHead(r, 4, 2).Apply(newMatrix(t, r, 2, 3, 1), 1))(t, data.ErrMismatch, "3 features, but the head takes 4")
}

func TestTheSumOfAHeadIsThatOfItsContent(t *testing.T) {
	h := randomHead(data.Stream(1, "sum"), 5, 4, 3)
	sum := h.Sum()
	if c := h.Clone(); c.Sum() != sum || &c[0].W[0] == &h[0].W[0] {
		t.Error("the copy is another, or no copy")
	}
	for _, part := range [][]float32{h[0].W, h[0].B, h[1].W, h[1].B} {
		part[len(part)-1]++
		datatest.Holds(t, h.Sum() != sum, "a change leaves the sum")
		part[len(part)-1]--
	}
	datatest.Holds(t, h.String() == "5-4-3" && Head(nil).String() == "", "the widths are %q", h)
}

func TestBuildRefusesWhatGorgoniaWouldGetWrong(t *testing.T) {
	datatest.Long(t)
	flat := Op{Name: "flat", Shape: ScalarShape, F32: identityMatrix[float32], F64: identityMatrix[float64]}
	for name, define := range map[string]func(g *Graph){
		"the same input twice":     func(g *Graph) { g.Capture(g.Input("x", 2)); g.Input("x", 2) },
		"an input of dimension 3":  func(g *Graph) { g.Capture(g.Input("x", 2, 2, 2)) },
		"operands that do not fit": func(g *Graph) { g.Capture(must(gorgonia.Slice(g.Input("x", 2), gorgonia.S(5)))) },
		"two inputs with one 32-bit hash": func(g *Graph) {
			a, b := collision(g)
			g.Capture(g.Input(a, 2))
			g.Capture(g.Input(b, 2))
		},
		"an input that the loss does not depend on": func(g *Graph) {
			gradients(g, must(gorgonia.Sum(g.Input("x", 2))), g.Input("y", 2))
		},
		"the gradient of an operation without one": func(g *Graph) {
			x := g.Input("x", 2)
			gradients(g, Apply(flat, x), x)
		},
	} {
		t.Run(name, func(t *testing.T) {
			datatest.Refused(build(Float64, define))(t, ErrGraph)
		})
	}
	datatest.Refused(build("float16", func(*Graph) {}))(t, ErrGraph)
}

// Names that collide in one graph do not in the next one of the same memory.
func TestACollisionIsGoneInTheNextGraph(t *testing.T) {
	datatest.Long(t)
	var a, b string
	var captured [2]*Capture
	m := datatest.Must(NewMemory(Float64))(t)
	define := func(g *Graph) {
		if a == "" {
			a, b = collision(g)
		}
		for i, name := range []string{a, b} {
			captured[i] = g.Capture(must(gorgonia.Sum(g.Input(name, 2))))
		}
	}
	datatest.Refused(m.Build(define))(t, ErrAlike)
	g := datatest.Must(m.Build(define))(t)
	for i, name := range []string{a, b} {
		datatest.Check(t, g.Set(name, []float64{float64(i), 10}))
	}
	if err := g.Run(); err != nil || captured[0].Value[0] != 10 || captured[1].Value[0] != 11 {
		t.Errorf("the sums are %v and %v, want 10 and 11 (%v)", captured[0].Value, captured[1].Value, err)
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
	cause := errors.New("no such luck")
	for _, reason := range []any{"no such luck", cause} {
		g := datatest.Must(build(Float64, func(g *Graph) {
			g.Capture(Apply(Op{
				Name: "broken", Shape: SameShape,
				F64: func(View[float64], []View[float64]) { panic(reason) },
			}, g.Input("x", 2)))
		}))(t)
		for range 2 { // and again after a failed run
			if err := g.Run(); err == nil || !strings.Contains(err.Error(), "no such luck") || errors.Is(err, cause) != (reason == cause) {
				t.Errorf("the error is %v", err)
			}
		}
	}
}

func TestBatchesRefuseTasksThatDoNotFit(t *testing.T) {
	r := data.Stream(1, "misfits")
	good := randomTasks(t, r, 3, 1, 4, 5)
	change := func(f func(tasks []Task)) []Task {
		tasks := append([]Task{}, good...)
		f(tasks)
		return tasks
	}
	for name, tasks := range map[string][]Task{
		"no rows":         {{X: PointsOf(newMatrix(t, r, 0, 3, 0))}},
		"too few weights": change(func(tasks []Task) { tasks[1].Weights = tasks[1].Weights[1:] }),
		"other features":  change(func(tasks []Task) { tasks[1].X = PointsOf(newMatrix(t, r, 5, 4, 1)) }),
	} {
		if _, err := NewBatch(Float32, NormSize, tasks); !errors.Is(err, data.ErrInvalid) && !errors.Is(err, data.ErrMismatch) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	b := batchOf(t, Float32, NormSize, good)
	for _, rows := range [][]int{{4}, {4, 6}, {5, 4}, {4, 5, 1}} {
		other := batchOf(t, Float32, NormSize, randomTasks(t, r, 3, 1, rows...))
		if err := NewSlot(other).Put(b); !errors.Is(err, data.ErrMismatch) || other.Shape() == b.Shape() {
			t.Errorf("a graph for tasks of %v rows: the error is %v", rows, err)
		}
	}
	datatest.Check(t, NewSlot(b).Put(b))
}

func TestOperationsHaveTheGradientsOfTheirValues(t *testing.T) {
	for seed := range uint64(6) {
		r := data.Stream(seed, "operations")
		m, h := 1+r.IntN(5), 1+r.IntN(4)
		for _, c := range []opCase{
			{name: "Unit", in: [][]int{{m, h}}, out: []int{m, h}, build: func(in []*Node) *Node { return Unit(in[0]) }},
			{name: "Identity", in: [][]int{{m, m}, {2}}, out: []int{m, m}, build: func(in []*Node) *Node {
				return must(gorgonia.Add(in[0], must(gorgonia.Mul(must(gorgonia.Slice(in[1], gorgonia.S(1))), Identity(in[0])))))
			}},
			{name: "Distances-", in: [][]int{{m, h}}, out: []int{m, m}, build: func(in []*Node) *Node { return Distances(-1, in[0]) }},
			{name: "Distances+", in: [][]int{{m, h}}, out: []int{m, m}, build: func(in []*Node) *Node { return Distances(1, in[0]) }},
			{name: "Penalty", in: [][]int{{m, h}}, out: nil, build: func(in []*Node) *Node { return Penalty(in[0]) }},
		} {
			t.Run(fmt.Sprintf("%s/m=%d,h=%d,seed=%d", c.name, m, h, seed), func(t *testing.T) {
				c.check(t, r, func(DType) {})
			})
		}
	}
}

func TestUnitLeavesAZeroEmbeddingAndItsGradientZero(t *testing.T) {
	c := opCase{in: [][]int{{3, 2}}, out: []int{3, 2}, build: func(in []*Node) *Node { return Unit(in[0]) }}
	k := c.compile(t, Float64)
	datatest.Check(t, k.Set("weights", []float64{1, 2, 3, 4, 5, 6}))
	k.run(t, [][]float64{{3, 4, 0, 0, 0, -2}})
	same(t, "unit rows", k.value.Value, []float64{0.6, 0.8, 0, 0, 0, -1}, 1e-15)
	same(t, "gradient of the zero row", k.grads[0].Value[2:4], []float64{0, 0}, 0)
}

// Every operation that looks into the slot, over dense and sparse data.
func TestSlotOperationsHaveTheGradientsOfTheirValues(t *testing.T) {
	datatest.Long(t)
	for seed := range uint64(6) {
		r := data.Stream(seed, "slot operations")
		d, h := 1+r.IntN(5), 1+r.IntN(3)
		sizes := []int{1 + r.IntN(6), 2 + r.IntN(6), 1 + r.IntN(3)}
		tasks := randomTasks(t, r, d, []float64{1, 0.15}[seed%2], sizes...)
		norm := []Norm{NormNone, NormSize}[seed/2%2]
		s := NewSlot(batchOf(t, Float64, norm, tasks))
		put := func(dtype DType) {
			datatest.Check(t, s.Put(batchOf(t, dtype, norm, tasks)))
		}
		stacked := []int{s.rows(), h}
		cases := []opCase{
			{name: "Product", in: [][]int{{d, h}}, out: stacked, build: func(in []*Node) *Node { return Product(s, in[0]) }},
			{name: "Aggregate", in: [][]int{stacked}, out: stacked, build: func(in []*Node) *Node { return Aggregate(s, in[0]) }},
			{name: "Stack", in: [][]int{{300, 2}, {1, 2}, {300, 2}}, out: []int{601, 2}, build: func(in []*Node) *Node { return Stack(in...) }},
			{name: "Rows", in: [][]int{stacked}, out: []int{sizes[1], h}, build: func(in []*Node) *Node { return Rows(s, in[0], 1) }},
			{name: "Readout", in: [][]int{stacked}, out: []int{s.Tasks(), h}, build: func(in []*Node) *Node { return Readout(s, in[0]) }},
		}
		for _, act := range []bool{false, true} {
			cases = append(cases,
				opCase{name: fmt.Sprintf("Activate(%t)/1", act), in: [][]int{{h}, stacked}, out: stacked, build: func(in []*Node) *Node { return Activate(act, in[0], in[1]) }},
				opCase{name: fmt.Sprintf("Activate(%t)/2", act), in: [][]int{{h}, stacked, stacked}, out: stacked, build: func(in []*Node) *Node { return Activate(act, in[0], in[1:]...) }})
		}
		for _, c := range cases {
			t.Run(fmt.Sprintf("%s/d=%d,h=%d,sizes=%v,seed=%d", c.name, d, h, sizes, seed), func(t *testing.T) {
				c.check(t, r, put)
			})
		}
	}
}
