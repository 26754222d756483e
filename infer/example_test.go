package infer_test

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"l2mt/infer"
)

// Three tasks: the estimator says that tasks 0 and 1 should share (a negative
// entry of Phi makes a positive covariance cheap) and that task 2 is opposed to
// both. Rho says how much a concentrated Omega costs.
func ExampleOmega() {
	phi := mat.NewSymDense(3, []float64{
		-1.0, -0.8, +0.4,
		-0.8, -1.0, +0.4,
		+0.4, +0.4, -1.0,
	})
	s, err := infer.Omega(phi, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("Omega = %.3f\n", mat.Formatted(s.Omega, mat.Prefix("        ")))
	fmt.Printf("kappa = %.3f\n", s.Kappa)
	fmt.Printf("mu    = %.3f\n", s.Mu)
	// Output:
	// Omega = ⎡ 0.350   0.350  -0.200⎤
	//         ⎢ 0.350   0.350  -0.200⎥
	//         ⎣-0.200  -0.200   0.300⎦
	// kappa = [-2.093 -0.707 -0.200]
	// mu    = [0.846 0.154 0.000]
}
