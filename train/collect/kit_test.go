package collect_test

import (
	"errors"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/digits"
	"l2mt/data/experience"
	"l2mt/data/view"
	"l2mt/train/collect"
)

// sample draws problems on the digits, few rows and a few tasks each.
func sample(t testing.TB, n int) (collect.InMemory, data.DatasetRef) {
	t.Helper()
	d := datatest.Must(digits.Load())(t)
	file, _, err := data.SampleProblems(d, data.SampleConfig{
		Seed: 5, Train: n, Test: 1, MinTasks: 2, MaxTasks: 4, TrainFraction: 0.04, ValidationFraction: 0.1, Prepare: []string{"unit"},
	})
	datatest.Check(t, err)
	problems := datatest.Must(file.Bind(d))(t)
	for i, p := range problems {
		problems[i] = datatest.Must(view.Prepared(p))(t)
	}
	return problems, data.DatasetRef{Path: digits.Name, SHA256: d.Fingerprint()}
}

// small is a collection of 1 + 2*2 + 5 tuples a problem.
var small = collect.Config{Models: []string{"mtrl", "snr2", "stl"}, Draws: 2, Explore: 5, Measured: collect.OfRefit, Seed: 3}

const smallTuples = 10

func open(t testing.TB, dir string, c collect.Config, ref data.DatasetRef) *collect.Collector {
	t.Helper()
	return datatest.Must(collect.Open(dir, c, ref, "test"))(t)
}

// run collects to the end.
func run(t testing.TB, dir string, c collect.Config, problems collect.Problems, ref data.DatasetRef, workers int) collect.Summary {
	t.Helper()
	collector := open(t, dir, c, ref)
	s, err := collector.Run(t.Context(), problems, collect.Options{Workers: workers})
	datatest.Check(t, errors.Join(err, collector.Close()))
	return s
}

func load(t testing.TB, dir string) []*experience.Record {
	t.Helper()
	records := datatest.Must(datatest.Must(experience.Open(dir))(t).Load())(t)
	for _, r := range records {
		r.Seconds = 0 // which differ from run to run
	}
	return records
}

// storeDir returns the path of a store that doesn't exist yet, in a temporary
// directory. When the test ends, a store found there must pass Check without faults.
func storeDir(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	t.Cleanup(func() {
		if found, _ := filepath.Glob(filepath.Join(dir, "*")); len(found) == 0 {
			return
		}
		_, faults, err := datatest.Must(experience.Open(dir))(t).Check()
		datatest.Holds(t, err == nil && len(faults) <= 0, "after the test: %v, %v", faults, err)
	})
	return dir
}

// merged returns the records of stores in canonical order.
func merged(t testing.TB, dirs ...string) (all []*experience.Record) {
	t.Helper()
	for _, dir := range dirs {
		all = append(all, load(t, dir)...)
	}
	slices.SortFunc(all, experience.Compare)
	return all
}

// reporter calls advance with the number of items done.
type reporter struct {
	total   int
	done    atomic.Int64
	advance func(done int)
}

func (r *reporter) Start(_ string, total int) { r.total = total }
func (r *reporter) Finish()                   {}
func (r *reporter) Advance(n int, _ string)   { r.advance(int(r.done.Add(int64(n)))) }
