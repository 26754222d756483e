//go:build unix

package format

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"l2mt/data"
)

// A pipe among the texts of a folder would be read for ever.
func TestFoldersHoldFilesOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "class")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Dir(dir)); !errors.Is(err, data.ErrFormat) {
		t.Errorf("error %v, want ErrFormat", err)
	}
}
