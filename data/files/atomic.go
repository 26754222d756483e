// Package files writes files whole or not at all, whatever happens to the
// process, the disk or the machine.
package files

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// WriteFile writes a file, or replaces it.
func WriteFile(path string, content []byte) error {
	return Write(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// Write writes what the function writes to a file, or replaces it. The content
// goes to a temporary file beside it, whose name begins with a dot and the name
// of the file; that is synced and renamed, and the directory is synced. If the
// function fails, or anything else, the file stays as it was.
func Write(path string, write func(w io.Writer) error) error {
	dir := filepath.Dir(path)
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(dir), renameio.WithPermissions(0o644), renameio.WithExistingPermissions())
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer f.Cleanup()
	if err := write(f); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := sync(dir); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// sync makes the names in a directory safe from a power cut.
func sync(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
