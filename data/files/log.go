package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
)

// Log is a file that is only appended to, by one process at a time; any number
// may read it meanwhile. A record is appended whole or not at all. Only the end
// of the process or of the machine may leave a part of one, as the last in the
// file: whoever opens the log next cuts it off.
type Log struct {
	file file
	size int64 // of the whole records
	torn error // set when a part of a record could not be cut off again
}

// file is what a log needs of its file. Tests replace it by one that fails.
type file interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	Sync() error
	Close() error
}

// OpenLog opens a log, or makes it, and locks it (ErrLocked).
func OpenLog(path string) (*Log, error) {
	f, err := openLocked(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() == 0 { // it may be new
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return &Log{file: f, size: info.Size()}, nil
}

// Append adds a record in one call, and cuts off what a failed call wrote, so
// that it may be tried again. When it returns nil, the record survives the end of
// the process; after Sync, the end of the machine.
func (l *Log) Append(record []byte) error {
	if l.torn != nil {
		return l.torn
	}
	_, err := l.file.WriteAt(record, l.size)
	if err == nil {
		l.size += int64(len(record))
		return nil
	}
	if cutErr := l.file.Truncate(l.size); cutErr != nil {
		l.torn = errors.Join(err, fmt.Errorf("the file now ends in a torn record, which is cut off when the file is next opened: %w", cutErr))
		return l.torn
	}
	return err
}

// Repair cuts off a last line without newline, as records are lines, and tells whether
// there was one.
func (l *Log) Repair() (torn bool, err error) {
	whole := l.size
	block := make([]byte, 64<<10)
	for whole > 0 {
		begin := max(0, whole-int64(len(block)))
		part := block[:whole-begin]
		if _, err := l.file.ReadAt(part, begin); err != nil {
			return false, err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			whole = begin + int64(i) + 1
			break
		}
		whole = begin
	}
	if whole == l.size {
		return false, nil
	}
	if err := errors.Join(l.file.Truncate(whole), l.file.Sync()); err != nil {
		return true, fmt.Errorf("cannot cut off what was torn: %w", err)
	}
	l.size = whole
	return true, nil
}

// Sync brings the log to the disk.
func (l *Log) Sync() error { return l.file.Sync() }

// Close syncs the log and gives it free for others.
func (l *Log) Close() error {
	return errors.Join(l.file.Sync(), l.file.Close())
}

// ErrChecksum marks a line that is not as it was written.
var ErrChecksum = errors.New("checksum mismatch")

// A sealed line begins with the checksum of what follows it, 16 hex digits between these.
const (
	sumOpen  = `{"sum":"`
	sumClose = `",`
)

func checksum(rest []byte) string {
	sum := sha256.Sum256(rest)
	return hex.EncodeToString(sum[:8])
}

// Seal turns a JSON object, which must have fields, into a line whose first field "sum" is a
// checksum.
func Seal(body []byte) []byte {
	rest := body[1:]
	return slices.Concat([]byte(sumOpen+checksum(rest)+sumClose), rest, []byte("\n"))
}

// Unseal returns the JSON object of a sealed line, which comes without its newline.
func Unseal(line []byte) ([]byte, error) {
	begin, rest, _ := bytes.Cut(line, []byte(sumClose))
	if want := sumOpen + checksum(rest); string(begin) != want {
		return nil, fmt.Errorf("%w: the line does not begin with a checksum of its content, %s", ErrChecksum, want)
	}
	return append([]byte("{"), rest...), nil
}
