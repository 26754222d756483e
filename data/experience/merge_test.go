package experience_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/experience"
	"l2mt/data/experience/experiencetest"
)

func merge(t testing.TB, dirs ...string) (out string, summary *experience.Summary) {
	t.Helper()
	out = experiencetest.Dir(t)
	summary = must(experience.Merge(context.Background(), out, dirs...))(t)
	return out, summary
}

func someRecords() []*experience.Record {
	return slices.Concat(
		experiencetest.Problem(1, "b", 2, "mtrl", "snr", "explore/wishart"),
		experiencetest.Problem(1, "a", 3, "mtrl", "mtrl", "snr"),
		experiencetest.Problem(1, "c", 1),
	)
}

// However a run is split over stores and shards, in whatever order tuples are
// finished and stores are named, merging gives the same bytes as merging an
// undivided run, or as merging a merged store again.
func TestMergeDependsOnTheRecordsOnly(t *testing.T) {
	t.Parallel()
	undivided := experiencetest.Dir(t)
	experiencetest.Write(t, undivided, "one", someRecords()...)
	want, _ := merge(t, undivided)
	if n := len(load(t, want)); n != len(someRecords()) {
		t.Fatalf("%d records merged, want %d", n, len(someRecords()))
	}
	for seed := range uint64(20) {
		rng := data.Stream(seed, "split")
		records := someRecords()
		rng.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		hurry := func() { // seconds are the only thing that differs from run to run
			for _, r := range records {
				r.Seconds = rng.Float64()
			}
		}
		hurry()
		base := t.TempDir() // parts lack denominators, so no Dir
		stores := 1 + rng.IntN(4)
		var dirs []string
		for i := range stores {
			dirs = append(dirs, filepath.Join(base, strconv.Itoa(i)))
			begin, end := i*len(records)/stores, (i+1)*len(records)/stores
			middle := begin + rng.IntN(end-begin+1)
			experiencetest.Write(t, dirs[i], "one", records[begin:middle]...)
			experiencetest.Write(t, dirs[i], "two", records[middle:end]...)
		}
		repeated := rng.IntN(4)
		dirs = append(dirs, filepath.Join(base, "again"))
		hurry()
		experiencetest.Write(t, dirs[stores], "one", records[:repeated]...)
		rng.Shuffle(len(dirs), func(i, j int) { dirs[i], dirs[j] = dirs[j], dirs[i] })
		out, summary := merge(t, dirs...)
		if d := cmp.Diff(tree(t, want), tree(t, out)); d != "" {
			t.Fatalf("seed %d:\n%s", seed, d)
		}
		if summary.Records != len(someRecords()) || summary.Left != repeated {
			t.Fatalf("seed %d: summary %+v, want %d left out", seed, summary, repeated)
		}
		again, _ := merge(t, out, out)
		if d := cmp.Diff(tree(t, want), tree(t, again)); d != "" {
			t.Fatalf("seed %d: merged twice:\n%s", seed, d)
		}
	}
}

func TestMergeOfManifests(t *testing.T) {
	base := t.TempDir()
	store := func(name string, change func(m *experience.Manifest)) string {
		m := experiencetest.Manifest()
		change(&m)
		dir := filepath.Join(base, name)
		w := must(experience.OpenWriter(dir, "one", m))(t)
		w.Close()
		return dir
	}
	first := store("first", func(m *experience.Manifest) {
		m.CreatedBy, m.Dataset.Path = []string{"v2"}, "z/digits"
	})
	second := store("second", func(m *experience.Manifest) {
		m.CreatedBy, m.Dataset.Path = []string{"v1"}, "a/digits"
	})
	out, _ := merge(t, first, second)
	other, _ := merge(t, second, first)
	if d := cmp.Diff(tree(t, out), tree(t, other)); d != "" {
		t.Errorf("the order of stores matters:\n%s", d)
	}
	s := must(experience.Open(out))(t)
	if m := s.Manifest; m.Dataset.Path != "a/digits" || !slices.Equal(m.CreatedBy, []string{"v1", "v2"}) {
		t.Errorf("merged manifest %+v", m)
	}

	foreign := store("foreign", func(m *experience.Manifest) {
		m.Seed, m.Dataset.SHA256, m.Config = 9, "0000", map[string]any{"o": "model", "loss": "squared"}
	})
	out = filepath.Join(base, "out")
	_, err := experience.Merge(context.Background(), out, first, second, foreign)
	if !errors.Is(err, experience.ErrConflict) {
		t.Fatalf("foreign store: %v", err)
	}
	for _, says := range []string{
		"the dataset's fingerprint is 5f1a in " + first + " but 0000 in " + foreign,
		"the seed is 1 in " + first + " but 9 in " + foreign,
		`config.o is "refit" in ` + first + ` but "model" in ` + foreign,
		`config.loss is absent in ` + first + ` but "squared" in ` + foreign,
		`config.lambda1 is [0.000001,0.00001] in ` + first + ` but absent in ` + foreign,
	} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("the error does not say %q:\n%v", says, err)
		}
	}
	mustNotExist(t, out)
}

// mustNotExist checks that nothing was left at out, or beside it.
func mustNotExist(t testing.TB, out string) {
	t.Helper()
	left, err := filepath.Glob(out + "*")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func TestMergeRefusesTwoVersionsOfATuple(t *testing.T) {
	base := t.TempDir()
	records := experiencetest.Problem(1, "p", 2, "mtrl")
	a, b := filepath.Join(base, "a"), filepath.Join(base, "b")
	experiencetest.Write(t, a, "one", records...)
	records[1].Result.Lambda1 *= 2
	experiencetest.Write(t, b, "one", records...)
	out := filepath.Join(base, "out")
	_, err := experience.Merge(context.Background(), out, a, b)
	if !errors.Is(err, experience.ErrConflict) || !strings.Contains(err.Error(), `problem "p", mtrl, draw 0 differs between `+a+"/one.jsonl:2 and "+b+"/one.jsonl:2") {
		t.Error(err)
	}
	mustNotExist(t, out)
}

func TestMergeLeavesOutTornLinesAndRefusesDamage(t *testing.T) {
	lines := encodeAll(t, experiencetest.Problem(1, "p", 2, "mtrl", "snr")...)
	dir, shard := writeRaw(t, lines[0], lines[1], lines[2][:50])
	out, summary := merge(t, dir)
	if n := len(load(t, out)); n != 2 || summary.Records != 2 || len(summary.Warnings) != 1 || summary.Warnings[0].Line != 3 {
		t.Errorf("%d records, summary %+v", n, summary)
	}
	lines[1][9] ^= 1
	if err := os.WriteFile(shard, slices.Concat(lines...), 0o644); err != nil {
		t.Fatal(err)
	}
	out = filepath.Join(t.TempDir(), "out")
	_, err := experience.Merge(context.Background(), out, dir)
	if !errors.Is(err, experience.ErrChecksum) || !strings.Contains(err.Error(), shard+":2: ") {
		t.Error(err)
	}
	mustNotExist(t, out)
}

func TestMergeNeedsADirectoryAndSources(t *testing.T) {
	dir := experiencetest.Dir(t)
	experiencetest.Write(t, dir, "one", experiencetest.Problem(1, "p", 2)...)
	before := tree(t, dir)
	ctx := context.Background()
	if _, err := experience.Merge(ctx, dir, dir); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "directory of its own") {
		t.Errorf("merge onto itself: %v", err)
	}
	out := filepath.Join(t.TempDir(), "out")
	if _, err := experience.Merge(ctx, out); !errors.Is(err, data.ErrInvalid) {
		t.Errorf("nothing to merge: %v", err)
	}
	if _, err := experience.Merge(ctx, out, dir, filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent source: %v", err)
	}
	if _, err := experience.Merge(ctx, filepath.Join(out, "deep"), dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder to put it in: %v", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := experience.Merge(ctx, out, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	mustNotExist(t, out)
	if d := cmp.Diff(before, tree(t, dir)); d != "" {
		t.Errorf("the source changed:\n%s", d)
	}
}

// countdown is a context that is cancelled after its error was asked for so
// many times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// Wherever a merge is interrupted, it leaves a whole store or nothing.
func TestInterruptedMergeLeavesNothing(t *testing.T) {
	dir := experiencetest.Dir(t)
	experiencetest.Write(t, dir, "one", experiencetest.Problem(1, "p", 2, "mtrl")...)
	for steps := 0; ; steps++ {
		out := filepath.Join(t.TempDir(), "out")
		_, err := experience.Merge(&countdown{context.Background(), steps}, out, dir)
		if err == nil {
			if steps < 4 {
				t.Errorf("a merge of 2 records could only be interrupted %d times", steps)
			}
			return
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		mustNotExist(t, out)
	}
}

func TestStats(t *testing.T) {
	dir := experiencetest.Dir(t)
	records := someRecords()
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
	experiencetest.Write(t, dir, "one", records[:5]...)
	experiencetest.Write(t, dir, "two", records[5:]...)
	s := must(experience.Open(dir))(t)
	want := []experience.SourceStats{
		{Source: "explore/wishart", Count: 1},
		{Source: "glmtl", Count: 2, Failures: 2},
		{Source: "mtrl", Count: 3},
		{Source: "snr", Count: 2},
		{Source: "stl", Count: 3},
	}
	for i := range want {
		w := &want[i]
		if w.Seconds = seconds[w.Source]; o[w.Source] != nil {
			w.Mean, w.Min, w.Max = stat.Mean(o[w.Source], nil), slices.Min(o[w.Source]), slices.Max(o[w.Source])
		}
	}
	if d := cmp.Diff(want, must(s.Stats())(t), cmpopts.EquateApprox(0, 1e-14)); d != "" {
		t.Error(d)
	}
}
