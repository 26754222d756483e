package mixed_test

import (
	"context"
	"fmt"

	"l2mt/model/mixed"
)

// Three schools have a level each. The school of one pupil is drawn to the level of all.
func Example() {
	ones := []float64{1, 1, 1, 1}
	p := mixed.Problem{
		Tasks: []mixed.Task{
			{Features: ones, Y: []float64{1, 3, 1, 3}, Loading: 1},
			{Features: ones, Y: []float64{-3, -1, -3, -1}, Loading: 1},
			{Features: ones[:1], Y: []float64{6}, Loading: 1},
		},
		Components: []mixed.Component{{Name: "level", Own: 3}},
		Part:       []int{0},
		Noise:      1,
	}
	fit, err := mixed.New(context.Background(), p, mixed.Options{Given: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	// Levels are n 3 / (n 3 + 1) of the means, 2, -2 and 6.
	for i, own := range fit.Own {
		fmt.Printf("%.3f, of whose variance %.3f is left\n", own[0], fit.Left[i])
	}
	// Output:
	// 1.846, of whose variance 0.077 is left
	// -1.846, of whose variance 0.077 is left
	// 4.500, of whose variance 0.250 is left
}
