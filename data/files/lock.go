package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// ErrLocked marks a file that another process has locked.
var ErrLocked = errors.New("another process is writing it")

// lock locks an empty file, which it makes if need be, and nobody removes: who waits for a file
// that is gone has locked nothing.
func lock(path string) (*flock.Flock, error) {
	f := flock.New(path, flock.SetPermissions(0o644))
	ours, err := f.TryLock()
	if err == nil && !ours {
		err = ErrLocked
	}
	return f, err
}

// locked is a file that is locked until it is closed, by a hidden file beside it: Windows lets
// nobody read a locked file.
type locked struct {
	*os.File
	lock *flock.Flock
}

// Close gives the file free.
func (f locked) Close() error {
	return errors.Join(f.File.Close(), f.lock.Close())
}

func openLocked(path string) (*locked, error) {
	dir, base := filepath.Split(path)
	held, err := lock(filepath.Join(dir, "."+base+".lock"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, errors.Join(err, held.Close())
	}
	return &locked{f, held}, nil
}
