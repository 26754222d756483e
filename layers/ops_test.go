package layers

import (
	"fmt"
	"testing"

	"gorgonia.org/gorgonia"

	"l2mt/data"
	"l2mt/data/datatest"
)

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
