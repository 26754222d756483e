package experience_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/floats"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/experience"
)

// storeDir returns the path of a store that doesn't exist yet, in a temporary
// directory. When the test ends, a store found there must pass Check without
// faults, so that a test of anything also tests that the store stayed sound.
func storeDir(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	t.Cleanup(func() {
		if found, _ := filepath.Glob(filepath.Join(dir, "*")); len(found) == 0 {
			return
		}
		_, faults := check(t, dir)
		for _, f := range faults {
			datatest.Says(t, f, experience.ErrTorn)
		}
	})
	return dir
}

// writeStore appends the records to one shard of the store in dir.
func writeStore(t testing.TB, dir, shard string, records ...*experience.Record) {
	t.Helper()
	w := open(t, dir, shard)
	for _, r := range records {
		datatest.Check(t, w.Append(r))
	}
	datatest.Check(t, w.Close())
}

// someManifest returns a manifest to make stores with.
func someManifest() experience.Manifest {
	return experience.Manifest{
		Dataset:   data.DatasetRef{Path: "digits", SHA256: "5f1a"},
		Seed:      1,
		Config:    map[string]any{"o": "refit", "lambda1": []float64{1e-6, 1e-5}},
		CreatedBy: []string{"experiencetest"},
	}
}

// someRecords returns valid records of one made-up problem with m tasks: one of
// single-task learning and one of every source; a source named again is drawn
// again. The numbers come from seed and name.
func someRecords(seed uint64, name string, m int, sources ...string) []*experience.Record {
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

// covariance returns a random one of trace 1: v v' beside the identity.
func covariance(rng *rand.Rand, m int) [][]float64 {
	v := randomErrors(rng, m)
	scale, omega := 1/(float64(m)+floats.Dot(v, v)), make([][]float64, m)
	for i := range v {
		omega[i] = make([]float64, m)
		omega[i][i] = 1
		floats.AddScaled(omega[i], v[i], v)
		floats.Scale(scale, omega[i])
	}
	return omega
}

func open(t testing.TB, dir, shard string) *experience.Writer {
	t.Helper()
	return datatest.Must(experience.OpenWriter(dir, shard, someManifest()))(t)
}

func load(t testing.TB, dir string) []*experience.Record {
	t.Helper()
	return datatest.Must(datatest.Must(experience.Open(dir))(t).Load())(t)
}

// contents are the files of a directory and what they hold.
func contents(t testing.TB, dir string) (files []string) {
	t.Helper()
	for _, entry := range datatest.Must(os.ReadDir(dir))(t) {
		raw := datatest.Must(os.ReadFile(filepath.Join(dir, entry.Name())))(t)
		files = append(files, entry.Name(), string(raw))
	}
	return files
}
