// Package experiencetest helps to test code that uses experience stores. Its
// stores are checked after every test, so a test of anything also tests that
// the store stayed sound.
package experiencetest

import (
	"context"
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
	report, err := s.Check(context.Background())
	if err != nil {
		t.Errorf("after the test: %v", err)
		return
	}
	for _, f := range report.Faults {
		t.Errorf("after the test: %v", f)
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
		if err := w.Append(r, 0.5); err != nil {
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
		Config:    []byte(`{"o":"refit","lambda1":[1e-6,1e-5]}`),
		CreatedBy: []string{"experiencetest"},
	}
}

// Problem returns valid records of one made-up problem with m tasks: one of
// single-task learning and one of every source; a source named again is drawn
// again. The numbers come from seed and name.
func Problem(seed uint64, name string, m int, sources ...string) []*experience.Record {
	rng := data.Stream(seed, "experiencetest "+name)
	id := fmt.Sprintf("%016x", rng.Uint64())
	stl := randomErrors(rng, m)
	records := []*experience.Record{record(rng, name, id, experience.STL, 0, stl, stl)}
	draws := map[string]int{}
	for _, source := range sources {
		records = append(records, record(rng, name, id, source, draws[source], randomErrors(rng, m), stl))
		draws[source]++
	}
	return records
}

func record(rng *rand.Rand, problem, problemID, source string, draw int, model, stl experience.Errors) *experience.Record {
	r := &experience.Record{
		Problem: problem, ProblemID: problemID, Source: source, Draw: draw,
		Hyper:  map[string]float64{"lambda2": rng.Float64(), "r": float64(1 + rng.IntN(3))},
		Status: experience.OK, Omega: covariance(rng, len(stl.Test)),
	}
	var err error
	if r.ID, err = experience.TupleID(r.ProblemID, r.Source, r.Draw, r.Hyper); err != nil {
		panic(err) // the numbers above are finite
	}
	if r.Result, err = experience.NewResult(1e-6+rng.Float64(), model, stl); err != nil {
		panic(err) // the errors above are positive
	}
	return r
}

func randomErrors(rng *rand.Rand, m int) experience.Errors {
	draw := func() []float64 {
		v := make([]float64, m)
		for i := range v {
			v[i] = 0.01 + rng.Float64()
		}
		return v
	}
	return experience.NewErrors(draw(), draw())
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
