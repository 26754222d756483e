// Package experiencetest helps to test code that uses experience stores. Its
// stores are checked after every test, so a test of anything also tests that
// the store stayed sound.
package experiencetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"l2mt/data"
	"l2mt/data/experience"
)

// Dir returns the path of a store that doesn't exist yet, in a temporary
// directory. When the test ends, a store found there must pass Check without
// faults.
func Dir(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	t.Cleanup(func() { MustCheck(t, dir) })
	return dir
}

// MustCheck fails the test if the store in dir has faults. A directory
// where no store was made yet has none.
func MustCheck(t testing.TB, dir string) {
	t.Helper()
	if found, _ := filepath.Glob(filepath.Join(dir, "*")); len(found) == 0 {
		return
	}
	s, err := experience.Open(dir)
	if err != nil {
		t.Errorf("after the test: %v", err)
		return
	}
	_, faults, err := s.Check()
	if err != nil {
		t.Errorf("after the test: %v", err)
	}
	for _, f := range faults {
		if !errors.Is(f, experience.ErrTorn) {
			t.Errorf("after the test: %v", f)
		}
	}
}

// Write appends the records to one shard of the store in dir.
func Write(t testing.TB, dir, shard string, records ...*experience.Record) {
	t.Helper()
	w, err := experience.OpenWriter(dir, shard, Manifest())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := w.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// Manifest returns a manifest to make stores with.
func Manifest() experience.Manifest {
	return experience.Manifest{
		Dataset:   data.DatasetRef{Path: "digits", SHA256: "5f1a"},
		Seed:      1,
		Config:    map[string]any{"o": "refit", "lambda1": []float64{1e-6, 1e-5}},
		CreatedBy: []string{"experiencetest"},
	}
}

// Problem returns valid records of one made-up problem with m tasks: one of
// single-task learning and one of every source; a source named again is drawn
// again. The numbers come from seed and name.
func Problem(seed uint64, name string, m int, sources ...string) []*experience.Record {
	rng := data.Stream(seed, "experiencetest "+name)
	id := fmt.Sprintf("%016x", rng.Uint64())
	var records []*experience.Record
	draws := map[string]int{}
	for _, source := range append([]string{experience.STL}, sources...) {
		r := &experience.Record{
			Problem: name, ProblemID: id, Source: source, Draw: draws[source],
			Hyper:  map[string]float64{"lambda2": rng.Float64(), "r": float64(1 + rng.IntN(3))},
			Status: experience.OK, Omega: covariance(rng, m),
			Result: &experience.Result{Lambda1: 1e-6 + rng.Float64(), Validation: randomErrors(rng, m), Test: randomErrors(rng, m)},
		}
		draws[source]++
		records = append(records, r)
		var err error
		if r.ID, err = experience.TupleID(r.ProblemID, r.Source, r.Draw, r.Hyper); err != nil {
			panic(err) // the numbers above are finite
		}
		if err := r.Result.Relate(records[0].Result.MeanTest()); err != nil {
			panic(err) // the errors above are positive
		}
	}
	return records
}

func randomErrors(rng *rand.Rand, m int) []float64 {
	v := make([]float64, m)
	for i := range v {
		v[i] = 0.01 + rng.Float64()
	}
	return v
}

// covariance returns a random one of trace 1, by averaging projectors.
func covariance(rng *rand.Rand, m int) [][]float64 {
	omega := make([][]float64, m)
	for i := range omega {
		omega[i] = make([]float64, m)
	}
	const projectors = 3
	v := make([]float64, m)
	for range projectors {
		square := 0.0
		for i := range v {
			v[i] = rng.NormFloat64()
			square += v[i] * v[i]
		}
		for i := range v {
			for j := range v {
				omega[i][j] += v[i] * v[j] / square / projectors
			}
		}
	}
	return omega
}
