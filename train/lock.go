package train

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrLocked marks a directory in which another process is training.
var ErrLocked = errors.New("the directory is in use")

// lockFile is locked while a run works in its directory. The state cannot be: it
// is replaced again and again.
const lockFile = ".lock"

// lock keeps other runs out of a directory, which is made if need be, until
// unlock is called or the process ends. What a killed run was just writing is
// removed: nobody else will.
func lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	path := filepath.Join(dir, lockFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = fmt.Errorf("%w: another process is training there; wait for it, or take another directory", ErrLocked)
		}
		return nil, errors.Join(fmt.Errorf("train: %s: %w", dir, err), f.Close())
	}
	if err := removeLeftOvers(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("train: %w", err), f.Close())
	}
	return func() { _ = f.Close() }, nil // nothing was written to it
}

// removeLeftOvers removes states that were never finished, which can be large.
func removeLeftOvers(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "."+StateFile) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}
