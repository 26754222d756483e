package experience_test

import (
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
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(tmp)
	dir := filepath.Join(tmp, "store")

	for range 2 {
		if err := collect(dir); err != nil {
			fmt.Println(err)
			return
		}
	}

	store, err := experience.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	stats, err := store.Stats()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range stats {
		fmt.Printf("%-4s %d tuple, mean o %.2f\n", s.Source, s.Count, s.Mean)
	}
	// Output:
	// mtrl 1 tuple, mean o 0.80
	// stl  1 tuple, mean o 1.00
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
	stl := 0.0
	for _, tuple := range []struct {
		source string
		omega  [][]float64
		test   []float64
	}{
		{experience.STL, [][]float64{{0.5, 0}, {0, 0.5}}, []float64{0.10, 0.20}},
		{"mtrl", [][]float64{{0.5, 0.3}, {0.3, 0.5}}, []float64{0.08, 0.16}},
	} {
		id, err := experience.TupleID("problem-1", tuple.source, 0, nil)
		if err != nil {
			return err
		}
		if w.Has(id) {
			continue
		}
		result := &experience.Result{Lambda1: 1e-5, Test: tuple.test}
		if tuple.source == experience.STL {
			stl = result.MeanTest()
		}
		if err := result.Relate(stl); err != nil {
			return err
		}
		record := &experience.Record{
			ID: id, Problem: "digits 3/5, 3/8", ProblemID: "problem-1", Source: tuple.source,
			Status: experience.OK, Omega: tuple.omega, Result: result,
		}
		if err := w.Append(record); err != nil {
			return err
		}
	}
	return w.Close()
}
