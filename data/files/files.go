// Package files is how everything of this module gets to the disk and back:
// files and folders that are written whole or not at all, logs that lose no record
// that was accepted, locks between processes, checksums, and JSON that is read
// strictly.
// It works alike on Unix and Windows.
package files

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// WriteFile writes a file, or replaces it.
func WriteFile(path string, content []byte) error {
	return Write(path, whole(content))
}

// Write writes what the function writes to a file, or replaces it, keeping its
// permissions. The content goes to a temporary file beside it, whose name begins
// with a dot and the name of the file; that is synced and renamed, and the
// directory is synced. If the function fails, or anything else, the file stays
// as it was. The temporary file of a killed process goes with the first Write to the
// place a day later. A symbolic link stays, and its target is written. Devices, fifos
// and pipes are written in place.
func Write(path string, write func(w io.Writer) error) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			err = errors.Join(write(f), f.Close())
		}
		return named(path, err)
	}
	for err == nil || errors.Is(err, fs.ErrNotExist) {
		link, missing := os.Readlink(path)
		if missing != nil {
			return publish(path, write, os.Rename)
		}
		if !filepath.IsAbs(link) { // the system resolves "..", behind links of folders
			link = filepath.Dir(path) + string(filepath.Separator) + link
		}
		path = link
	}
	return named(path, err)
}

// named adds the path to an error.
func named(path string, err error) error {
	if err != nil {
		err = fmt.Errorf("write %s: %w", path, err)
	}
	return err
}

// Create writes a file as WriteFile does, but never replaces one: then the error
// wraps fs.ErrExist. Of several processes that create a file, one succeeds.
func Create(path string, content []byte) error {
	return publish(path, whole(content), os.Link)
}

func whole(content []byte) func(w io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	}
}

// publish writes a temporary file and gives it its name.
func publish(path string, write func(w io.Writer) error, name func(from, to string) error) error {
	dir, base := filepath.Split(path)
	tmp := filepath.Join(dir, "."+base+rand.Text())
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err == nil {
		defer os.Remove(tmp)                     // fails where it has got its name
		defer sweep(dir, "."+base, 24*time.Hour) // nothing depends on it
		info, missing := os.Lstat(path)
		if missing == nil && info.Mode().IsRegular() {
			err = f.Chmod(info.Mode().Perm())
		}
		err = cmp.Or(err, write(f), f.Sync(), f.Close())
	}
	if err == nil {
		err = cmp.Or(name(tmp, path), syncDir(dir))
	}
	return named(path, err)
}

// temporary are the names that publish and Replace make.
var temporary = regexp.MustCompile(`^\..+[A-Z2-7]{26}$`)

// sweep removes the temporary files and folders whose names begin so and which nobody has
// written to for that long: their processes were killed.
func sweep(dir, begin string, age time.Duration) error {
	entries, err := os.ReadDir(filepath.Clean(dir))
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, begin) || !temporary.MatchString(name) {
			continue
		}
		info, gone := e.Info()
		if gone == nil && time.Since(info.ModTime()) >= age {
			err = cmp.Or(err, os.RemoveAll(filepath.Join(dir, name)))
		}
	}
	return err
}

// syncDir makes the names in a directory safe from a power cut, where the system
// can: Windows does so itself.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Sum is the SHA-256 of some content, in hex.
func Sum(content []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(content))
}

// SHA256 is the Sum of a file's content.
func SHA256(path string) (string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return Sum(raw), nil
}
