package experience_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"l2mt/data"
	"l2mt/data/experience"
	"l2mt/data/experience/experiencetest"
)

func merge(t testing.TB, dirs ...string) (out string, summary *experience.Summary) {
	t.Helper()
	out = experiencetest.Dir(t)
	summary, err := experience.Merge(context.Background(), out, dirs...)
	if err != nil {
		t.Fatal(err)
	}
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
	undivided := experiencetest.Dir(t)
	experiencetest.Write(t, undivided, "one", someRecords()...)
	want, _ := merge(t, undivided)
	if n := len(load(t, want)); n != len(someRecords()) {
		t.Fatalf("%d records merged, want %d", n, len(someRecords()))
	}
	rapid.Check(t, func(r *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "split"), 1))
		records := someRecords()
		repeated := rng.IntN(3)
		records = append(records, records[:repeated]...) // some tuples are in two stores
		rng.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		base, stores := t.TempDir(), 1+rng.IntN(4)
		parts := map[string][]*experience.Record{}
		var dirs []string
		for i := range stores {
			dirs = append(dirs, filepath.Join(base, fmt.Sprint(i)))
			experiencetest.Write(t, dirs[i], "empty")
		}
		placed := map[string]bool{}
		for _, record := range records {
			dir := dirs[rng.IntN(stores)]
			if placed[dir+record.ID] {
				repeated-- // twice in the same store: left out here
				continue
			}
			placed[dir+record.ID] = true
			key := dir + "\x00" + fmt.Sprint("shard-", rng.IntN(3))
			parts[key] = append(parts[key], record)
		}
		for key, part := range parts {
			dir, shard, _ := strings.Cut(key, "\x00")
			experiencetest.Write(t, dir, shard, part...)
		}
		rng.Shuffle(stores, func(i, j int) { dirs[i], dirs[j] = dirs[j], dirs[i] })
		out, summary := merge(t, dirs...)
		if d := cmp.Diff(tree(t, want), tree(t, out)); d != "" {
			r.Fatal(d)
		}
		if summary.Records != len(someRecords()) || summary.Left != repeated {
			r.Fatalf("summary %+v, want %d left out", summary, repeated)
		}
		again, _ := merge(t, out, out)
		if d := cmp.Diff(tree(t, want), tree(t, again)); d != "" {
			r.Fatalf("merged twice: %s", d)
		}
	})
}

// A merged store is one like any other: it can grow.
func TestMergedStoreCanBeContinued(t *testing.T) {
	dir := experiencetest.Dir(t)
	experiencetest.Write(t, dir, "one", someRecords()...)
	out, _ := merge(t, dir)
	experiencetest.Write(t, out, "records", experiencetest.Problem(1, "d", 2, "snr")...)
	if n := len(load(t, out)); n != len(someRecords())+2 {
		t.Errorf("%d records", n)
	}
}

func TestMergeOfManifests(t *testing.T) {
	base := t.TempDir()
	store := func(name string, change func(m *experience.Manifest)) string {
		m := experiencetest.Manifest()
		change(&m)
		dir := filepath.Join(base, name)
		w, err := experience.OpenWriter(dir, "one", m)
		if err != nil {
			t.Fatal(err)
		}
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
	s, err := experience.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	if m := s.Manifest(); m.Dataset.Path != "a/digits" || !slices.Equal(m.CreatedBy, []string{"v1", "v2"}) {
		t.Errorf("merged manifest %+v", m)
	}

	foreign := store("foreign", func(m *experience.Manifest) {
		m.Seed, m.Dataset.SHA256, m.Config = 9, "0000", []byte(`{"o":"model","loss":"squared"}`)
	})
	out = filepath.Join(base, "out")
	_, err = experience.Merge(context.Background(), out, first, second, foreign)
	if !errors.Is(err, experience.ErrConflict) {
		t.Fatalf("foreign store: %v", err)
	}
	for _, says := range []string{
		"the dataset's fingerprint is 5f1a in " + first + " but 0000 in " + foreign,
		"the seed is 1 in " + first + " but 9 in " + foreign,
		`config.o is "refit" in ` + first + ` but "model" in ` + foreign,
		`config.loss is absent in ` + first + ` but "squared" in ` + foreign,
		`config.lambda1 is [1e-6,1e-5] in ` + first + ` but absent in ` + foreign,
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

func TestMergeNeedsANewPlaceAndSources(t *testing.T) {
	dir := experiencetest.Dir(t)
	experiencetest.Write(t, dir, "one", experiencetest.Problem(1, "p", 2)...)
	before := tree(t, dir)
	ctx := context.Background()
	if _, err := experience.Merge(ctx, dir, dir); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "new place") {
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

func TestRemove(t *testing.T) {
	dir := experiencetest.Dir(t)
	experiencetest.Write(t, dir, "one", someRecords()...)
	before := tree(t, dir)
	drop := func(r *experience.Record) bool { return r.Problem == "b" || r.Source == "snr" }
	out := experiencetest.Dir(t)
	summary, err := experience.Remove(context.Background(), out, dir, drop)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.DeleteFunc(someRecords(), drop)
	slices.SortFunc(want, experience.Compare)
	if d := cmp.Diff(want, load(t, out)); d != "" {
		t.Error(d)
	}
	if summary.Records != 4 || summary.Left != len(someRecords())-4 {
		t.Errorf("summary %+v", summary)
	}
	if d := cmp.Diff(before, tree(t, dir)); d != "" {
		t.Errorf("the source changed:\n%s", d)
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
	experiencetest.Write(t, dir, "one", records[:5]...)
	experiencetest.Write(t, dir, "two", records[5:]...)
	s, err := experience.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Stats()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, g := range got {
		names = append(names, g.Source)
		want := experience.SourceStats{Source: g.Source}
		var sum float64
		for _, r := range records {
			if r.Source != g.Source {
				continue
			}
			want.Count++
			want.Seconds += 0.5 // as experiencetest.Write has it
			if r.Result == nil {
				want.Failures++
				continue
			}
			o := r.Result.O
			if sum == 0 {
				want.Min = math.Inf(1)
			}
			sum += o
			want.Min, want.Max = min(want.Min, o), max(want.Max, o)
			want.Mean = sum / float64(want.Count-want.Failures)
		}
		if math.Abs(g.Mean-want.Mean) > 1e-14 {
			t.Errorf("%s: mean %v, want %v", g.Source, g.Mean, want.Mean)
		}
		want.Mean = g.Mean
		if d := cmp.Diff(want, g); d != "" {
			t.Error(d)
		}
	}
	if !slices.Equal(names, []string{"explore/wishart", "glmtl", "mtrl", "snr", "stl"}) {
		t.Errorf("sources %v", names)
	}
}
