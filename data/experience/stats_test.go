package experience_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/stat"

	"l2mt/data/experience"
	"l2mt/data/files"
)

func TestStats(t *testing.T) {
	dir := storeDir(t)
	records := slices.Concat(
		someRecords(1, "b", 2, "mtrl", "snr", "explore/wishart"),
		someRecords(1, "a", 3, "mtrl", "mtrl", "snr"),
		someRecords(1, "c", 1),
	)
	for i := range 2 {
		f := *records[1]
		f.Source, f.Draw, f.Status, f.Reason, f.Omega, f.Result = "glmtl", i, experience.Failed, "diverged", nil, nil
		f.ID, _ = experience.TupleID(f.ProblemID, f.Source, f.Draw, f.Hyper)
		records = append(records, &f)
	}
	seconds, o := map[string]float64{}, map[string][]float64{}
	for i, r := range records {
		r.Seconds = float64(i) / 4
		seconds[r.Source] += r.Seconds
		if r.Result != nil {
			o[r.Source] = append(o[r.Source], r.Result.O)
		}
	}
	writeStore(t, dir, "one", records[:5]...)
	writeStore(t, dir, "two", records[5:]...)
	s := must(experience.Open(dir))(t)
	want := []experience.SourceStats{
		{Source: "explore/wishart", Tuples: 1},
		{Source: "glmtl", Tuples: 2, Failed: 2},
		{Source: "mtrl", Tuples: 3},
		{Source: "snr", Tuples: 2},
		{Source: "stl", Tuples: 3},
	}
	for i := range want {
		w := &want[i]
		w.Seconds = seconds[w.Source]
		w.Mean, w.Min, w.Max = files.Float(math.NaN()), files.Float(math.NaN()), files.Float(math.NaN())
		if o := o[w.Source]; o != nil {
			w.Mean, w.Min, w.Max = files.Float(stat.Mean(o, nil)), files.Float(slices.Min(o)), files.Float(slices.Max(o))
		}
	}
	equal := cmp.Comparer(func(a, b files.Float) bool {
		return math.Abs(float64(a-b)) <= 1e-14 || math.IsNaN(float64(a)) && math.IsNaN(float64(b))
	})
	if d := cmp.Diff(want, must(s.Stats())(t), cmpopts.EquateApprox(0, 1e-14), equal); d != "" {
		t.Error(d)
	}
}
