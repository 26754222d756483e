package files

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// lock locks a byte far behind the end of the file: others may read the rest.
func lock(f *os.File) error {
	offset := windows.Overlapped{OffsetHigh: math.MaxInt32}
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &offset)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}

// unlock has nothing to do: started processes do not share the file.
func unlock(*os.File) error { return nil }
