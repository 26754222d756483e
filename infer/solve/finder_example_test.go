package solve_test

import (
	"context"
	"fmt"
	"log"

	"l2mt/data"
	"l2mt/data/digits"
	"l2mt/infer/solve"
	"l2mt/model"
)

// A new problem is solved: what the network says is a prior, all labelled rows
// are evidence, each left out in turn, and the test rows say what came of it. The network here is untrained; model.Load reads a trained one.
func ExampleFinder_Fit() {
	d, err := digits.Load()
	if err != nil {
		log.Fatal(err)
	}
	_, file, err := data.SampleProblems(d, data.SampleConfig{Seed: 1, Train: 1, Test: 1, MaxTasks: 4, TrainFraction: 0.03, ValidationFraction: 0.03})
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
	network, err := solve.NewFinder(untrained)
	if err != nil {
		log.Fatal(err)
	}
	fitted, err := network.Fit(context.Background(), problems[0], solve.FitOptions{})
	if err != nil {
		log.Fatal(err)
	}
	weights, tasks := fitted.Tuned.Result.W.Dims()
	fmt.Printf("Omega for %d tasks, fitted on %d labelled rows\n", fitted.Omega.SymmetricDim(), fitted.Tuned.HeldOut.Rows)
	fmt.Printf("W is %d x %d, with %d test errors\n", weights, tasks, len(fitted.Tuned.Test.Task))
	// Output:
	// Omega for 4 tasks, fitted on 80 labelled rows
	// W is 64 x 4, with 4 test errors
}
