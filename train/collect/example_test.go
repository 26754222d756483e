package collect_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"l2mt/data"
	"l2mt/data/digits"
	"l2mt/train/collect"
)

// Experience is made on two problems: single-task learning, one model and two
// random covariances for each. The same call again would find nothing to do.
func Example() {
	d, err := digits.Load()
	if err != nil {
		log.Fatal(err)
	}
	file, _, err := data.SampleProblems(d, data.SampleConfig{Seed: 1, Train: 2, Test: 1, MinTasks: 2, MaxTasks: 2, TrainFraction: 0.04, ValidationFraction: 0.3})
	if err != nil {
		log.Fatal(err)
	}
	problems, err := file.Bind(d)
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	config := collect.Config{Models: []string{"snr2"}, Draws: 1, Explore: 2, Measured: collect.OfRefit, Seed: 1}
	dataset := data.DatasetRef{Path: d.Name, SHA256: d.Fingerprint()}
	collector, err := collect.Open(filepath.Join(dir, "experience"), config, dataset, "example")
	if err != nil {
		log.Fatal(err)
	}
	defer collector.Close()
	summary, err := collector.Run(context.Background(), collect.InMemory(problems), collect.Options{})
	fmt.Printf("%+v %v\n", summary, err)
	// Output: {Made:8 Failed:0 Had:0 Perfect:0} <nil>
}
