package experience_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"l2mt/data"
	"l2mt/data/experience"
	"l2mt/data/experience/experiencetest"
)

// killedWriter is set in the process that TestKill kills: the store to write to.
const killedWriter = "L2MT_TEST_KILLED_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(killedWriter); dir != "" {
		writeUntilKilled(dir)
		return
	}
	os.Exit(m.Run())
}

func open(t testing.TB, dir, shard string) *experience.Writer {
	t.Helper()
	w, err := experience.OpenWriter(dir, shard, experiencetest.Manifest())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func load(t testing.TB, dir string) []*experience.Record {
	t.Helper()
	s, err := experience.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	records, _, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// tree reads all files below dir.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		files[path[len(dir):]] = string(b)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return files
}

func TestWriteAndRead(t *testing.T) {
	dir := experiencetest.Dir(t)
	records := slices.Concat(experiencetest.Problem(1, "b", 2, "mtrl", "snr"), experiencetest.Problem(1, "a", 3, "mtrl"))
	failed := *records[1]
	failed.Draw, failed.Status, failed.Reason, failed.Omega, failed.Result = 1, experience.Failed, "the line search found no step", nil, nil
	failed.ID, _ = experience.TupleID(failed.ProblemID, failed.Source, failed.Draw, failed.Hyper)
	records = append(records, &failed)
	experiencetest.Write(t, dir, "one", records[:2]...)
	experiencetest.Write(t, dir, "two", records[2:]...)

	got := load(t, dir)
	slices.SortFunc(records, experience.Compare)
	if d := cmp.Diff(records, got); d != "" {
		t.Error(d)
	}
	s, err := experience.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := experiencetest.Manifest()
	want.Schema, want.Config = experience.Schema, []byte(`{"lambda1":[1e-6,1e-5],"o":"refit"}`)
	if d := cmp.Diff(want, s.Manifest()); d != "" {
		t.Error(d)
	}
	w := open(t, dir, "one")
	defer w.Close()
	for _, r := range records {
		if !w.Has(r.ID) {
			t.Errorf("tuple %s of another shard or run is not known", r.ID)
		}
		if err := w.Append(r, 0); !errors.Is(err, experience.ErrDuplicate) {
			t.Errorf("repeated tuple: %v", err)
		}
	}
	if w.Has("") || len(w.Warnings()) != 0 {
		t.Error("there is more than was written")
	}
}

func TestAppendRefusesWhatCheckWouldFind(t *testing.T) {
	dir := experiencetest.Dir(t)
	w := open(t, dir, "one")
	for _, c := range invalid {
		r := experiencetest.Problem(1, "p", 3, "mtrl")[1]
		c.spoil(r)
		if err := w.Append(r, 1); !errors.Is(err, data.ErrInvalid) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := load(t, dir); len(got) != 0 {
		t.Errorf("%d records were written", len(got))
	}
}

func TestSecondWriterOnAShardIsRefused(t *testing.T) {
	dir := experiencetest.Dir(t)
	first := open(t, dir, "one")
	_, err := experience.OpenWriter(dir, "one", experiencetest.Manifest())
	if !errors.Is(err, experience.ErrLocked) || !strings.Contains(err.Error(), filepath.Join(dir, "one.jsonl")) {
		t.Errorf("second writer: %v", err)
	}
	other := open(t, dir, "two")
	if err := errors.Join(first.Close(), other.Close()); err != nil {
		t.Fatal(err)
	}
	if err := open(t, dir, "one").Close(); err != nil {
		t.Error(err)
	}
}

func TestWritersOfOneStoreAtOnce(t *testing.T) {
	dir := experiencetest.Dir(t)
	var wg sync.WaitGroup
	for shard := range 4 {
		wg.Go(func() {
			w, err := experience.OpenWriter(dir, fmt.Sprint("shard-", shard), experiencetest.Manifest())
			if err != nil {
				t.Error(err)
				return
			}
			var inner sync.WaitGroup
			for worker := range 3 {
				inner.Go(func() {
					for _, r := range experiencetest.Problem(1, fmt.Sprint(shard, "-", worker), 3, "mtrl", "snr", "cmtl") {
						if err := w.Append(r, 0.1); err != nil {
							t.Error(err)
						}
					}
				})
			}
			inner.Wait()
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(load(t, dir)); n != 4*3*4 {
		t.Errorf("%d records, want 48", n)
	}
}

// Two collections that are started on the same new directory at a time cannot
// both have it.
func TestOneManifestWins(t *testing.T) {
	for range 20 {
		dir := experiencetest.Dir(t)
		var wg sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			wg.Go(func() {
				m := experiencetest.Manifest()
				m.Seed = uint64(i % 2)
				w, err := experience.OpenWriter(dir, fmt.Sprint("shard-", i), m)
				if errs[i] = err; err == nil {
					w.Close()
				}
			})
		}
		wg.Wait()
		s, err := experience.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		for i, err := range errs {
			if mine := s.Manifest().Seed == uint64(i%2); mine && err != nil || !mine && !errors.Is(err, experience.ErrConflict) {
				t.Errorf("seed %d won, writer %d with seed %d got %v", s.Manifest().Seed, i, i%2, err)
			}
		}
	}
}

func TestForeignStoreIsRefusedAndUntouched(t *testing.T) {
	dir := experiencetest.Dir(t)
	experiencetest.Write(t, dir, "one", experiencetest.Problem(1, "p", 2)...)
	before := tree(t, dir)
	for _, c := range []struct {
		name   string
		change func(m *experience.Manifest)
		says   string
	}{
		{"another dataset", func(m *experience.Manifest) { m.Dataset.SHA256 = "77aa" }, "the dataset's fingerprint is 5f1a in " + dir + "/manifest.json but 77aa in this run"},
		{"another seed", func(m *experience.Manifest) { m.Seed = 2 }, "the seed is 1 in " + dir + "/manifest.json but 2 in this run"},
		{"another configuration", func(m *experience.Manifest) { m.Config = []byte(`{"o":"model","lambda1":[1e-6,1e-5]}`) }, `config.o is "refit" in ` + dir + `/manifest.json but "model" in this run`},
		{"less configuration", func(m *experience.Manifest) { m.Config = []byte(`{"o":"refit"}`) }, `config.lambda1 is [1e-6,1e-5] in ` + dir + `/manifest.json but absent in this run`},
	} {
		m := experiencetest.Manifest()
		c.change(&m)
		_, err := experience.OpenWriter(dir, "two", m)
		if !errors.Is(err, experience.ErrConflict) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v\nwant %s", c.name, err, c.says)
		}
		if d := cmp.Diff(before, tree(t, dir)); d != "" {
			t.Errorf("%s: the store changed:\n%s", c.name, d)
		}
	}
	m := experiencetest.Manifest()
	m.Dataset.Path = "elsewhere/digits.csv"
	m.Config = []byte(" {\"lambda1\": [1e-6, 1e-5],\n\"o\": \"refit\"} ")
	m.CreatedBy = []string{"a later version"}
	w, err := experience.OpenWriter(dir, "two", m)
	if err != nil {
		t.Fatalf("the same configuration written differently: %v", err)
	}
	w.Close()
}

func TestUnknownSchemaNamesBothVersions(t *testing.T) {
	dir := experiencetest.Dir(t)
	experiencetest.Write(t, dir, "one")
	path := filepath.Join(dir, "manifest.json")
	original, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	newer := bytes.Replace(original, []byte(`"schema": 1,`), []byte(`"schema": 2, "news": 1,`), 1)
	if err := os.WriteFile(path, newer, 0o644); err != nil {
		t.Fatal(err)
	}
	_, openErr := experience.Open(dir)
	_, writeErr := experience.OpenWriter(dir, "one", experiencetest.Manifest())
	for _, err := range []error{openErr, writeErr} {
		if !errors.Is(err, experience.ErrSchema) || !strings.Contains(err.Error(), "the store has schema 2; this program knows schema 1") {
			t.Errorf("newer store: %v", err)
		}
	}
	if err := os.WriteFile(path, original, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestUnusablePlaces(t *testing.T) {
	base := t.TempDir()
	aFile := filepath.Join(base, "file")
	if err := os.WriteFile(aFile, []byte("hello"), 0o644); err != nil {
		t.Fatal(err)
	}
	orphans := filepath.Join(base, "orphans")
	if err := os.MkdirAll(orphans, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(orphans, "one.jsonl"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	shardIsADir := filepath.Join(base, "shard is a directory")
	if err := os.MkdirAll(filepath.Join(shardIsADir, "one.jsonl"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, dir, shard string
		want             error
		says             string
	}{
		{"a file", aFile, "one", syscall.ENOTDIR, aFile},
		{"below a file", filepath.Join(aFile, "store"), "one", syscall.ENOTDIR, aFile},
		{"shards without manifest", orphans, "one", data.ErrInvalid, "there are shards but no manifest.json"},
		{"shard is a directory", shardIsADir, "one", syscall.EISDIR, "one.jsonl"},
		{"shard name with a slash", base, "../one", data.ErrInvalid, `shard "../one"`},
		{"empty shard name", base, "", data.ErrInvalid, `shard ""`},
	} {
		_, err := experience.OpenWriter(c.dir, c.shard, experiencetest.Manifest())
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := experience.Open(filepath.Join(base, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent store: %v", err)
	}
	if _, err := experience.OpenWriter(base, "one", experience.Manifest{}); !errors.Is(err, data.ErrInvalid) {
		t.Errorf("no fingerprint: %v", err)
	}
}

func TestReadOnlyDirectory(t *testing.T) {
	dir := experiencetest.Dir(t)
	experiencetest.Write(t, dir, "one", experiencetest.Problem(1, "p", 2)...)
	before := tree(t, dir)
	refuse := func(path string) (experience.File, error) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.EROFS}
	}
	_, err := experience.OpenWriterWith(dir, "two", experiencetest.Manifest(), refuse)
	if !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), filepath.Join(dir, "two.jsonl")) {
		t.Errorf("read-only file system: %v", err)
	}
	if os.Geteuid() != 0 { // root may write anywhere
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(dir, 0o755)
		if _, err := experience.OpenWriter(dir, "two", experiencetest.Manifest()); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("read-only directory: %v", err)
		}
	}
	if d := cmp.Diff(before, tree(t, dir)); d != "" {
		t.Errorf("the store changed:\n%s", d)
	}
}

// disk is a file on a disk with room for so many bytes more.
type disk struct {
	experience.File
	room        *int
	truncateErr error
}

func (d *disk) Write(b []byte) (int, error) {
	n := min(len(b), *d.room)
	*d.room -= n
	if written, err := d.File.Write(b[:n]); err != nil {
		return written, err
	}
	if n < len(b) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

func (d *disk) Truncate(size int64) error {
	if d.truncateErr != nil {
		return d.truncateErr
	}
	return d.File.Truncate(size)
}

// However little room there is, the shard holds whole records only, and what
// did not fit can be appended once there is room again.
func TestFullDisk(t *testing.T) {
	records := experiencetest.Problem(1, "p", 3, "mtrl", "snr")
	line, err := experience.Encode(records[0])
	if err != nil {
		t.Fatal(err)
	}
	for room := 0; room < 2*len(line); room += 37 {
		dir := experiencetest.Dir(t)
		left := room
		w, err := experience.OpenWriterWith(dir, "one", experiencetest.Manifest(), func(path string) (experience.File, error) {
			f, err := experience.OpenFile(path)
			return &disk{File: f, room: &left}, err
		})
		if err != nil {
			t.Fatal(err)
		}
		stored := 0
		for _, r := range records {
			err := w.Append(r, 1)
			if err == nil {
				stored++
			} else if !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("room %d: %v", room, err)
			}
			if w.Has(r.ID) != (err == nil) {
				t.Fatalf("room %d: Append says %v, Has %v", room, err, w.Has(r.ID))
			}
		}
		if got := len(load(t, dir)); got != stored || stored == len(records) {
			t.Fatalf("room %d: %d of %d appended records are there", room, got, stored)
		}
		left = 1 << 20
		for _, r := range records {
			if !w.Has(r.ID) {
				if err := w.Append(r, 1); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := load(t, dir); len(got) != len(records) {
			t.Fatalf("room %d: %d records in the end", room, len(got))
		}
	}
}

// If the torn part cannot even be cut off, the writer stops for good and the
// next one repairs the shard.
func TestFullDiskThatCannotBeRepaired(t *testing.T) {
	dir := experiencetest.Dir(t)
	records := experiencetest.Problem(1, "p", 3, "mtrl")
	left := 500
	w, err := experience.OpenWriterWith(dir, "one", experiencetest.Manifest(), func(path string) (experience.File, error) {
		f, err := experience.OpenFile(path)
		return &disk{File: f, room: &left, truncateErr: syscall.EIO}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.Append(records[0], 1); !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, syscall.EIO) {
			t.Fatalf("append: %v", err)
		}
		left = 1 << 20
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	// The next writer repairs it, and is stopped by the full disk in its turn.
	left = 700
	w, err = experience.OpenWriterWith(dir, "one", experiencetest.Manifest(), func(path string) (experience.File, error) {
		f, err := experience.OpenFile(path)
		return &disk{File: f, room: &left}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if warnings := w.Warnings(); len(warnings) != 1 || !errors.Is(warnings[0], experience.ErrTorn) {
		t.Errorf("warnings %v", warnings)
	}
	if err := w.Append(records[0], 1); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("append: %v", err)
	}
	if got := tree(t, dir)["/one.jsonl"]; got != "" {
		t.Errorf("the shard holds %q", got)
	}
	w.Close()
	experiencetest.Write(t, dir, "one", records...)
}

// unsyncable is a file that cannot be brought to the disk.
type unsyncable struct{ experience.File }

func (unsyncable) Sync() error { return syscall.EIO }

// Close must not say that all is safe when it isn't.
func TestCloseSyncs(t *testing.T) {
	dir := experiencetest.Dir(t)
	for _, suffix := range []string{".jsonl", ".seconds.tsv"} {
		w, err := experience.OpenWriterWith(dir, "one", experiencetest.Manifest(), func(path string) (experience.File, error) {
			f, err := experience.OpenFile(path)
			if strings.HasSuffix(path, suffix) {
				f = unsyncable{f}
			}
			return f, err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: %v", suffix, err)
		}
	}
	if err := open(t, dir, "one").Close(); err != nil {
		t.Errorf("the shard was not given free: %v", err)
	}
}

// A shard cut anywhere within its last line loses that record and no other,
// and writing it again gives the bytes of a run that was never cut.
func TestTornLastLineIsDoneAgain(t *testing.T) {
	records := experiencetest.Problem(1, "p", 2, "mtrl", "snr")
	dir := experiencetest.Dir(t)
	experiencetest.Write(t, dir, "one", records...)
	path := filepath.Join(dir, "one.jsonl")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for cut := len(whole) - 1; cut > last; cut -= 11 {
		if err := os.Truncate(path, int64(cut)); err != nil {
			t.Fatal(err)
		}
		s, err := experience.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if report, err := s.Check(t.Context()); err != nil || len(report.Faults) != 0 || len(report.Warnings) != 1 || report.Records != 2 {
			t.Fatalf("cut at %d: %+v, %v", cut, report, err)
		}
		other := open(t, dir, "two") // has no business with the torn line
		if len(other.Warnings()) != 0 {
			t.Fatalf("cut at %d: another shard's writer warns %v", cut, other.Warnings())
		}
		other.Close()
		w := open(t, dir, "one")
		warnings := w.Warnings()
		if len(warnings) != 1 || warnings[0].File != path || warnings[0].Line != 3 || !errors.Is(warnings[0], experience.ErrTorn) {
			t.Fatalf("cut at %d: warnings %v", cut, warnings)
		}
		for i, r := range records {
			if w.Has(r.ID) != (i < 2) {
				t.Fatalf("cut at %d: record %d known: %v", cut, i, w.Has(r.ID))
			}
		}
		if err := errors.Join(w.Append(records[2], 1), w.Close()); err != nil {
			t.Fatal(err)
		}
		if again, err := os.ReadFile(path); err != nil || !bytes.Equal(again, whole) {
			t.Fatalf("cut at %d: the shard differs from the one never cut (%v)", cut, err)
		}
	}
}

func TestDamagedLineStopsTheWriter(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	experiencetest.Write(t, dir, "one", experiencetest.Problem(1, "p", 2, "mtrl")...)
	path := filepath.Join(dir, "one.jsonl")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[20] ^= 1
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = experience.OpenWriter(dir, "two", experiencetest.Manifest())
	if !errors.Is(err, experience.ErrChecksum) || !strings.Contains(err.Error(), path+":1: ") || !strings.Contains(err.Error(), "delete that line") {
		t.Errorf("damaged line: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, b) {
		t.Errorf("the shard changed (%v)", err)
	}
}

// writeUntilKilled goes on with the store where it stands, and prints the id
// of every record that Append has accepted. A shard that writes at the pace of
// a bad disk makes it likely that the kill comes within a record.
func writeUntilKilled(dir string) {
	fmt.Println("ready")
	w, err := experience.OpenWriterWith(dir, "one", experiencetest.Manifest(), func(path string) (experience.File, error) {
		f, err := experience.OpenFile(path)
		return &slow{f}, err
	})
	for i := 0; err == nil; i++ {
		for _, r := range killedProblem(i) {
			if w.Has(r.ID) {
				continue
			}
			if err = w.Append(r, 1); err != nil {
				break
			}
			fmt.Println(r.ID)
		}
	}
	fmt.Println("error:", err)
	os.Exit(1)
}

func killedProblem(i int) []*experience.Record {
	return experiencetest.Problem(1, fmt.Sprintf("problem %03d", i), 6, "mtrl", "snr", "cmtl")
}

// slow is a file that takes its time within a write.
type slow struct{ experience.File }

func (s *slow) Write(b []byte) (n int, err error) {
	for len(b) > 0 && err == nil {
		time.Sleep(100 * time.Microsecond)
		var part int
		part, err = s.File.Write(b[:min(len(b), 256)])
		n, b = n+part, b[part:]
	}
	return n, err
}

func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("kills 50 processes")
	}
	const seed = 3
	rng := data.Stream(seed, "kill")
	dir := experiencetest.Dir(t)
	accepted := map[string]bool{}
	torn := 0
	for kill := range 50 {
		for _, id := range runAndKill(t, dir, rng) {
			accepted[id] = true
		}
		s, err := experience.Open(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // killed before the store was made
		}
		if err != nil {
			t.Fatal(err)
		}
		report, err := s.Check(context.Background())
		if err != nil || report.Err() != nil {
			t.Fatalf("seed %d, kill %d: %v, %v", seed, kill, err, report.Err())
		}
		torn += len(report.Warnings)
		have := map[string]bool{}
		for _, r := range load(t, dir) {
			have[r.ID] = true
		}
		for id := range accepted {
			if !have[id] {
				t.Fatalf("seed %d, kill %d: accepted record %s is lost", seed, kill, id)
			}
		}
	}
	t.Logf("%d records accepted, %d kills left a torn line", len(accepted), torn)
	if len(accepted) == 0 || torn == 0 {
		t.Error("the kills came at the wrong times: the test tests nothing")
	}

	// Finish what was begun: it must equal a store that was never interrupted.
	w := open(t, dir, "one")
	uninterrupted := experiencetest.Dir(t)
	whole := open(t, uninterrupted, "one")
	for i := 0; i == 0 || w.Has(killedProblem(i)[0].ID); i++ {
		for _, r := range killedProblem(i) {
			if !w.Has(r.ID) {
				if err := w.Append(r, 1); err != nil {
					t.Fatal(err)
				}
			}
			if err := whole.Append(r, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(w.Close(), whole.Close()); err != nil {
		t.Fatal(err)
	}
	if a, b := tree(t, dir)["/one.jsonl"], tree(t, uninterrupted)["/one.jsonl"]; a != b {
		t.Error("killed and resumed differs from uninterrupted")
	}
}

// runAndKill runs this test binary as a writer, kills it after a random time
// and returns the ids that it printed.
func runAndKill(t *testing.T, dir string, rng *rand.Rand) (ids []string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), killedWriter+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	if line, err := r.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the writer began with %q, %v", line, err)
	}
	kill := time.AfterFunc(time.Duration(rng.IntN(50_000))*time.Microsecond, func() { cmd.Process.Kill() })
	defer kill.Stop()
	for {
		id, err := r.ReadString('\n')
		if err == io.EOF {
			break // an id without newline was not yet accepted for sure
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(id, "error:") {
			t.Fatal(id)
		}
		ids = append(ids, strings.TrimSpace(id))
	}
	cmd.Wait() // it was killed, so it reports an error
	return ids
}

// The seconds file survives a torn line too, and never spoils a record.
func TestTornSeconds(t *testing.T) {
	dir := experiencetest.Dir(t)
	records := experiencetest.Problem(1, "p", 2, "mtrl")
	experiencetest.Write(t, dir, "one", records[0])
	path := filepath.Join(dir, "one.seconds.tsv")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()-3); err != nil {
		t.Fatal(err)
	}
	experiencetest.Write(t, dir, "one", records[1])
	s, err := experience.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	seconds, err := s.Seconds()
	if err != nil || len(seconds) != 1 || seconds[records[1].ID] != 0.5 {
		t.Errorf("seconds %v, %v", seconds, err)
	}
}

// Readers hold one line at a time and give up on an endless one.
func TestLineLengthIsBounded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	experiencetest.Write(t, dir, "one", experiencetest.Problem(1, "p", 2)...)
	f, err := os.OpenFile(filepath.Join(dir, "one.jsonl"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(experience.MaxLine * 64); err != nil { // a hole: takes no room
		t.Fatal(err)
	}
	s, err := experience.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = s.Load()
	if !errors.Is(err, data.ErrFormat) || !strings.Contains(err.Error(), "one.jsonl:2: ") {
		t.Errorf("endless line: %v", err)
	}
	long := experiencetest.Problem(1, "p", 2)[0]
	long.Problem = strings.Repeat("x", experience.MaxLine)
	if _, err := experience.Encode(long); !errors.Is(err, data.ErrInvalid) {
		t.Errorf("too long to be read: %v", err)
	}
}

// Whatever the order of writing, Load gives the same: by problem, source and draw.
func TestLoadIsCanonical(t *testing.T) {
	for seed := range uint64(10) {
		records := slices.Concat(experiencetest.Problem(1, "b", 2, "mtrl", "mtrl", "mtrl", "mtrl", "snr"), experiencetest.Problem(1, "a", 3, "mtrl"))
		data.Stream(seed, "order").Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		dir := experiencetest.Dir(t)
		experiencetest.Write(t, dir, "one", records[:3]...)
		experiencetest.Write(t, dir, "two", records[3:]...)
		var got []string
		for _, r := range load(t, dir) {
			got = append(got, fmt.Sprintf("%s %s %d", r.Problem, r.Source, r.Draw))
		}
		want := []string{"a mtrl 0", "a stl 0", "b mtrl 0", "b mtrl 1", "b mtrl 2", "b mtrl 3", "b snr 0", "b stl 0"}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("seed %d:\n%s", seed, d)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	w := open(b, filepath.Join(b.TempDir(), "store"), "one")
	defer w.Close()
	r := experiencetest.Problem(1, "p", 6, "mtrl")[1]
	for b.Loop() {
		r.Draw++
		r.ID, _ = experience.TupleID(r.ProblemID, r.Source, r.Draw, r.Hyper)
		if err := w.Append(r, 1); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "store")
	var records []*experience.Record
	for i := range 50 {
		records = append(records, experiencetest.Problem(1, strconv.Itoa(i), 6, "a", "b", "c", "d", "e", "f", "g", "h", "i", "j")...)
	}
	experiencetest.Write(b, dir, "one", records...)
	s, err := experience.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	perRecord := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(records)), "ns/record")
	}
	b.Run("Records", func(b *testing.B) {
		for b.Loop() {
			for _, err := range s.Records() {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
		perRecord(b)
	})
	b.Run("Check", func(b *testing.B) {
		for b.Loop() {
			if report, err := s.Check(context.Background()); err != nil || report.Err() != nil {
				b.Fatal(err, report.Err())
			}
		}
		perRecord(b)
	})
}
