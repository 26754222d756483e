package files

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"l2mt/data/datatest"
)

var (
	errFull   = errors.New("the disk is full")
	errBroken = errors.New("the disk is broken")
)

// disk is a file on a disk with room for so many bytes more, which may be broken.
type disk struct {
	*locked
	room   int
	broken bool
}

func (d *disk) WriteAt(b []byte, offset int64) (int, error) {
	n := min(len(b), d.room)
	d.room -= n
	if written, err := d.File.WriteAt(b[:n], offset); err != nil || n == len(b) {
		return written, err
	}
	return n, errFull
}

func (d *disk) Truncate(size int64) error {
	if d.broken {
		return errBroken
	}
	return d.File.Truncate(size)
}

func (d *disk) Sync() error {
	if d.broken {
		return errBroken
	}
	return d.File.Sync()
}

func open(t *testing.T, path string) *Log {
	t.Helper()
	l := datatest.Must(OpenLog(path))(t)
	t.Cleanup(func() { l.Close() })
	return l
}

func content(t *testing.T, path string) string {
	t.Helper()
	return string(datatest.Must(os.ReadFile(path))(t))
}

func TestALogHasOneWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	first := open(t, path)
	if _, err := OpenLog(path); !errors.Is(err, ErrLocked) || !bytes.Contains([]byte(err.Error()), []byte(path)) {
		t.Errorf("a second writer: %v", err)
	}
	datatest.Refused(openLocked(path))(t, ErrLocked)
	err := first.Append([]byte("read by others\n"))
	datatest.Holds(t, err == nil && content(t, path) == "read by others\n", "%q, %v", content(t, path), err)
	datatest.Check(t, first.Close())
	datatest.Check(t, datatest.Must(openLocked(path))(t).Close())
	again := open(t, path)
	datatest.Holds(t, again.size == 15, "the size is %d", again.size)
}

// However little room there is, a log holds whole records, and what did not fit
// can be appended once there is room.
func TestAFullDiskLeavesWholeRecords(t *testing.T) {
	for room := range 14 {
		path := filepath.Join(t.TempDir(), "log")
		d := &disk{locked: datatest.Must(openLocked(path))(t), room: room}
		l := &Log{file: d}
		for range 2 {
			err := l.Append([]byte("record\n"))
			datatest.Need(t, err == nil || errors.Is(err, errFull), "room %d: %v", room, err)
		}
		datatest.Equal(t, content(t, path), "record\nrecord\n"[:room/7*7], "room %d: the log", room)
		d.room = 100
		datatest.Check(t, errors.Join(l.Append([]byte("last\n")), l.Close()))
		datatest.Equal(t, content(t, path), "record\nrecord\n"[:room/7*7]+"last\n", "room %d: the log", room)
	}
}

// If the torn part cannot even be cut off, nothing more is appended behind it.
func TestALogThatCannotBeCutTakesNoMore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	d := &disk{locked: datatest.Must(openLocked(path))(t), room: 3, broken: true}
	l := &Log{file: d}
	for range 2 {
		err := l.Append([]byte("record\n"))
		datatest.Holds(t, errors.Is(err, errFull) && errors.Is(err, errBroken), "the error is %v", err)
		d.room = 100
	}
	datatest.Equal(t, content(t, path), "rec", "the log")
	datatest.Says(t, l.Sync(), errBroken)
	datatest.Says(t, l.Close(), errBroken)
	again := open(t, path)
	if torn, err := again.Repair(); err != nil || !torn || again.size != 0 || content(t, path) != "" {
		t.Errorf("torn %v, %v; the log has %q", torn, err, content(t, path))
	}
	err := again.Append([]byte("whole\n"))
	datatest.Holds(t, err == nil && content(t, path) == "whole\n", "%v; the log has %q", err, content(t, path))
}

func TestRepairKeepsWholeLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for _, length := range []int{0, 1, 10, 64<<10 - 1, 64 << 10, 64<<10 + 1, 200_000} {
		for _, whole := range []string{"", "\n", "one\n", "one\n\ntwo\n", string(bytes.Repeat([]byte("x"), 64<<10)) + "\n"} {
			datatest.Check(t, os.WriteFile(path, append([]byte(whole), bytes.Repeat([]byte("t"), length)...), 0o644))
			l := open(t, path)
			datatest.Equal(t, datatest.Must(l.Repair())(t), length > 0, "a tail of %d: torn", length)
			datatest.Holds(t, content(t, path) == whole && l.size == int64(len(whole)),
				"a tail of %d behind %d bytes: %d are left", length, len(whole), len(content(t, path)))
			l.Close()
		}
	}
}
