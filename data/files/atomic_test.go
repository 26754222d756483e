package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestAFileIsWrittenWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	has := func(want string) {
		t.Helper()
		if raw, err := os.ReadFile(path); err != nil || string(raw) != want {
			t.Errorf("the file has %q, %v; want %q", raw, err, want)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("there are %v, %v", entries, err)
		}
	}
	if err := WriteFile(path, []byte("first")); err != nil {
		t.Fatal(err)
	}
	has("first")
	broken := errors.New("broken")
	err := Write(path, func(w io.Writer) error {
		if _, err := io.WriteString(w, "sec"); err != nil {
			t.Fatal(err)
		}
		found, err := os.ReadDir(dir)
		if err != nil || len(found) != 2 {
			t.Errorf("while writing there are %v, %v; want the file and another beside it", found, err)
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	has("first")
	if err := WriteFile(path, []byte("third")); err != nil {
		t.Fatal(err)
	}
	has("third")
	if err := WriteFile(filepath.Join(path, "below"), nil); err == nil {
		t.Error("a file was written below a file")
	}
	if err := WriteFile(dir, nil); err == nil {
		t.Error("a directory was replaced")
	}
	has("third")
}
