package evidence_test

import (
	"context"
	"fmt"
	"log"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
)

// rows returns n labelled points of the plane on a grid; the label is the side
// of the line through the origin with the given normal.
func rows(n int, normal [2]float64, shift float32) data.Samples {
	var values []float32
	var labels []float64
	for i := range n {
		x, y := float32(i%5)-2+shift, float32(i/5%5)-2+shift
		label := -1.0
		if normal[0]*float64(x)+normal[1]*float64(y) > 0 {
			label = 1
		}
		values, labels = append(values, x, y), append(labels, label)
	}
	x, err := data.NewDense(n, 2, values)
	if err != nil {
		log.Fatal(err)
	}
	return data.Samples{X: x, Y: labels}
}

// lines are two tasks with nearly the same answer.
func lines() *data.ProblemData {
	p := &data.ProblemData{Problem: &data.Problem{Name: "lines"}}
	for i, normal := range [][2]float64{{2, 1}, {1.5, 1}} {
		p.Tasks = append(p.Tasks, data.TaskData{
			Task:          &data.Task{Name: string(rune('a' + i)), Kind: data.Classification},
			TrainSet:      rows(25, normal, 0.25),
			ValidationSet: rows(25, normal, 0.5),
			TestSet:       rows(25, normal, 0.75),
		})
	}
	return p
}

// A covariance from anywhere is judged by a refit: it is held, Lambda1 is chosen
// by the validation rows, and the errors are those on the test rows.
func ExampleRefit() {
	problem := lines()
	split, err := evidence.NewSplit(problem)
	if err != nil {
		log.Fatal(err)
	}
	alike := mat.NewSymDense(2, []float64{1, 0.9, 0.9, 1})
	refit, err := evidence.Refit(context.Background(), alike, split, problem, evidence.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("trace of Omega %.2f\n", mat.Trace(refit.Omega))
	fmt.Println("settings tried:", len(refit.Trials))
	fmt.Println("better than guessing:", refit.Test.Mean < 0.5)
	// Output:
	// trace of Omega 1.00
	// settings tried: 18
	// better than guessing: true
}

// All labelled rows choose the hyperparameters of two models, each row by fits that have
// not seen it, and say whether one is better.
func ExamplePairedLoss() {
	problem := lines()
	labelled, err := evidence.Labelled(problem, 1)
	if err != nil {
		log.Fatal(err)
	}
	tune := func(name string) *evidence.HeldOut {
		model, err := multitask.Lookup(name)
		if err != nil {
			log.Fatal(err)
		}
		fit, err := evidence.Tune(context.Background(), evidence.Of(model), labelled, problem, evidence.Options{})
		if err != nil {
			log.Fatal(err)
		}
		return fit.HeldOut
	}
	mtrl, stl := tune("mtrl"), tune("stl")
	low, high := evidence.PairedLoss(mtrl, stl).Interval()
	fmt.Println("rows held out:", mtrl.Rows)
	fmt.Println("told from noise:", high < 0 || low > 0)
	// Output:
	// rows held out: 100
	// told from noise: false
}
