package files

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"l2mt/data/datatest"
)

func TestAFileIsWrittenWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	has := func(want string) {
		t.Helper()
		datatest.Equal(t, string(datatest.Must(os.ReadFile(path))(t)), want, "the file")
		datatest.Equal(t, len(datatest.Must(os.ReadDir(dir))(t)), 1, "files there")
	}
	datatest.Check(t, WriteFile(path, []byte("first")))
	has("first")
	broken := errors.New("broken")
	err := Write(path, func(w io.Writer) error {
		if _, err := io.WriteString(w, "sec"); err != nil {
			t.Fatal(err)
		}
		found, err := os.ReadDir(dir)
		datatest.Holds(t, err == nil && len(found) == 2,
			"while writing there are %v, %v; want the file and another beside it", found, err)
		return broken
	})
	datatest.Says(t, err, broken)
	has("first")
	datatest.Check(t, os.Chmod(path, 0o440)) // what was readable by whom stays so
	datatest.Check(t, WriteFile(path, []byte("third")))
	has("third")
	datatest.Equal(t, datatest.Must(os.Stat(path))(t).Mode().Perm(), 0o440, "the permissions")
	datatest.Says(t, Create(path, []byte("fourth")), fs.ErrExist)
	datatest.Says(t, WriteFile(filepath.Join(path, "below"), nil), nil)
	datatest.Says(t, WriteFile(dir, nil), nil)
	has("third")
}

// A killed process leaves its temporary file. The next one at the place removes it once nobody
// can be writing it any more, and nothing else.
func TestWriteRemovesWhatKilledProcessesLeft(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	age := func(name string, hours time.Duration) string {
		left := filepath.Join(dir, name)
		datatest.Check(t, os.WriteFile(left, nil, 0o600))
		when := time.Now().Add(-hours * time.Hour)
		datatest.Check(t, os.Chtimes(left, when, when))
		return left
	}
	stale := age(".file"+rand.Text(), 25)
	kept := []string{age(".file"+rand.Text(), 23), age(".other"+rand.Text(), 25), age(".file.bak", 25), age("file"+rand.Text(), 25)}
	datatest.Check(t, WriteFile(path, nil))
	_, err := os.Lstat(stale)
	datatest.Holds(t, errors.Is(err, fs.ErrNotExist), "%s is left: %v", stale, err)
	for _, path := range kept {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
}

// The sum of "abc" is in FIPS 180-2, appendix B.1.
func TestSHA256(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	datatest.Check(t, os.WriteFile(path, []byte("abc"), 0o644))
	const want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	datatest.Equal(t, datatest.Must(SHA256(path))(t), want, "the sum")
	datatest.Refused(SHA256(path+".not"))(t, nil)
}

func TestFloatInJSON(t *testing.T) {
	for _, c := range []struct {
		value float64
		text  string
	}{{0.25, "0.25"}, {math.NaN(), "null"}, {math.Inf(1), `"+Inf"`}, {math.Inf(-1), `"-Inf"`}, {1e-300, "1e-300"}} {
		raw, err := json.Marshal(Float(c.value))
		datatest.Holds(t, err == nil && string(raw) == c.text, "%v is written %s, %v", c.value, raw, err)
		var back Float
		if err := json.Unmarshal(raw, &back); err != nil || math.Float64bits(float64(back)) != math.Float64bits(c.value) && !math.IsNaN(c.value) {
			t.Errorf("%s is read %v, %v", raw, back, err)
		}
		datatest.Holds(t, !math.IsNaN(c.value) || math.IsNaN(float64(back)), "null is read %v", back)
	}
	datatest.Says(t, json.Unmarshal([]byte(`"much"`), new(Float)), nil)
}

type document struct {
	Schema int
	Name   string
	Parts  []struct{ Size int }
}

func TestDecodeJSONSaysWhere(t *testing.T) {
	for text, want := range map[string]string{
		"{\n \"name\": \"x\",\n \"nmae\": 1}":      `json: unknown field "nmae"`,
		"{\n \"parts\": [{\"size\":\n  \"big\"}]}": "line 3, column 7: json: cannot unmarshal string",
		"{\"name\": \"x\"\n \"parts\": []}":        "line 2, column 2: invalid character '\"'",
		"{\"name\": \"x\",\n":                      "line 2, column 0: unexpected end of JSON input",
		"":                                         "line 1, column 0: unexpected end of JSON input",
		"{\"name\": \"x\"}\n{\"name\": \"y\"}":     "line 2, column 1: there is more text after",
		"{\"name\": \"x\"} rest":                   "line 1, column 14: there is more text after",
	} {
		if err := DecodeJSON([]byte(text), new(document)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %s", text, err, want)
		}
	}
	var d document
	if err := DecodeJSON([]byte(" {\"name\": \"x\", \"parts\": [{\"size\": 2}]}\n "), &d); err != nil || d.Name != "x" || d.Parts[0].Size != 2 {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestDecodeSchemaLooksAtTheVersionFirst(t *testing.T) {
	for text, want := range map[string]string{
		`{"schema": 3, "news": 1}`: "it has schema 3; this program reads schema 2",
		`{"name": "x"}`:            `the field "schema" is missing; this program reads schema 2`,
	} {
		datatest.Says(t, DecodeSchema([]byte(text), 2, new(document)), ErrSchema, want)
	}
	for text, want := range map[string]string{
		`{"schema": "2"}`:          "line 1, column 14: ",
		`{"schema": 2, "news": 1}`: `json: unknown field "news"`,
		`[]`:                       "line 1, column 1: ",
	} {
		if err := DecodeSchema([]byte(text), 2, new(document)); err == nil || errors.Is(err, ErrSchema) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %s", text, err, want)
		}
	}
	var d document
	err := DecodeSchema([]byte(`{"schema": 2, "name": "x"}`), 2, &d)
	datatest.Holds(t, err == nil && d.Name == "x", "%+v, %v", d, err)
}

var (
	errFull   = errors.New("the disk is full")
	errBroken = errors.New("the disk is broken")
)

// disk is a file on a disk with room for so many bytes more, which may break when it is full.
type disk struct {
	*os.File
	room           int
	breaks, broken bool
}

func (d *disk) WriteAt(b []byte, offset int64) (int, error) {
	n := min(len(b), d.room)
	d.room -= n
	if written, err := d.File.WriteAt(b[:n], offset); err != nil || n == len(b) {
		return written, err
	}
	d.broken = d.breaks
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
	err := first.Append([]byte("read by others\n"))
	datatest.Holds(t, err == nil && content(t, path) == "read by others\n", "%q, %v", content(t, path), err)
	datatest.Check(t, first.Close())
	again := open(t, path)
	datatest.Holds(t, again.size == 15, "the size is %d", again.size)
}

// However little room there is, a log holds whole records, and what did not fit
// can be appended once there is room.
func TestAFullDiskLeavesWholeRecords(t *testing.T) {
	for room := range 14 {
		path := filepath.Join(t.TempDir(), "log")
		l := open(t, path)
		d := &disk{File: l.file.(*os.File), room: room}
		l.file = d
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
	l := open(t, path)
	d := &disk{File: l.file.(*os.File), room: 3, breaks: true}
	l.file = d
	err := l.Append([]byte("record\n"))
	datatest.Holds(t, errors.Is(err, errFull) && errors.Is(err, errBroken), "the error is %v", err)
	d.room = 100
	datatest.Says(t, l.Append([]byte("record\n")), errBroken)
	datatest.Equal(t, content(t, path), "rec", "the log")
	datatest.Says(t, l.Sync(), errBroken)
	datatest.Says(t, l.Close(), errBroken)
	again := open(t, path)
	datatest.Holds(t, again.Torn && again.size == 0 && content(t, path) == "",
		"torn %t; the log has %q", again.Torn, content(t, path))
	err = again.Append([]byte("whole\n"))
	datatest.Holds(t, err == nil && content(t, path) == "whole\n", "%v; the log has %q", err, content(t, path))
}

func TestRepairKeepsWholeLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for _, length := range []int{0, 1, 10, 64<<10 - 1, 64 << 10, 64<<10 + 1, 200_000} {
		for _, whole := range []string{"", "\n", "one\n", "one\n\ntwo\n", string(bytes.Repeat([]byte("x"), 64<<10)) + "\n"} {
			datatest.Check(t, os.WriteFile(path, append([]byte(whole), bytes.Repeat([]byte("t"), length)...), 0o644))
			l := open(t, path)
			datatest.Equal(t, l.Torn, length > 0, "a tail of %d: torn", length)
			datatest.Holds(t, content(t, path) == whole && l.size == int64(len(whole)),
				"a tail of %d behind %d bytes: %d are left", length, len(whole), len(content(t, path)))
			l.Close()
		}
	}
}

// writeSet returns what writes a set of files with one content.
func writeSet(content string) func(dir string) error {
	return func(dir string) error {
		return errors.Join(
			WriteFile(filepath.Join(dir, "a"), []byte(content)),
			os.Mkdir(filepath.Join(dir, "sub"), 0o755),
			WriteFile(filepath.Join(dir, "sub", "b"), []byte(content)),
			WriteFile(filepath.Join(dir, "z"), []byte(content)))
	}
}

// hasSet checks that a directory has a set, and nothing besides it and the lock.
func hasSet(t *testing.T, dir, want string) {
	t.Helper()
	for _, name := range []string{"a", "sub/b", "z"} {
		datatest.Equal(t, content(t, filepath.Join(dir, name)), want, "%s", name)
	}
	datatest.Equal(t, len(datatest.Must(os.ReadDir(dir))(t)), 4, "files there")
}

func claim(t *testing.T, dir string) *Folder {
	t.Helper()
	f := datatest.Must(Claim(dir))(t)
	t.Cleanup(func() { f.Close() })
	return f
}

func TestAFolderIsReplacedWholeOrNotAtAll(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	f := claim(t, dir)
	datatest.Refused(Claim(dir))(t, ErrLocked)
	datatest.Check(t, f.Replace(writeSet("first")))
	hasSet(t, dir, "first")
	datatest.Check(t, os.Chmod(filepath.Join(dir, "sub", "b"), 0o600))
	broken := errors.New("broken")
	err := f.Replace(func(dir string) error { return errors.Join(writeSet("second")(dir), broken) })
	datatest.Says(t, err, broken)
	hasSet(t, dir, "first")
	datatest.Check(t, f.Replace(writeSet("third")))
	hasSet(t, dir, "third")
	datatest.Equal(t, datatest.Must(os.Stat(filepath.Join(dir, "sub", "b")))(t).Mode().Perm(), 0o600, "the permissions")
}

// A process may be killed before the files are whole, and after any of them is in its place.
func TestAKilledReplaceIsFinishedOrRemoved(t *testing.T) {
	for moved := -1; moved <= 3; moved++ {
		dir := t.TempDir()
		f := claim(t, dir)
		datatest.Check(t, f.Replace(writeSet("old")))
		datatest.Check(t, f.Close())
		stage, want := filepath.Join(dir, readyName), "new"
		if moved < 0 {
			stage, want = filepath.Join(dir, ".next"+rand.Text()), "old"
		}
		datatest.Check(t, errors.Join(os.Mkdir(stage, 0o755), writeSet("new")(stage)))
		for i, name := range []string{"a", "sub/b", "z"} {
			if i < moved {
				datatest.Check(t, os.Rename(filepath.Join(stage, name), filepath.Join(dir, name)))
			}
		}
		orphan := filepath.Join(dir, ".a"+"AAAAAAAAAAAAA7777777777777")
		datatest.Check(t, os.WriteFile(orphan, []byte("half"), 0o644))
		datatest.Check(t, Settle(dir))
		claim(t, dir)
		hasSet(t, dir, want)
	}
}

// A link stays a link, wherever its target is, and is there or not.
func TestLinksAreWrittenThrough(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "real", "deep")
	err := errors.Join(
		os.MkdirAll(deep, 0o755),
		os.Symlink(deep, filepath.Join(dir, "folder")),
		os.Symlink("../target", filepath.Join(deep, "relative")),
		os.Symlink(filepath.Join(dir, "folder", "relative"), filepath.Join(dir, "chain")),
		os.Symlink("loop", filepath.Join(dir, "loop")))
	if err != nil {
		t.Skip(err) // Windows asks for a privilege
	}
	for _, text := range []string{"it was not there", "it was there"} {
		datatest.Check(t, WriteFile(filepath.Join(dir, "chain"), []byte(text)))
		datatest.Equal(t, content(t, filepath.Join(dir, "real", "target")), text, "the target")
	}
	for _, name := range []string{"chain", "real/deep/relative"} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v, %v", name, info.Mode(), err)
		}
	}
	datatest.Says(t, WriteFile(filepath.Join(dir, "loop"), nil), nil)
}

func TestAFifoIsWrittenInPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := exec.Command("mkfifo", path).Run(); err != nil {
		t.Skip(err)
	}
	read := make(chan string)
	go func() {
		raw, _ := os.ReadFile(path)
		read <- string(raw)
	}()
	err := Write(path, func(w io.Writer) error {
		_, err := io.WriteString(w, "through it")
		return err
	})
	info, statErr := os.Lstat(path)
	datatest.Need(t, err == nil && statErr == nil && info.Mode()&fs.ModeNamedPipe != 0,
		"%v, %v; the fifo is %v now", err, statErr, info.Mode())
	datatest.Equal(t, <-read, "through it", "the reader got")
}
