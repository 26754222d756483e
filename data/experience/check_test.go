package experience_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/experience"
	"l2mt/data/files"
)

// writeRaw makes a store whose only shard has these lines, valid or not.
func writeRaw(t testing.TB, lines ...[]byte) (dir, shard string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "store")
	writeStore(t, dir, "one")
	shard = filepath.Join(dir, "one.jsonl")
	datatest.Check(t, os.WriteFile(shard, bytes.Join(lines, nil), 0o644))
	return dir, shard
}

func encodeAll(t testing.TB, records ...*experience.Record) (lines [][]byte) {
	t.Helper()
	for _, r := range records {
		lines = append(lines, datatest.Must(experience.Encode(r))(t))
	}
	return lines
}

func check(t testing.TB, dir string) (records int, faults []*experience.Fault) {
	t.Helper()
	records, faults, err := datatest.Must(experience.Open(dir))(t).Check()
	datatest.Check(t, err)
	return records, faults
}

// wantFault checks that the store has one fault, at that line.
func wantFault(t *testing.T, name, dir, shard string, line int, want error, says string) {
	t.Helper()
	_, faults := check(t, dir)
	if len(faults) != 1 {
		t.Errorf("%s: %d faults, want 1: %v", name, len(faults), faults)
		return
	}
	if f := faults[0]; f.Place != fmt.Sprint(shard, ":", line) || !errors.Is(f, want) || !strings.Contains(f.Error(), says) {
		t.Errorf("%s: %v\nwant line %d, %s", name, f, line, says)
	}
}

func TestCheckFindsDamagedLines(t *testing.T) {
	good := encodeAll(t, someRecords(1, "p", 2, "mtrl", "snr")...)
	bad := someRecords(1, "p", 2, "mtrl")[1]
	bad.Result.Lambda1 = 0
	flipped := bytes.Clone(good[1])
	flipped[len(flipped)/2] ^= 4
	for _, c := range []struct {
		name string
		line []byte
		want error
		says string
	}{
		{"flipped bit", flipped, files.ErrChecksum, "the line does not begin with a checksum of its content"},
		{"empty line", []byte("\n"), files.ErrChecksum, "the line does not begin with a checksum"},
		{"text", []byte("hello\n"), files.ErrChecksum, "the line does not begin with a checksum"},
		{"carriage return", append(bytes.TrimSuffix(good[1], []byte("\n")), "\r\n"...), files.ErrChecksum, "the line does not begin with a checksum of its content"},
		{"not JSON", files.Seal([]byte("{,]}")), data.ErrFormat, "invalid character"},
		{"unknown field", files.Seal([]byte(`{"omgea":[[1]]}`)), data.ErrFormat, `unknown field "omgea"`},
		{"invalid record", encodeAll(t, bad)[0], data.ErrInvalid, "lambda1 is 0"},
		{"wrong type", files.Seal([]byte(`{"draw":"first"}`)), data.ErrFormat, "cannot unmarshal string"},
	} {
		dir, shard := writeRaw(t, good[0], c.line, good[2])
		wantFault(t, c.name, dir, shard, 2, c.want, c.says)
		datatest.Refused(experience.OpenWriter(dir, "two", someManifest()))(t, c.want, shard+":2: ", "delete that line")
	}
}

func TestCheckFindsWhatRecordsTellTogether(t *testing.T) {
	p := someRecords(1, "p", 3, "mtrl", "snr")
	q := someRecords(1, "q", 3, "mtrl")

	dir, shard := writeRaw(t, encodeAll(t, p[0], p[1], q[0], p[1], p[2])...)
	wantFault(t, "duplicate", dir, shard, 4, experience.ErrDuplicate, p[1].ID+" is also at "+shard+":2")

	dir, shard = writeRaw(t, encodeAll(t, p[0], p[1], q[1], p[2])...)
	wantFault(t, "no denominator", dir, shard, 3, data.ErrInvalid, `problem "q" has tuples that are ok, but none of source "stl"`)
}

// Check reports everything it finds and goes on after it.
func TestCheckGoesOn(t *testing.T) {
	lines := encodeAll(t, someRecords(1, "p", 3, "mtrl", "snr", "ssnr")...)
	dir, shard := writeRaw(t, []byte("x\n"), lines[0], []byte("y\n"), lines[1], lines[1], lines[2], lines[3][:100])
	records, faults := check(t, dir)
	datatest.Need(t, len(faults) == 4 && records == 4, "%d faults, %d records", len(faults), records)
	for i, f := range faults {
		datatest.Equal(t, f.Place, fmt.Sprint(shard, ":", 1+2*i), "the place of a fault")
	}
	datatest.Says(t, faults[3], experience.ErrTorn)
}

func TestUnusableFolders(t *testing.T) {
	base := t.TempDir()
	aFile := filepath.Join(base, "file")
	datatest.Check(t, os.WriteFile(aFile, []byte("hello"), 0o644))
	orphans := filepath.Join(base, "orphans")
	datatest.Check(t, os.MkdirAll(orphans, 0o755))
	datatest.Check(t, os.WriteFile(filepath.Join(orphans, "one.jsonl"), nil, 0o644))
	shardIsADir := filepath.Join(base, "shard is a directory")
	datatest.Check(t, os.MkdirAll(filepath.Join(shardIsADir, "one.jsonl"), 0o755))
	newer := filepath.Join(base, "newer")
	datatest.Check(t, os.MkdirAll(newer, 0o755))
	write(t, filepath.Join(newer, "manifest.json"), []byte(`{"schema": 3, "news": 1}`))
	datatest.Refused(experience.Open(newer))(t, files.ErrSchema, "it has schema 3; this program reads schema 2")
	for _, c := range []struct {
		name, dir, shard string
		want             error
		says             string
	}{
		{"a file", aFile, "one", syscall.ENOTDIR, aFile},
		{"below a file", filepath.Join(aFile, "store"), "one", syscall.ENOTDIR, aFile},
		{"shards without manifest", orphans, "one", fs.ErrNotExist, "manifest.json: no such file or directory; without this file the shards"},
		{"shard is a directory", shardIsADir, "one", syscall.EISDIR, "one.jsonl"},
		{"shard name with a slash", base, "../one", data.ErrInvalid, `shard "../one"`},
		{"another schema", newer, "one", files.ErrSchema, "it has schema 3; this program reads schema 2"},
		{"empty shard name", base, "", data.ErrInvalid, `shard ""`},
	} {
		datatest.Refused(experience.OpenWriter(c.dir, c.shard, someManifest()))(t, c.want, c.says)
	}
	datatest.Refused(experience.Open(filepath.Join(base, "absent")))(t, fs.ErrNotExist)
	datatest.Refused(experience.OpenWriter(base, "one", experience.Manifest{}))(t, data.ErrInvalid)
}

// A shard cut anywhere within its last line loses that record and no other,
// and writing it again gives the bytes of a run that was never cut.
func TestTornLastLineIsDoneAgain(t *testing.T) {
	records := someRecords(1, "p", 2, "mtrl", "snr")
	dir := storeDir(t)
	writeStore(t, dir, "one", records...)
	path := filepath.Join(dir, "one.jsonl")
	whole := datatest.Must(os.ReadFile(path))(t)
	last := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for cut := len(whole) - 1; cut > last; cut -= 11 {
		datatest.Check(t, os.Truncate(path, int64(cut)))
		if records, faults := check(t, dir); len(faults) != 1 || !errors.Is(faults[0], experience.ErrTorn) || records != 2 {
			t.Fatalf("cut at %d: %d records, %v", cut, records, faults)
		}
		datatest.Equal(t, len(load(t, dir)), 2, "cut at %d: records loaded", cut)
		other := open(t, dir, "two") // has no business with the torn line
		datatest.Need(t, !other.Torn, "cut at %d: another shard's writer warns", cut)
		other.Close()
		w := open(t, dir, "one")
		datatest.Need(t, w.Torn, "cut at %d: no line was torn", cut)
		for i, r := range records {
			datatest.Equal(t, w.Has(r.ID), i < 2, "cut at %d: record %d known", cut, i)
		}
		datatest.Check(t, errors.Join(w.Append(records[2]), w.Close()))
		datatest.Equal(t, datatest.Must(os.ReadFile(path))(t), whole, "cut at %d: the shard differs from the one never cut", cut)
	}
}

// Readers hold one line at a time and give up on an endless one.
func TestLineLengthIsBounded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	writeStore(t, dir, "one", someRecords(1, "p", 2)...)
	f := datatest.Must(os.OpenFile(filepath.Join(dir, "one.jsonl"), os.O_WRONLY|os.O_APPEND, 0))(t)
	defer f.Close()
	if err := f.Truncate(experience.MaxLine * 64); err != nil { // a hole: takes no room
		t.Fatal(err)
	}
	_, err := datatest.Must(experience.Open(dir))(t).Load()
	datatest.Says(t, err, data.ErrFormat, "one.jsonl:2: ")
	long := someRecords(1, "p", 2)[0]
	long.Problem = strings.Repeat("x", experience.MaxLine)
	datatest.Refused(experience.Encode(long))(t, data.ErrInvalid)
}

// onDataset makes a problem file on a dataset beside it.
func onDataset(t *testing.T, dir string) string {
	t.Helper()
	datatest.Check(t, os.MkdirAll(dir, 0o755))
	write(t, filepath.Join(dir, "rows.csv"), []byte("1,2,a\n3,4,b\n5,6,a\n7,8,b\n"))
	path := filepath.Join(dir, "mine.json")
	write(t, path, []byte(`{"schema": 1, "dataset": {"path": "rows.csv"}, "problems": [
		{"name": "p", "tasks": [{"name": "t", "kind": "classification", "positive": "a", "negative": "b", "train": [0, 1], "test": [2]}]},
		{"name": "q", "tasks": [{"name": "t", "kind": "classification", "positive": "b", "negative": "a", "train": [0, 1], "test": [3]}]}]}`))
	return path
}

func openProblems(t *testing.T, path string) *experience.Problems {
	t.Helper()
	return datatest.Must(experience.OpenProblems(path, "", false))(t)
}

// The reference follows everything that the numbers of a tuple depend on, and
// nothing else.
func TestTheReferenceIsThatOfTheContent(t *testing.T) {
	root := t.TempDir()
	on := func(name string) *experience.Problems {
		return openProblems(t, onDataset(t, filepath.Join(root, name)))
	}
	one, elsewhere := on("a").Reference(), on("elsewhere").Reference()
	datatest.Holds(t, one == elsewhere && one.Path == "rows.csv", "%+v, elsewhere %+v", one, elsewhere)
}

// stored makes a store that keeps the problems.
func stored(t *testing.T, dir string, p *experience.Problems) {
	t.Helper()
	w := datatest.Must(experience.OpenWriter(dir, "one", experience.Manifest{Dataset: p.Reference()}))(t)
	datatest.Check(t, errors.Join(p.Keep(dir), w.Close()))
}

// Problems come with their data, and find it from every store that keeps them.
func TestStoresKeepTheirProblems(t *testing.T) {
	root := t.TempDir()
	p := openProblems(t, onDataset(t, filepath.Join(root, "[1] dataset")))
	dir := filepath.Join(root, "[3] store")
	stored(t, dir, p)
	datatest.Check(t, p.Keep(dir)) // the same file again
	kept := datatest.Must(datatest.Must(experience.Open(dir))(t).Problems(""))(t)
	datatest.Equal(t, kept.Reference().SHA256, p.Reference().SHA256, "the fingerprint")
	for _, p := range []*experience.Problems{p, kept} {
		all := datatest.Must(p.All())(t)
		q := datatest.Must(p.Problem(1))(t)
		datatest.Holds(t, len(all) == 2 && p.Len() == 2 && q.Name == "q" && slices.Equal(q.Tasks[0].TrainSet.Y, []float64{-1, 1}) && slices.Equal(q.Tasks[0].TestSet.X.Row(0).Value, []float32{7, 8}),
			"%+v, %+v", all, q)
	}
}

func TestStoresRefuseOtherProblems(t *testing.T) {
	root := t.TempDir()
	path := onDataset(t, filepath.Join(root, "data"))
	dir := filepath.Join(root, "store")
	stored(t, dir, openProblems(t, path))
	s := datatest.Must(experience.Open(dir))(t)
	write(t, filepath.Join(root, "data", "rows.csv"), []byte("1,2,a\n3,4,b\n5,6,a\n7,9,b\n"))
	datatest.Refused(s.Problems(""))(t, data.ErrMismatch, "rows.csv")
}
