package files

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"l2mt/data/datatest"
)

// writeSet returns what writes a set of files with one content.
func writeSet(content string) func(dir string) error {
	return func(dir string) error {
		return errors.Join(
			WriteFile(filepath.Join(dir, "a"), []byte(content)),
			os.Mkdir(filepath.Join(dir, "sub"), 0o755),
			WriteFile(filepath.Join(dir, "sub", "b"), []byte(content)),
			WriteFile(filepath.Join(dir, "z"), []byte(content)))
	}
}

// hasSet checks that a directory has a set, and nothing besides it and the lock.
func hasSet(t *testing.T, dir, want string) {
	t.Helper()
	for _, name := range []string{"a", "sub/b", "z"} {
		datatest.Equal(t, content(t, filepath.Join(dir, name)), want, "%s", name)
	}
	datatest.Equal(t, len(datatest.Must(os.ReadDir(dir))(t)), 4, "files there")
}

func claim(t *testing.T, dir string) *Folder {
	t.Helper()
	f := datatest.Must(Claim(dir))(t)
	t.Cleanup(func() { f.Close() })
	return f
}

func TestAFolderIsReplacedWholeOrNotAtAll(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	f := claim(t, dir)
	datatest.Refused(Claim(dir))(t, ErrLocked)
	datatest.Check(t, f.Replace(writeSet("first")))
	hasSet(t, dir, "first")
	datatest.Check(t, os.Chmod(filepath.Join(dir, "sub", "b"), 0o600))
	broken := errors.New("broken")
	err := f.Replace(func(dir string) error { return errors.Join(writeSet("second")(dir), broken) })
	datatest.Says(t, err, broken)
	hasSet(t, dir, "first")
	datatest.Check(t, f.Replace(writeSet("third")))
	hasSet(t, dir, "third")
	datatest.Equal(t, datatest.Must(os.Stat(filepath.Join(dir, "sub", "b")))(t).Mode().Perm(), 0o600, "the permissions")
}

// A process may be killed before the files are whole, and after any of them is in its place.
func TestAKilledReplaceIsFinishedOrRemoved(t *testing.T) {
	for moved := -1; moved <= 3; moved++ {
		dir := t.TempDir()
		f := claim(t, dir)
		datatest.Check(t, f.Replace(writeSet("old")))
		datatest.Check(t, f.Close())
		stage, want := filepath.Join(dir, readyName), "new"
		if moved < 0 {
			stage, want = filepath.Join(dir, ".next"+rand.Text()), "old"
		}
		datatest.Check(t, errors.Join(os.Mkdir(stage, 0o755), writeSet("new")(stage)))
		for i, name := range []string{"a", "sub/b", "z"} {
			if i < moved {
				datatest.Check(t, os.Rename(filepath.Join(stage, name), filepath.Join(dir, name)))
			}
		}
		orphan := filepath.Join(dir, ".a"+"AAAAAAAAAAAAA7777777777777")
		datatest.Check(t, os.WriteFile(orphan, []byte("half"), 0o644))
		datatest.Check(t, Settle(dir))
		claim(t, dir)
		hasSet(t, dir, want)
	}
}

// A link stays a link, wherever its target is, and is there or not.
func TestLinksAreWrittenThrough(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "real", "deep")
	err := errors.Join(
		os.MkdirAll(deep, 0o755),
		os.Symlink(deep, filepath.Join(dir, "folder")),
		os.Symlink("../target", filepath.Join(deep, "relative")),
		os.Symlink(filepath.Join(dir, "folder", "relative"), filepath.Join(dir, "chain")),
		os.Symlink("loop", filepath.Join(dir, "loop")))
	if err != nil {
		t.Skip(err) // Windows asks for a privilege
	}
	for _, text := range []string{"it was not there", "it was there"} {
		datatest.Check(t, WriteFile(filepath.Join(dir, "chain"), []byte(text)))
		datatest.Equal(t, content(t, filepath.Join(dir, "real", "target")), text, "the target")
	}
	for _, name := range []string{"chain", "real/deep/relative"} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v, %v", name, info.Mode(), err)
		}
	}
	datatest.Says(t, WriteFile(filepath.Join(dir, "loop"), nil), nil)
}

func TestAFifoIsWrittenInPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := exec.Command("mkfifo", path).Run(); err != nil {
		t.Skip(err)
	}
	read := make(chan string)
	go func() {
		raw, _ := os.ReadFile(path)
		read <- string(raw)
	}()
	err := Write(path, func(w io.Writer) error {
		return datatest.Err(io.WriteString(w, "through it"))
	})
	info, statErr := os.Lstat(path)
	datatest.Need(t, err == nil && statErr == nil && info.Mode()&fs.ModeNamedPipe != 0,
		"%v, %v; the fifo is %v now", err, statErr, info.Mode())
	datatest.Equal(t, <-read, "through it", "the reader got")
}
