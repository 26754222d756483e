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

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// From a table to predictions: two shops, and what a day's temperature sells.
func Example() {
	dir := must(os.MkdirTemp("", "shops"))
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "shops.csv")
	os.WriteFile(path, []byte("shop,temperature,sold\nA,10,21\nA,15,31\nA,20,41\nA,25,51\nA,30,61\nB,10,30\nB,20,50\nB,30,70\n"), 0o644)

	t := must(table.Read([]string{path}, table.Options{Task: "shop", Targets: []string{"sold"}}))
	model := must(multitask.Lookup("mtrl"))
	train := must(multitask.Training(t.Problem))
	fit := must(multitask.Fit(context.Background(), model, train, multitask.Params{Lambda1: 1e-3}, multitask.Options{}))
	made := must(saved.New(fit, t.Problem, t.Recipe))
	if err := made.Save(filepath.Join(dir, "model")); err != nil {
		panic(err)
	}
	made = must(saved.Load(filepath.Join(dir, "model")))
	sold, err := made.Predict("B", must(data.NewDense(1, 1, []float32{18})))
	fmt.Printf("%.0f %v\n", sold[0], err)
	// Output: 46 <nil>
}
