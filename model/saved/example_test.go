package saved_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"l2mt/data"
	"l2mt/data/table"
	"l2mt/model/multitask"
	"l2mt/model/saved"
)

// From a table to predictions: two shops, and what a day's temperature sells.
func Example() {
	dir, err := os.MkdirTemp("", "shops")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "shops.csv")
	os.WriteFile(path, []byte("shop,temperature,sold\nA,10,21\nA,15,31\nA,20,41\nA,25,51\nA,30,61\nB,10,30\nB,20,50\nB,30,70\n"), 0o644)

	t, err := table.Read([]string{path}, table.Options{Task: "shop", Targets: []string{"sold"}})
	if err != nil {
		panic(err)
	}
	model, err := multitask.Lookup("mtrl")
	if err != nil {
		panic(err)
	}
	train, err := multitask.Training(t.Problem)
	if err != nil {
		panic(err)
	}
	fit, err := multitask.Fit(context.Background(), model, train, multitask.Params{Lambda1: 1e-3}, multitask.Options{})
	if err != nil {
		panic(err)
	}
	made, err := saved.New(fit, t.Problem, t.Recipe)
	if err != nil {
		panic(err)
	}
	if err := made.Save(filepath.Join(dir, "model")); err != nil {
		panic(err)
	}
	if made, err = saved.Load(filepath.Join(dir, "model")); err != nil {
		panic(err)
	}
	x, err := data.NewDense(1, 1, []float32{18})
	if err != nil {
		panic(err)
	}
	sold, err := made.Predict("B", x)
	fmt.Printf("%.0f %v\n", sold[0], err)
	// Output: 46 <nil>
}
