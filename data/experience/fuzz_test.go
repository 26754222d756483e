package experience_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/experience"
	"l2mt/data/files"
)

// Whatever the manifest, it is refused or belongs to a store that can be opened
// again with what was read.
func FuzzManifest(f *testing.F) {
	dir := filepath.Join(f.TempDir(), "store")
	writeStore(f, dir, "a")
	raw := datatest.Must(os.ReadFile(filepath.Join(dir, "manifest.json")))(f)
	f.Add(raw)
	for _, s := range []string{"", "{}", "null", `{"schema":3,"new":1}`, `{"schema":2,"dataset":{"path":"","sha256":"0"},"seed":1,"config":[]}`,
		`{"schema":2,"dataset":{"path":"","sha256":"0"},"seed":-1}`, `{"schema":2,"dataset":{"sha256":"0"},"config":{"a":1e999,"a":{"b":null}}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "manifest.json"), raw)
		s, err := experience.Open(dir)
		if err != nil {
			if !errors.Is(err, data.ErrFormat) && !errors.Is(err, data.ErrInvalid) && !errors.Is(err, files.ErrSchema) {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		w, err := experience.OpenWriter(dir, "a", s.Manifest)
		datatest.Need(t, err == nil, "%q is read as %+v, which it does not agree with: %v", raw, s.Manifest, err)
		datatest.Check(t, w.Close())
	})
}

func write(t testing.TB, path string, raw []byte) {
	t.Helper()
	datatest.Check(t, os.WriteFile(path, raw, 0o644))
}

// Whatever stands in the files of a shard, reading ends without a panic, and a
// writer leaves the whole lines as they are.
func FuzzStore(f *testing.F) {
	dir := filepath.Join(f.TempDir(), "store")
	writeStore(f, dir, "a", someRecords(1, "p", 2, "mtrl", "snr2")...)
	shard := datatest.Must(os.ReadFile(filepath.Join(dir, "a.jsonl")))(f)
	f.Add(shard, false)
	f.Add(shard[:len(shard)-9], false)
	f.Add([]byte("\n\n"), false)
	for _, s := range []string{"{}", "null", `{"omega":[[1],[]]}`, `{"draw":1e9}`, `{"status":"ok"} {}`, `{"hyper":{"a":1e999}}`, "{\x00"} {
		f.Add([]byte(s), true)
	}
	f.Add([]byte(`{"id":"x","problem":"p","status":"ok","omega":[[1,2],[3]],"result":{"model":{},"stl":{}}}`), true)
	f.Add([]byte(`{"id":"x","problem":"p","status":"ok"}`), true)
	f.Fuzz(func(t *testing.T, shard []byte, sealed bool) {
		if sealed && len(shard) > 0 { // without a right checksum little is read
			shard = files.Seal(shard)
		}
		dir := filepath.Join(t.TempDir(), "store")
		writeStore(t, dir, "b")
		path := filepath.Join(dir, "a.jsonl")
		write(t, path, shard)
		s := datatest.Must(experience.Open(dir))(t)
		records, loadErr := s.Load()
		for _, r := range records {
			datatest.Need(t, r.Status != experience.OK || r.Result != nil && len(r.Omega) != 0,
				"a record without a result: %+v", r)
		}
		check(t, dir)
		w, err := experience.OpenWriter(dir, "a", someManifest())
		datatest.Need(t, (err == nil) == (loadErr == nil), "Load says %v, OpenWriter %v", loadErr, err)
		whole := shard
		if err == nil {
			whole = shard[:bytes.LastIndexByte(shard, '\n')+1]
			datatest.Check(t, w.Close())
		}
		datatest.Equal(t, string(datatest.Must(os.ReadFile(path))(t)), string(whole), "the shard %q", shard)
	})
}
