package data

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A problem file may come from anyone. What it names is read, and may show up in
// messages and results, so it must not reach for files that its author has no
// business with: data lies in the directory of the problem file or below it,
// symbolic links followed. Elsewhere may lie what the user allows, and a
// dataset that the file pins by its SHA-256: whoever wrote that has seen it.

// ErrOutside marks data that a problem file names outside of its directory.
var ErrOutside = errors.New("outside of the directory of the problem file")

// File returns where the task file lies that the problem file, which is in dir,
// names. It returns an error that wraps ErrOutside if that is outside of dir
// and Outside is not set.
func (f *ProblemFile) File(dir, name string) (string, error) { return f.locate(dir, name, f.Outside) }

// DatasetFile returns where the dataset of the problem file, which is in dir,
// lies. A dataset with SHA256, which Bind compares, may lie anywhere.
func (f *ProblemFile) DatasetFile(dir string) (string, error) {
	path, err := f.locate(dir, f.Dataset.Path, f.Outside || f.Dataset.SHA256 != "")
	if err != nil {
		return "", fmt.Errorf("field \"dataset\": %w; move it there, or state its \"sha256\", which tells that you know it", err)
	}
	return path, nil
}

func (f *ProblemFile) locate(dir, name string, anywhere bool) (string, error) {
	path := name
	if !filepath.IsAbs(name) {
		path = filepath.Join(dir, name)
	}
	if !anywhere {
		if err := inside(dir, path); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return "", fmt.Errorf("%s: %w: it is neither a file nor a folder", name, ErrInvalid)
	}
	return path, nil
}

// inside checks that the path leads into the directory, links followed. A
// folder may have no links in it: they might lead anywhere.
func inside(dir, path string) error {
	from, err := realPath(dir)
	if err != nil {
		return err
	}
	to, err := realPath(path)
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(from, to); err != nil || !filepath.IsLocal(rel) {
		return ErrOutside
	}
	return filepath.WalkDir(to, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // reading says so
			return nil
		case err == nil && entry.Type() == fs.ModeSymlink:
			return fmt.Errorf("%w: %s is a symbolic link", ErrOutside, path)
		}
		return err
	})
}

// realPath follows links as far as the path exists.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	if parent := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) && parent != path {
		parent, err := realPath(parent)
		return filepath.Join(parent, filepath.Base(path)), err
	}
	return real, err
}
