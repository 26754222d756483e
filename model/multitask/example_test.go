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
	var tasks []data.TaskData
	for i, normal := range [][2]float64{{2, 1}, {1.5, 1}, {-2, -1}} {
		task := &data.Task{Name: []string{"a", "b", "c"}[i], Kind: data.Classification}
		tasks = append(tasks, data.TaskData{Task: task, TrainSet: rows(25, normal, 0.25)})
	}
	problem, err := multitask.Training(&data.ProblemData{Tasks: tasks})
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
