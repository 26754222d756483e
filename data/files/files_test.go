package files

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"l2mt/data/datatest"
)

func TestAFileIsWrittenWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	has := func(want string) {
		t.Helper()
		if raw, err := os.ReadFile(path); err != nil || string(raw) != want {
			t.Errorf("the file has %q, %v; want %q", raw, err, want)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("there are %v, %v", entries, err)
		}
	}
	datatest.Check(t, WriteFile(path, []byte("first")))
	has("first")
	broken := errors.New("broken")
	err := Write(path, func(w io.Writer) error {
		if _, err := io.WriteString(w, "sec"); err != nil {
			t.Fatal(err)
		}
		found, err := os.ReadDir(dir)
		if err != nil || len(found) != 2 {
			t.Errorf("while writing there are %v, %v; want the file and another beside it", found, err)
		}
		return broken
	})
	datatest.Says(t, err, broken)
	has("first")
	datatest.Check(t, WriteFile(path, []byte("third")))
	has("third")
	if err := WriteFile(filepath.Join(path, "below"), nil); err == nil {
		t.Error("a file was written below a file")
	}
	if err := WriteFile(dir, nil); err == nil {
		t.Error("a directory was replaced")
	}
	has("third")
}

// What was readable by whom stays so.
func TestAReplacedFileKeepsItsPermissions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	datatest.Check(t, os.WriteFile(path, nil, 0o640))
	datatest.Check(t, os.Chmod(path, 0o440))
	datatest.Check(t, WriteFile(path, []byte("new")))
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o440 {
		t.Errorf("the permissions are %v, %v; want 0440", info.Mode(), err)
	}
}

// A killed process leaves its temporary file. The next one at the place removes it once nobody
// can be writing it any more, and nothing else.
func TestWriteRemovesWhatKilledProcessesLeft(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	age := func(name string, hours time.Duration) string {
		left := filepath.Join(dir, name)
		datatest.Check(t, os.WriteFile(left, nil, 0o600))
		when := time.Now().Add(-hours * time.Hour)
		datatest.Check(t, os.Chtimes(left, when, when))
		return left
	}
	stale := age(".file"+rand.Text(), 25)
	kept := []string{age(".file"+rand.Text(), 23), age(".other"+rand.Text(), 25), age(".file.bak", 25), age("file"+rand.Text(), 25)}
	datatest.Check(t, WriteFile(path, nil))
	if _, err := os.Lstat(stale); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left: %v", stale, err)
	}
	for _, path := range kept {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
}

func TestAFileIsCreatedOnce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	var won atomic.Int32
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			switch err := Create(path, fmt.Append(nil, i)); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	work.Wait()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 || won.Load() != 1 {
		t.Errorf("%d created it; there are %v, %v", won.Load(), entries, err)
	}
}

// The sum of "abc" is in FIPS 180-2, appendix B.1.
func TestSHA256(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	datatest.Check(t, os.WriteFile(path, []byte("abc"), 0o644))
	const want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if sum, err := SHA256(path); err != nil || sum != want {
		t.Errorf("the sum is %s, %v; want %s", sum, err, want)
	}
	if _, err := SHA256(path + ".not"); err == nil {
		t.Error("a file that does not exist has a sum")
	}
}
