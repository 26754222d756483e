package experience_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"l2mt/data"
	"l2mt/data/experience"
)

// Two tuples of one problem: single-task learning, which every other error is
// relative to, and a covariance under which both tasks share. The second run
// finds that both are there and does nothing.
func Example() {
	tmp, err := os.MkdirTemp("", "experience")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(tmp)
	dir := filepath.Join(tmp, "store")
	if err := errors.Join(collect(dir), collect(dir)); err != nil {
		panic(err)
	}
	store, err := experience.Open(dir)
	if err != nil {
		panic(err)
	}
	fmt.Println(store.Check())
	records, err := store.Load()
	for _, r := range records {
		fmt.Printf("%-4s o %.2f\n", r.Source, r.Result.O)
	}
	fmt.Println(err)
	// Output:
	// 2 [] <nil>
	// mtrl o 0.80
	// stl  o 1.00
	// <nil>
}

func collect(dir string) error {
	w, err := experience.OpenWriter(dir, "records", experience.Manifest{
		Dataset: data.DatasetRef{Path: "digits", SHA256: "5f1a"},
		Seed:    1,
		Config:  map[string]any{"o": "refit"},
	})
	if err != nil {
		return err
	}
	defer w.Close()
	stl := experience.Result{Lambda1: 1e-5, Test: []float64{0.10, 0.20}}
	shared := experience.Result{Lambda1: 1e-5, Test: []float64{0.08, 0.16}}
	for _, r := range []*experience.Record{
		{Source: experience.STL, Omega: [][]float64{{0.5, 0}, {0, 0.5}}, Result: &stl},
		{Source: "mtrl", Omega: [][]float64{{0.5, 0.3}, {0.3, 0.5}}, Result: &shared},
	} {
		r.Problem, r.ProblemID, r.Status = "digits 3/5, 3/8", "problem-1", experience.OK
		if r.ID, err = experience.TupleID(r.ProblemID, r.Source, r.Draw, r.Hyper); err != nil {
			return err
		}
		if w.Has(r.ID) {
			continue
		}
		if err := errors.Join(r.Result.Relate(stl.MeanTest()), w.Append(r)); err != nil {
			return err
		}
	}
	return w.Close()
}
