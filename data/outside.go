package data

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A problem file may come from anyone. The files that it names are read, and may show up in
// messages and results, so it must not reach for files that its author has no
// business with: data lies in the directory of the problem file or below it, named from
// there, relative symbolic links followed. Elsewhere may lie what the user allows, and a
// dataset that the file pins by its SHA-256: whoever wrote that has seen it.

// ErrOutside marks data that a problem file names outside of its directory.
var ErrOutside = errors.New("outside of the directory of the problem file")

// DatasetFile returns where the dataset of the problem file, which is in dir, lies. It
// returns an error that wraps ErrOutside if that is outside of dir, unless it may lie
// anywhere or has a SHA256, which Bind compares.
func (f *ProblemFile) DatasetFile(dir string, anywhere bool) (string, error) {
	path := f.Dataset.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if !anywhere && f.Dataset.SHA256 == "" {
		err := inside(dir, f.Dataset.Path)
		if err != nil {
			return "", fmt.Errorf("field \"dataset\": %s: %w; move it there, or state its \"sha256\" beside its path",
				f.Dataset.Path, err)
		}
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return "", Invalid("field \"dataset\": %s: it is not a file", f.Dataset.Path)
	}
	return path, nil
}

// inside checks that the path leads into the directory, links followed.
func inside(dir, path string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	_, err = root.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil // reading says so
	}
	if err != nil {
		return ErrOutside
	}
	return nil
}
