package experience_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"l2mt/data/datatest"
	"l2mt/data/experience"
)

func TestStats(t *testing.T) {
	dir := storeDir(t)
	records := slices.Concat(someRecords(1, "b", 2, "mtrl", "snr"), someRecords(1, "a", 3, "mtrl", "mtrl"))
	failed := *records[1]
	failed.Source, failed.Status, failed.Reason, failed.Omega, failed.Result = "glmtl", experience.Failed, "diverged", nil, nil
	failed.ID, _ = experience.TupleID(failed.ProblemID, failed.Source, failed.Draw, failed.Hyper)
	records = append(records, &failed)
	for i, r := range records {
		r.Seconds = float64(i) / 4
	}
	writeStore(t, dir, "one", records[:4]...)
	writeStore(t, dir, "two", records[4:]...)
	a, b, c, snr := records[1].Result.O, records[4].Result.O, records[5].Result.O, records[2].Result.O
	nan := math.NaN()
	type row struct {
		Source                  string
		Tuples, Failed          int
		Mean, Min, Max, Seconds float64
	}
	var got []row
	sources, _, err := datatest.Must(experience.Open(dir))(t).Check()
	datatest.Check(t, err)
	for _, s := range sources {
		got = append(got, row{s.Source, s.Tuples, s.Failed, float64(s.Mean), float64(s.Min), float64(s.Max), s.Seconds})
	}
	want := []row{
		{"glmtl", 1, 1, nan, nan, nan, 1.5},
		{"mtrl", 3, 0, (a + b + c) / 3, min(a, b, c), max(a, b, c), 2.5},
		{"snr", 1, 0, snr, snr, snr, 0.5},
		{"stl", 2, 0, 1, 1, 1, 0.75},
	}
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-14), cmpopts.EquateNaNs()); d != "" {
		t.Error(d)
	}
}
