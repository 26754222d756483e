package experience_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/experience"
	"l2mt/data/files"
)

func TestUnusableFolders(t *testing.T) {
	base := t.TempDir()
	aFile := filepath.Join(base, "file")
	datatest.Check(t, os.WriteFile(aFile, []byte("hello"), 0o644))
	orphans := filepath.Join(base, "orphans")
	datatest.Check(t, os.MkdirAll(orphans, 0o755))
	datatest.Check(t, os.WriteFile(filepath.Join(orphans, "one.jsonl"), nil, 0o644))
	shardIsADir := filepath.Join(base, "shard is a directory")
	datatest.Check(t, os.MkdirAll(filepath.Join(shardIsADir, "one.jsonl"), 0o755))
	for _, c := range []struct {
		name, dir, shard string
		want             error
		says             string
	}{
		{"a file", aFile, "one", syscall.ENOTDIR, aFile},
		{"below a file", filepath.Join(aFile, "store"), "one", syscall.ENOTDIR, aFile},
		{"shards without manifest", orphans, "one", fs.ErrNotExist, "manifest.json: no such file or directory; there are shards"},
		{"shard is a directory", shardIsADir, "one", syscall.EISDIR, "one.jsonl"},
		{"shard name with a slash", base, "../one", data.ErrInvalid, `shard "../one"`},
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
			datatest.Equal(t, w.Has(r.ID), i < 2, "cut at %d: record %d known", cut, i)
		}
		datatest.Check(t, errors.Join(w.Append(records[2]), w.Close()))
		datatest.Equal(t, datatest.Must(os.ReadFile(path))(t), whole, "cut at %d: the shard differs from the one never cut", cut)
	}
}

func TestDamagedLineStopsTheWriter(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	writeStore(t, dir, "one", someRecords(1, "p", 2, "mtrl")...)
	path := filepath.Join(dir, "one.jsonl")
	b := datatest.Must(os.ReadFile(path))(t)
	b[20] ^= 1
	datatest.Check(t, os.WriteFile(path, b, 0o644))
	_, err := experience.OpenWriter(dir, "two", someManifest())
	datatest.Says(t, err, files.ErrChecksum, path+":1: ", "delete that line")
	datatest.Equal(t, datatest.Must(os.ReadFile(path))(t), b, "the shard changed")
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
	s := datatest.Must(experience.Open(dir))(t)
	_, err := s.Load()
	datatest.Says(t, err, data.ErrFormat, "one.jsonl:2: ")
	long := someRecords(1, "p", 2)[0]
	long.Problem = strings.Repeat("x", experience.MaxLine)
	datatest.Refused(experience.Encode(long))(t, data.ErrInvalid)
}
