package experience_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"l2mt/data/datatest"
	"l2mt/data/experience"
	"l2mt/data/files"
)

// The index gives what Load gives, problem by problem, wherever the records are.
func TestTheIndexFindsTheRecordsOfEveryProblem(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	shards := map[string][]*experience.Record{}
	for i := range uint64(5) {
		for q, r := range someRecords(i, fmt.Sprint("p", 4-i), 2+int(i), "mtrl", "snr2") {
			name := fmt.Sprint("s", (q+int(i))%3)
			shards[name] = append([]*experience.Record{r}, shards[name]...)
		}
	}
	for name, records := range shards {
		writeStore(t, dir, name, records...)
	}
	last := filepath.Join(dir, "s2.jsonl")
	f := datatest.Must(os.OpenFile(last, os.O_WRONLY|os.O_APPEND, 0))(t)
	if _, err := f.WriteString(`{"sum":"`); err != nil { // somebody is writing
		t.Fatal(err)
	}
	datatest.Check(t, f.Close())
	want := map[string][]*experience.Record{}
	for _, r := range load(t, dir) {
		want[r.ProblemID] = append(want[r.ProblemID], r)
	}
	store := datatest.Must(experience.Open(dir))(t)
	index := datatest.Must(store.Index())(t)
	got := map[string][]*experience.Record{}
	for id, lines := range index {
		got[id] = datatest.Must(lines.Records())(t)
	}
	if d := cmp.Diff(want, got); d != "" || len(want) != 5 {
		t.Errorf("%d problems: %s", len(want), d)
	}

	// A line that has changed since is not read as good.
	text := datatest.Must(os.ReadFile(last))(t)
	text[len(text)/3] ^= 1
	datatest.Check(t, os.WriteFile(last, text, 0o644))
	var faults []error
	for _, lines := range index {
		_, err := lines.Records()
		faults = append(faults, err)
	}
	datatest.Says(t, errors.Join(faults...), files.ErrChecksum)
	datatest.Refused(store.Index())(t, files.ErrChecksum)
}
