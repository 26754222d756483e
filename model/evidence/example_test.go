package evidence_test

import (
	"context"
	"fmt"
	"log"

	"l2mt/data"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
)

// lines are two tasks with nearly the same answer: on which side of a line a point is.
func lines() *data.ProblemData {
	p := &data.ProblemData{Problem: &data.Problem{Name: "lines"}}
	for i, slope := range []float64{2, 1.5} {
		var points []float32
		var sides []float64
		for k := range 25 {
			x, y := float32(k%5)-1.75, float32(k/5)-1.75
			side := -1.0
			if slope*float64(x)+float64(y) > 0 {
				side = 1
			}
			points, sides = append(points, x, y), append(sides, side)
		}
		x, err := data.NewDense(25, 2, points)
		if err != nil {
			log.Fatal(err)
		}
		task := &data.Task{Name: fmt.Sprint("line ", i+1), Kind: data.Classification}
		p.Tasks = append(p.Tasks, data.TaskData{Task: task, TrainSet: data.Samples{X: x, Y: sides}})
	}
	return p
}

// Labelled rows choose the hyperparameters of two models, each row by fits that have not
// seen it, and say whether one is better.
func ExamplePairedLoss() {
	problem := lines()
	labelled, err := evidence.Labelled(problem)
	if err != nil {
		log.Fatal(err)
	}
	held := func(name string) *evidence.HeldOut {
		model, err := multitask.Lookup(name)
		if err != nil {
			log.Fatal(err)
		}
		chosen, err := evidence.Held(context.Background(), evidence.Of(model), labelled, evidence.Options{})
		if err != nil {
			log.Fatal(err)
		}
		return chosen.HeldOut
	}
	mtrl, stl := held("mtrl"), held("stl")
	fmt.Println("rows held out:", mtrl.Rows)
	fmt.Println("told from noise:", evidence.PairedLoss(mtrl, stl).Sign() != 0)
	// Output:
	// rows held out: 50
	// told from noise: true
}
