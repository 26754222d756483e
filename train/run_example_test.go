package train_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"l2mt/data"
	"l2mt/data/digits"
	"l2mt/model"
	"l2mt/train"
)

// A network is trained on made-up experience: sharing helps on every problem, the
// more the better. Package train/collect makes real experience, and Examples
// reads it.
func ExampleRun() {
	d, err := digits.Load()
	if err != nil {
		log.Fatal(err)
	}
	file, _, err := data.SampleProblems(d, data.SampleConfig{Seed: 1, Train: 3, Test: 1, MinTasks: 2, MaxTasks: 2, TrainFraction: 0.04})
	if err != nil {
		log.Fatal(err)
	}
	problems, err := file.Bind(d, ".", nil)
	if err != nil {
		log.Fatal(err)
	}
	var examples []train.Example
	for _, p := range problems {
		e := train.Example{Problem: p}
		for _, share := range []float64{0, 0.2, 0.4} {
			e.Tuples = append(e.Tuples, model.Tuple{Omega: []float64{0.5, share, share, 0.5}, O: math.Exp(-share)})
		}
		examples = append(examples, e)
	}
	config, err := train.Preset("default", d.X.Cols())
	if err != nil {
		log.Fatal(err)
	}
	config.Model.Hidden, config.Epochs = 4, 2
	report, err := train.Run(context.Background(), config, train.InMemory(examples), train.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(report.Metrics), "metrics,", len(report.Network.Params), "parameters")
	// Output: 3 metrics, 6 parameters
}
