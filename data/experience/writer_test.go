package experience_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/experience"
	"l2mt/data/files"
)

func TestWriteAndRead(t *testing.T) {
	dir := storeDir(t)
	records := slices.Concat(someRecords(1, "b", 2, "mtrl", "snr"), someRecords(1, "a", 3, "mtrl"))
	failed := *records[1]
	failed.Draw, failed.Status, failed.Reason, failed.Omega, failed.Result = 1, experience.Failed, "the line search found no step", nil, nil
	failed.ID, _ = experience.TupleID(failed.ProblemID, failed.Source, failed.Draw, failed.Hyper)
	records = append(records, &failed)
	writeStore(t, dir, "one", records[:2]...)
	writeStore(t, dir, "two", records[2:]...)

	got := load(t, dir)
	var order []string
	for _, r := range got {
		order = append(order, fmt.Sprintf("%s %s %d", r.Problem, r.Source, r.Draw))
	}
	datatest.Equal(t, order, []string{"a mtrl 0", "a stl 0", "b mtrl 0", "b mtrl 1", "b snr 0", "b stl 0"}, "the canonical order")
	slices.SortFunc(records, experience.Compare)
	datatest.Equal(t, got, records, "values")
	s := datatest.Must(experience.Open(dir))(t)
	want := someManifest()
	want.Schema, want.Config["lambda1"] = experience.Schema, []any{1e-6, 1e-5}
	datatest.Equal(t, s.Manifest, want, "values")
	w := open(t, dir, "one")
	defer w.Close()
	for _, r := range records {
		datatest.Holds(t, w.Has(r.ID), "tuple %s of another shard or run is not known", r.ID)
		datatest.Says(t, w.Append(r), experience.ErrDuplicate)
	}
	for _, r := range records {
		if got := w.STL(r.ID); (got != nil) != (r.Source == experience.STL) || got != nil && cmp.Diff(r, got) != "" {
			t.Errorf("the tuple of single-task learning of %s is %+v", r.Source, got)
		}
	}
	invalid := *someRecords(1, "c", 2)[0]
	if invalid.Result.Lambda1 = 0; !errors.Is(w.Append(&invalid), data.ErrInvalid) {
		t.Error("an invalid record is taken")
	}
	datatest.Holds(t, !w.Has("") && !w.Has(invalid.ID) && len(w.Warnings()) == 0,
		"there is more than was written")
}

func TestSecondWriterOnAShardIsRefused(t *testing.T) {
	dir := storeDir(t)
	first := open(t, dir, "one")
	_, err := experience.OpenWriter(dir, "one", someManifest())
	datatest.Says(t, err, files.ErrLocked, filepath.Join(dir, "one.jsonl"))
	other := open(t, dir, "two")
	datatest.Check(t, errors.Join(first.Close(), other.Close()))
	datatest.Check(t, open(t, dir, "one").Close())
}

// Two collections that are started on the same new directory at a time cannot
// both have it.
func TestOneManifestWins(t *testing.T) {
	for range 20 {
		dir := storeDir(t)
		var wg sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			wg.Go(func() {
				m := someManifest()
				m.Seed = uint64(i % 2)
				w, err := experience.OpenWriter(dir, fmt.Sprint("shard-", i), m)
				if errs[i] = err; err == nil {
					w.Close()
				}
			})
		}
		wg.Wait()
		s := datatest.Must(experience.Open(dir))(t)
		for i, err := range errs {
			if mine := s.Manifest.Seed == uint64(i%2); mine && err != nil || !mine && !errors.Is(err, experience.ErrConflict) {
				t.Errorf("seed %d won, writer %d with seed %d got %v", s.Manifest.Seed, i, i%2, err)
			}
		}
	}
}

func TestForeignStoreIsRefusedAndUntouched(t *testing.T) {
	dir := storeDir(t)
	writeStore(t, dir, "one", someRecords(1, "p", 2)...)
	before := tree(t, dir)
	m := someManifest()
	m.Seed, m.Dataset.SHA256, m.Config = 2, "0000", map[string]any{"o": "model", "loss": "squared"}
	_, err := experience.OpenWriter(dir, "two", m)
	datatest.Says(t, err, experience.ErrConflict)
	there := " in " + dir + "/manifest.json but "
	for _, says := range []string{
		"the seed is 1" + there + "2 in this run",
		"the dataset's fingerprint is 5f1a" + there + "0000 in this run",
		`config.o is "refit"` + there + `"model" in this run`,
		`config.loss is absent` + there + `"squared" in this run`,
		`config.lambda1 is [0.000001,0.00001]` + there + `absent in this run`,
	} {
		datatest.Says(t, err, nil, says)
	}
	datatest.Equal(t, tree(t, dir), before, "the store changed")
	m = someManifest()
	m.Dataset.Path = "elsewhere/digits.csv"
	m.Config["lambda1"] = [2]any{1e-6, 1e-5}
	m.CreatedBy = []string{"a later version"}
	w, err := experience.OpenWriter(dir, "two", m)
	datatest.Need(t, err == nil, "the same configuration written differently: %v", err)
	w.Close()
}

func TestUnknownSchemaNamesBothVersions(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "manifest.json"), []byte(`{"schema": 3, "news": 1}`))
	_, openErr := experience.Open(dir)
	_, writeErr := experience.OpenWriter(dir, "one", someManifest())
	for _, err := range []error{openErr, writeErr} {
		datatest.Says(t, err, files.ErrSchema, "it has schema 3; this program reads schema 2")
	}
}
