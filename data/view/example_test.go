package view_test

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/view"
)

// Steps are fitted on some rows and applied to any; weights for what they make are pulled back.
func Example() {
	x, err := data.NewDense(3, 2, []float32{1, 10, 2, 30, 3, 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	scale, err := view.Fit(view.Standardise, x)
	if err != nil {
		fmt.Println(err)
		return
	}
	steps := view.Steps{scale, view.FitCurves(x)}
	fmt.Println(steps.Names([]string{"age", "size"}))
	w, b := mat.NewDense(2, 1, []float64{1, 0}), []float64{5}
	scale.Pull(w, b)
	fmt.Printf("%.3f + %.3f age\n", b[0], w.At(0, 0))
	// Output:
	// [age size]
	// 2.551 + 1.225 age
}
