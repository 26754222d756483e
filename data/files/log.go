package files

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/gofrs/flock"
)

// Log is a file that is only appended to, by one process at a time; any number
// may read it meanwhile. A record is appended whole or not at all. Only the end
// of the process or of the machine may leave a part of one, as the last in the
// file: whoever opens the log next cuts it off.
type Log struct {
	file file
	lock *flock.Flock
	// Torn says that a last line without newline was cut off when the log was opened.
	Torn bool

	size int64 // of the whole records
}

// file is what a log needs of its file. Tests replace it by one that fails.
type file interface {
	io.WriterAt
	Truncate(size int64) error
	Sync() error
	Close() error
}

// OpenLog opens a log of lines, or makes it, and locks it (ErrLocked).
func OpenLog(path string) (*Log, error) {
	dir, base := filepath.Split(path)
	held, err := lock(dir + "." + base + ".lock") // Windows lets nobody read a locked file
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, errors.Join(err, held.Close())
	}
	l := &Log{file: f, lock: held}
	if err := cmp.Or(l.repair(f), syncDir(dir)); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), l.Close())
	}
	return l, nil
}

// repair counts the bytes of whole lines, and cuts off a rest without newline.
func (l *Log) repair(from io.Reader) error {
	in := bufio.NewReader(from)
	line, err := in.ReadBytes('\n')
	for ; err == nil; line, err = in.ReadBytes('\n') {
		l.size += int64(len(line))
	}
	if err != io.EOF {
		return err
	}
	if len(line) == 0 {
		return nil
	}
	l.Torn = true
	err = errors.Join(l.file.Truncate(l.size), l.file.Sync())
	if err != nil {
		return fmt.Errorf("cannot cut off what was torn: %w", err)
	}
	return nil
}

// Append adds a record in one call, and cuts off what a failed call wrote, at the latest before the
// next one, so that it may be tried again. When it returns nil, the record survives the end of
// the process; after Sync, the end of the machine.
func (l *Log) Append(record []byte) error {
	err := l.file.Truncate(l.size)
	if err != nil {
		return err
	}
	_, err = l.file.WriteAt(record, l.size)
	if err != nil {
		return errors.Join(err, l.file.Truncate(l.size))
	}
	l.size += int64(len(record))
	return nil
}

// Sync brings the log to the disk.
func (l *Log) Sync() error {
	return l.file.Sync()
}

// Close syncs the log and gives it free for others.
func (l *Log) Close() error {
	return errors.Join(l.file.Sync(), l.file.Close(), l.lock.Close())
}

// ErrChecksum marks a line that is not as it was written.
var ErrChecksum = errors.New("checksum mismatch")

// A sealed line begins with the checksum of what follows it, 16 hex digits between these.
const (
	sumOpen  = `{"sum":"`
	sumClose = `",`
)

// Seal turns a JSON object, which must have fields, into a line whose first field "sum" is a
// checksum.
func Seal(body []byte) []byte {
	rest := body[1:]
	sum := Sum(rest)[:16]
	return slices.Concat([]byte(sumOpen+sum+sumClose), rest, []byte("\n"))
}

// Unseal returns the JSON object of a sealed line, which comes without its newline.
func Unseal(line []byte) ([]byte, error) {
	begin, rest, _ := bytes.Cut(line, []byte(sumClose))
	want := sumOpen + Sum(rest)[:16]
	if string(begin) != want {
		return nil, fmt.Errorf("%w: the line does not begin with a checksum of its content, %s", ErrChecksum, want)
	}
	return append([]byte("{"), rest...), nil
}

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
