package data_test

import (
	"fmt"
	"io"
	"strings"

	"l2mt/data"
	"l2mt/data/format"
	"l2mt/data/table"
)

// Rows with a group become a problem with a task for every group.
func Example() {
	var text strings.Builder
	text.WriteString("width,height,orchard,fruit\n")
	for i := range 8 {
		fmt.Fprintf(&text, "%d,%d,north,apple\n%d,%d,north,pear\n", 5+i%3, 5, 4, 7+i%2)
		fmt.Fprintf(&text, "%d,%d,south,apple\n%d,%d,south,pear\n", 6+i%2, 6, 5, 9+i%3)
	}
	in := io.NopCloser(strings.NewReader(text.String()))
	d, err := table.Dataset("fruit", table.Options{Task: "orchard", Format: format.Options{From: in, Label: "fruit"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	file, _, err := data.GroupProblems(d, data.SampleConfig{Seed: 1, All: true, MinTasks: 2, MaxTasks: 2, TrainFraction: 0.3, ValidationFraction: 0.3})
	if err != nil {
		fmt.Println(err)
		return
	}
	problems, err := file.Bind(d)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range problems[0].Tasks {
		fmt.Println(t.Name, t.Negative, t.Positive, t.TrainSet.X.Rows(), t.ValidationSet.X.Rows(), t.TestSet.X.Rows())
	}
	// Output:
	// north apple pear 4 4 8
	// south apple pear 4 4 8
}
