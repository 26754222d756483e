package train_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"l2mt/data"
	"l2mt/infer/solve"
	"l2mt/train"
	"l2mt/train/collect"
)

// Problems of one's own, in memory: covariances are tried on four of them, a network
// learns from what came of it, and finds a covariance for the fifth.
func Example() {
	ctx := context.Background()
	var problems []*data.ProblemData
	for i := range uint64(5) {
		problems = append(problems, machines(i))
	}
	experience := collect.Config{Models: []string{"snr2"}, Draws: 1, Explore: 4, Measured: collect.OfRefit}
	tuples, err := collect.Tuples(ctx, problems[:4], experience, collect.Options{})
	check(err)
	var examples []train.Example
	for i, t := range tuples {
		examples = append(examples, train.Example{Problem: problems[i], Tuples: t})
	}
	config, err := train.Preset("default", 3)
	check(err)
	config.Model.Hidden, config.Epochs = 4, 20
	dir, err := os.MkdirTemp("", "network")
	check(err)
	defer os.RemoveAll(dir)
	report, err := train.Run(ctx, config, examples, train.Options{Out: dir})
	check(err)
	fitted, err := solve.Fit(ctx, solve.NewFinder(report.Network), problems[4], solve.Options{})
	check(err)
	fmt.Printf("%d tuples a problem; a third of the mean's error, or less: %t\n", len(tuples[0]), fitted.Test.Mean < 1.0/3)
	// Output: 6 tuples a problem; a third of the mean's error, or less: true
}

// machines are tasks, whose targets follow from three measurements, with noise.
func machines(factory uint64) *data.ProblemData {
	p, r := &data.ProblemData{Problem: &data.Problem{Name: fmt.Sprint("factory ", factory)}}, data.Stream(factory, "machines")
	for i := range 4 {
		var rows [3]data.Samples // to train on, to validate on, to test on
		for k := range rows {
			x, y := make([]float32, 8*3), make([]float64, 8)
			for j := range x {
				x[j] = float32(r.NormFloat64())
				y[j/3] += []float64{1, -1, 0.1 * float64(i)}[j%3]*float64(x[j]) + 0.3*r.NormFloat64()
			}
			dense, err := data.NewDense(8, 3, x)
			check(err)
			rows[k] = data.Samples{X: dense, Y: y}
		}
		task := &data.Task{Name: fmt.Sprint("machine ", i), Kind: data.Regression}
		p.Tasks = append(p.Tasks, data.TaskData{Task: task, TrainSet: rows[0], ValidationSet: rows[1], TestSet: rows[2]})
	}
	return p
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
