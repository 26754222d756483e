package multitask_test

import (
	"context"
	"fmt"
	"log"

	"l2mt/data"
	"l2mt/model/multitask"

	"gonum.org/v1/gonum/mat"
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

// Two tasks have nearly the same answer and the third the opposite one. MTRL
// learns how the tasks relate along with their weights.
func ExampleFit() {
	problem, err := multitask.NewTrainingSet(multitask.Logistic, []data.Samples{
		rows(25, [2]float64{2, 1}, 0.25),
		rows(25, [2]float64{1.5, 1}, 0.25),
		rows(25, [2]float64{-2, -1}, 0.25),
	}, "a", "b", "c")
	if err != nil {
		log.Fatal(err)
	}
	mtrl, err := multitask.Lookup("mtrl")
	if err != nil {
		log.Fatal(err)
	}
	fit, err := multitask.Fit(context.Background(), mtrl, problem, multitask.Params{Lambda1: 0.01}, multitask.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(fit.Status)
	fmt.Printf("trace of Omega %.2f\n", mat.Trace(fit.Omega))
	fmt.Println("a and b agree:", fit.Omega.At(0, 1) > 0)
	fmt.Println("a and c agree:", fit.Omega.At(0, 2) > 0)
	// Output:
	// converged
	// trace of Omega 1.00
	// a and b agree: true
	// a and c agree: false
}

// A covariance from anywhere is judged by a refit: it is held, Lambda1 is chosen
// by the validation rows, and the errors are those on the test rows.
func ExampleRefit() {
	problem := &data.ProblemData{Problem: &data.Problem{Name: "lines"}}
	for i, normal := range [][2]float64{{2, 1}, {1.5, 1}} {
		problem.Tasks = append(problem.Tasks, data.TaskData{
			Task:          &data.Task{Name: string(rune('a' + i)), Kind: data.Classification},
			TrainSet:      rows(25, normal, 0.25),
			ValidationSet: rows(25, normal, 0.5),
			TestSet:       rows(25, normal, 0.75),
		})
	}
	alike := mat.NewSymDense(2, []float64{1, 0.9, 0.9, 1})
	refit, err := multitask.Refit(context.Background(), alike, problem, multitask.TuneOptions{})
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
