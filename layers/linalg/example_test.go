package linalg_test

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"l2mt/layers/linalg"
)

// The product of two 2 x 2 matrices, by the kernels that suit the machine.
func Example() {
	kernels, err := linalg.Select()
	if err != nil {
		panic(err)
	}
	a, b, c := []float32{1, 2, 3, 4}, []float32{0, 1, 1, 0}, make([]float32, 4)
	linalg.Gemm(kernels, linalg.NoTrans, linalg.NoTrans, 2, 2, 2, 1, a, 2, b, 2, 0, c, 2)
	fmt.Println(c)
	// Output: [2 1 4 3]
}

// The eigenvalues of a symmetric matrix, and the vector of the second.
func ExampleTridiagonalise() {
	t := linalg.Tridiagonalise(mat.NewSymDense(2, []float64{2, 1, 1, 2}))
	values, _ := t.Values()
	vectors, ok := t.Lowest(values, 2)
	v := vectors.RawRowView(1)
	fmt.Printf("%.0f %.0f %v, of the second the entries are alike: %v\n", values[0], values[1], ok, math.Abs(v[0]-v[1]) < 1e-12)
	// Output: 1 3 true, of the second the entries are alike: true
}
