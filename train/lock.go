package train

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"l2mt/data/files"
)

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
	free, err := files.Lock(filepath.Join(dir, lockFile))
	if errors.Is(err, files.ErrLocked) {
		err = fmt.Errorf("%w: wait for its training to end, or take another directory", err)
	}
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	if err := removeLeftOvers(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("train: %w", err), free())
	}
	return func() { _ = free() }, nil // nothing was written to it
}

// removeLeftOvers removes states that were never finished, which can be large.
func removeLeftOvers(dir string) error {
	names, err := fs.Glob(os.DirFS(dir), "."+StateFile+"*")
	for _, name := range names {
		err = errors.Join(err, os.Remove(filepath.Join(dir, name)))
	}
	return err
}
