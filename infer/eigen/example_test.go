package eigen_test

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"l2mt/infer/eigen"
)

func Example() {
	values, vectors, ok := eigen.New(mat.NewSymDense(2, []float64{2, 1, 1, 2})).All()
	v := vectors.RawRowView(1)
	fmt.Printf("%.0f %.0f %v, of the second the entries are alike: %v\n", values[0], values[1], ok, v[0]-v[1] < 1e-15)
	// Output: 1 3 true, of the second the entries are alike: true
}
