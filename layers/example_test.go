package layers_test

import (
	"errors"
	"fmt"

	op "gorgonia.org/gorgonia"

	"l2mt/layers"
)

// cube is x^3 of every entry: an operation of one's own, in both precisions, with a
// gradient in Gorgonia's. (Gorgonia has a Cube too.)
func cube(x *layers.Node) *layers.Node {
	return layers.Apply(layers.Op{
		Name:  "cube",
		Shape: layers.SameShape,
		F32:   cubes[float32],
		F64:   cubes[float64],
		Grad: func(in layers.Nodes, _, grad *layers.Node) layers.Nodes {
			square := op.Must(op.Mul(layers.Constant(grad, 3), op.Must(op.Square(in[0]))))
			return layers.Nodes{op.Must(op.HadamardProd(grad, square))} // 3 x^2 g
		},
	}, x)
}

func cubes[T layers.Float](out layers.View[T], in []layers.View[T]) {
	for i, x := range in[0].Data {
		out.Data[i] = x * x * x
	}
}

func ExampleApply() {
	var value, gradient *layers.Capture
	graph, err := layers.NewMemory(layers.Float32).Build(func(g *layers.Graph) {
		x := g.Input("x", 3)
		y := cube(x)
		value = g.Capture(y)
		gradient = g.Capture(layers.Gradient(op.Must(op.Sum(y)), x)[0])
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := errors.Join(graph.Set("x", []float64{1, 2, -3}), graph.Run()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(value.Value, gradient.Value)
	// Output: [1 8 -27] [3 12 27]
}
