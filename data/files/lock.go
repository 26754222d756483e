package files

import (
	"errors"

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
