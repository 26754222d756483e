package infer_test

import (
	"context"
	"fmt"
	"log"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/digits"
	"l2mt/infer"
	"l2mt/model"
)

// A new problem is solved: the network finds the covariance, the validation
// rows choose how much of it to use and Lambda1, and the test rows say what came
// of it. The network here is untrained; model.Load reads a trained one.
func ExampleNetwork_Fit() {
	d, err := digits.Load()
	if err != nil {
		log.Fatal(err)
	}
	_, file, err := data.SampleProblems(d, data.SampleConfig{Seed: 1, Train: 1, Test: 1, MaxTasks: 4, TrainFraction: 0.05})
	if err != nil {
		log.Fatal(err)
	}
	problems, err := file.Bind(d, ".", nil)
	if err != nil {
		log.Fatal(err)
	}
	config, err := model.Preset("default", d.X.Cols())
	if err != nil {
		log.Fatal(err)
	}
	untrained, err := model.NewNetwork(config, 1)
	if err != nil {
		log.Fatal(err)
	}
	network, err := infer.NewNetwork(untrained)
	if err != nil {
		log.Fatal(err)
	}
	fitted, err := network.Fit(context.Background(), problems[0], infer.FitOptions{})
	if err != nil {
		log.Fatal(err)
	}
	weights, tasks := fitted.Tuned.Result.W.Dims()
	fmt.Printf("Omega for %d tasks, chosen from %d candidates\n", fitted.Omega.SymmetricDim(), len(fitted.Tried))
	fmt.Printf("W is %d x %d, with %d test errors\n", weights, tasks, len(fitted.Tuned.Test.Task))
	// Output:
	// Omega for 4 tasks, chosen from 26 candidates
	// W is 64 x 4, with 4 test errors
}

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
	fmt.Printf("objective %.3f, unique %v\n", s.Objective, s.Unique())
	// Output:
	// Omega = ⎡ 0.350   0.350  -0.200⎤
	//         ⎢ 0.350   0.350  -0.200⎥
	//         ⎣-0.200  -0.200   0.300⎦
	// kappa = [-2.093 -0.707 -0.200]
	// mu    = [0.846 0.154 0.000]
	// objective -1.140, unique true
}

// The same tasks when the estimator has no quadratic part: everything goes to
// the lowest eigenvector of Phi, and Omega has rank one.
func ExampleOmega_linear() {
	phi := mat.NewSymDense(3, []float64{
		-1.0, -0.8, +0.4,
		-0.8, -1.0, +0.4,
		+0.4, +0.4, -1.0,
	})
	s, err := infer.Omega(phi, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("Omega = %.3f\n", mat.Formatted(s.Omega, mat.Prefix("        ")))
	// Output:
	// Omega = ⎡ 0.394   0.394  -0.289⎤
	//         ⎢ 0.394   0.394  -0.289⎥
	//         ⎣-0.289  -0.289   0.211⎦
}

// The scan alone, on eigenvalues that are already known. The largest one is too
// expensive to take part.
func ExampleDualScan() {
	kappa := []float64{0, 0.1, 1}
	mu, tau, objective, err := infer.DualScan(kappa, 0.25)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("mu = %.2f, tau = %.2f, objective = %.3f\n", mu, tau, objective)
	// Output:
	// mu = [0.60 0.40 0.00], tau = -0.30, objective = 0.170
}
