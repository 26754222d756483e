package files

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// Folder is a directory that one process writes at a time, and whose files change
// together.
type Folder struct {
	Path string

	lock *flock.Flock
}

// Names in a folder that are none of its content.
const (
	lockName  = ".lock"
	readyName = ".ready" // files that are whole, on their way to their places
)

// Claim makes a directory if need be and keeps other processes out (ErrLocked) until
// Close, or the end of the process. It finishes or removes what a killed process was
// writing.
func Claim(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	lock, err := lock(filepath.Join(dir, lockName))
	if errors.Is(err, ErrLocked) {
		err = fmt.Errorf("%s: %w; wait for it to end, or take another directory", dir, ErrLocked)
	}
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(settle(dir), sweep(dir, "", 0)); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &Folder{dir, lock}, nil
}

// Close lets others claim the directory, and removes one that nothing was written to.
func (f *Folder) Close() error {
	entries, err := os.ReadDir(f.Path)
	if err == nil && len(entries) == 1 {
		_ = os.Remove(filepath.Join(f.Path, lockName)) // Windows keeps it
		_ = os.Remove(f.Path)
	}
	return f.lock.Close()
}

// Replace replaces the files that the function writes to a directory. If it fails, all
// stay as they were. Readers call Settle first: whenever this process ends, they find
// all old files or all new ones.
func (f *Folder) Replace(write func(dir string) error) error {
	next := filepath.Join(f.Path, ".next"+rand.Text())
	defer os.RemoveAll(next) // is gone where all went well
	err := os.Mkdir(next, 0o755)
	if err == nil {
		err = write(next)
	}
	if err == nil {
		err = os.Rename(next, filepath.Join(f.Path, readyName))
	}
	if err != nil {
		return err
	}
	return settle(f.Path)
}

// Settle finishes a Replace that was killed when its files were whole. Call it before
// the files of a directory are read.
func Settle(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, readyName)); err != nil {
		return nil // it is not there, or reading the directory says why not
	}
	f, err := Claim(dir)
	if err != nil {
		return err
	}
	return f.Close()
}

// settle moves files that are ready, if any are, to their places, whose permissions they take over.
func settle(dir string) error {
	ready := filepath.Join(dir, readyName)
	err := filepath.WalkDir(ready,
		func(path string, entry fs.DirEntry, err error) error {
			if entry == nil {
				return nil // it is not there, or reading the directory says why not
			}
			place := filepath.Join(dir, strings.TrimPrefix(path, ready))
			if err == nil && entry.IsDir() {
				return errors.Join(os.MkdirAll(place, 0o755), syncDir(dir))
			}
			info, missing := os.Stat(place)
			if err == nil && missing == nil {
				err = os.Chmod(path, info.Mode().Perm())
			}
			if err == nil {
				err = os.Rename(path, place)
			}
			return cmp.Or(err, syncDir(filepath.Dir(place)))
		})
	if err != nil {
		return err
	}
	return os.RemoveAll(ready)
}
