package files

import (
	"errors"
	"fmt"
	"os"
)

// ErrLocked marks a file that another process has locked.
var ErrLocked = errors.New("another process is writing it")

// locked is a file that is locked until it is closed.
type locked struct{ *os.File }

// Close unlocks the file before it closes it: a process that is just being
// started has it open too, for a moment.
func (f locked) Close() error {
	return errors.Join(unlock(f.File), f.File.Close())
}

func openLocked(path string) (*locked, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return &locked{f}, nil
}
