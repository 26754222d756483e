package linalg_test

import (
	"fmt"

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
