package layers

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"l2mt/data"
	"l2mt/data/datatest"
)

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
}

// Names that collide in one graph do not in the next one of the same memory.
func TestACollisionIsGoneInTheNextGraph(t *testing.T) {
	datatest.Long(t)
	var a, b string
	var captured [2]*Capture
	m := NewMemory(Float64)
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
	short := slices.Clone(good)
	short[1].Weights = short[1].Weights[1:]
	for name, tasks := range map[string][]Task{
		"no rows":         {{X: PointsOf(newMatrix(t, r, 0, 3, 0))}},
		"too few weights": short,
	} {
		if _, err := NewBatch(Float32, NormSize, tasks); !errors.Is(err, data.ErrInvalid) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	b := batchOf(t, Float32, NormSize, good)
	for _, rows := range [][]int{{4}, {4, 6}, {5, 4}, {4, 5, 1}} {
		other := batchOf(t, Float32, NormSize, randomTasks(t, r, 3, 1, rows...))
		datatest.Holds(t, other.Shape() != b.Shape(), "tasks of %v rows have the shape %s", rows, b.Shape())
	}
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
		s := &Slot{batchOf(t, Float64, norm, tasks)}
		put := func(dtype DType) { s.Batch = batchOf(t, dtype, norm, tasks) }
		stacked := []int{s.rows(), h}
		for _, c := range []opCase{
			{name: "Product", in: [][]int{{d, h}}, out: stacked, build: func(in []*Node) *Node { return Product(s, in[0]) }},
			{name: "Aggregate", in: [][]int{stacked}, out: stacked, build: func(in []*Node) *Node { return Aggregate(s, in[0]) }},
			{name: "Stack", in: [][]int{{300, 2}, {1, 2}, {300, 2}}, out: []int{601, 2}, build: func(in []*Node) *Node { return Stack(in...) }},
			{name: "Rows", in: [][]int{stacked}, out: []int{sizes[1], h}, build: func(in []*Node) *Node { return Rows(s, in[0], 1) }},
			{name: "Activate/1", in: [][]int{{h}, stacked}, out: stacked, build: func(in []*Node) *Node { return Activate(in[0], in[1]) }},
			{name: "Activate/2", in: [][]int{{h}, stacked, stacked}, out: stacked, build: func(in []*Node) *Node { return Activate(in[0], in[1:]...) }},
			{name: "Readout", in: [][]int{stacked}, out: []int{s.Tasks(), h}, build: func(in []*Node) *Node { return Readout(s, in[0]) }},
		} {
			t.Run(fmt.Sprintf("%s/d=%d,h=%d,sizes=%v,seed=%d", c.name, d, h, sizes, seed), func(t *testing.T) {
				c.check(t, r, put)
			})
		}
	}
}

// Gorgonia's tensors give their numbers by an address, which keeps no memory: it could be another's
// before the numbers were read.
func TestNumbersOutliveTheirTensors(t *testing.T) {
	x := gorgonia.NewVector(gorgonia.NewGraph(), tensor.Float32, gorgonia.WithShape(3))
	negative := foreign[float32](must(gorgonia.Neg(x)).Op(), []Shape{{3}})
	var work, collector sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	collector.Go(func() {
		for ctx.Err() == nil {
			runtime.GC()
		}
	})
	for range 4 {
		work.Go(func() {
			for range 100_000 {
				out := NewView[float32](3, 1)
				negative(out, []View[float32]{{3, 1, []float32{1, 2, 3}}})
				if !slices.Equal(out.Data, []float32{-1, -2, -3}) {
					t.Errorf("the negative of 1, 2, 3 is %v", out.Data)
					return
				}
			}
		})
	}
	work.Wait()
	stop()
	collector.Wait()
}
