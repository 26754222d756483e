package layers

import (
	"errors"
	"fmt"
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
			if err := s.Put(b); err != nil || s.graph != nil {
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
	datatest.Holds(t, math.IsNaN(got.Value[1]) && math.IsInf(got.Value[3], 1) && s.graph == nil,
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
			h := must(gorgonia.Add(Product(s, g.Shared("w", w, 4, 3)), Product(s, g.Input("v", 4, 3))))
			y := must(gorgonia.Sum(must(gorgonia.Square(Readout(s, h)))))
			value = g.Capture(y)
			grads := Gradient(y, g.inputs["w"].node, g.inputs["v"].node)
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
		"NaN weight":       {change(func(h Head) Head { h[0].W[7] = float32(math.NaN()); return h }), data.ErrInvalid, "layer 0: weight (2, 1) is NaN"},
		"infinite bias":    {change(func(h Head) Head { h[1].B[1] = float32(math.Inf(-1)); return h }), data.ErrInvalid, "bias (0, 1) is -Inf"},
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
