package layers_test

import (
	"errors"
	"fmt"

	"l2mt/layers"
)

// A graph is built once and run for any numbers: here the cosines between
// embeddings, and the gradient of their sum.
func Example() {
	var cosines, gradient *layers.Capture
	graph, err := layers.Build(layers.Float64, func(g *layers.Graph) {
		e := g.Input("E", 3, 2)
		c := layers.Gram(layers.Unit(e)) // 3 x 3
		cosines = g.Capture(c)
		gradient = g.Gradients(layers.Sum(c), e)[0]
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer graph.Close()
	if err := errors.Join(graph.Set("E", []float64{1, 0, 0, 2, 3, 3}), graph.Run()); err != nil {
		fmt.Println(err)
		return
	}
	for i := range 3 {
		fmt.Printf("%.3f\n", cosines.Value[3*i:][:3])
	}
	fmt.Println(len(gradient.Value), "entries of the gradient")
	// Output:
	// [1.000 0.000 0.707]
	// [0.000 1.000 0.707]
	// [0.707 0.707 1.000]
	// 6 entries of the gradient
}
