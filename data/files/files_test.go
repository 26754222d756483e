package files

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
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
	datatest.Check(t, WriteFile(path, []byte("third")))
	has("third")
	datatest.Says(t, WriteFile(filepath.Join(path, "below"), nil), nil)
	datatest.Says(t, WriteFile(dir, nil), nil)
	has("third")
}

// What was readable by whom stays so.
func TestAReplacedFileKeepsItsPermissions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	datatest.Check(t, os.WriteFile(path, nil, 0o640))
	datatest.Check(t, os.Chmod(path, 0o440))
	datatest.Check(t, WriteFile(path, []byte("new")))
	datatest.Equal(t, datatest.Must(os.Stat(path))(t).Mode().Perm(), 0o440, "the permissions")
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

func TestAFileIsCreatedOnce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	var won atomic.Int32
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			switch err := Create(path, fmt.Append(nil, i)); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	work.Wait()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 || won.Load() != 1 {
		t.Errorf("%d created it; there are %v, %v", won.Load(), entries, err)
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
		"{\n \"name\": \"x\",\n \"nmae\": 1}":      `line 3, column 2: json: unknown field "nmae"`,
		`{"parts": [{"a": 1}, {"a": 1}]}`:          `json: unknown field "a"`, // either could be meant
		"{\n \"parts\": [{\"size\":\n  \"big\"}]}": "line 3, column 7: json: cannot unmarshal string",
		"{\"name\": \"x\"\n \"parts\": []}":        "line 2, column 2: invalid character '\"'",
		"{\"name\": \"x\",\n":                      "line 2, column 0: unexpected end of JSON input",
		"":                                         "line 1, column 0: unexpected end of JSON input",
		"{\"name\": \"x\"}\n{\"name\": \"y\"}":     "line 2, column 1: something follows",
		"{\"name\": \"x\"} rest":                   "line 1, column 14: something follows",
		"{\"a\\\"b\": 1}":                          `json: unknown field "a\"b"`,
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
		`{"schema": 2, "news": 1}`: `line 1, column 15: json: unknown field "news"`,
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
