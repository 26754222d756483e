//go:build unix

package data

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"l2mt/data/datatest"
)

// A problem file reaches its own directory and nothing else, by whatever road.
func TestProblemFilesStayInTheirDirectory(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "problems")
	datatest.Check(t, os.MkdirAll(filepath.Join(dir, "below", "texts", "class"), 0o755))
	datatest.Check(t, os.MkdirAll(filepath.Join(dir, "mixed", "class"), 0o755))
	for _, name := range []string{"secret.csv", "problems/a.csv", "problems/below/b.csv", "problems/below/texts/class/text", "problemsbeside.csv"} {
		datatest.Check(t, os.WriteFile(filepath.Join(root, name), []byte("1,2\n"), 0o644))
	}
	for link, to := range map[string]string{
		"out.csv": "../secret.csv", "in.csv": "below/b.csv", "absolute.csv": filepath.Join(dir, "a.csv"), "up": "..",
		"mixed/class/text": "../../../secret.csv", "linked": "below/texts",
	} {
		datatest.Check(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	datatest.Check(t, syscall.Mkfifo(filepath.Join(dir, "pipe.csv"), 0o644))
	datatest.Check(t, os.Symlink(dir, filepath.Join(root, "here")))

	for name, want := range map[string]error{
		"a.csv": nil, "below/b.csv": nil, "below/../a.csv": nil, "in.csv": nil, "below/texts": ErrInvalid, "linked": ErrInvalid,
		"nowhere.csv": nil, // reading says so

		filepath.Join(dir, "a.csv"): ErrOutside, "../problems/a.csv": ErrOutside, "absolute.csv": ErrOutside,
		"../secret.csv": ErrOutside, "below/../../secret.csv": ErrOutside, filepath.Join(root, "secret.csv"): ErrOutside, "..": ErrOutside,
		"../problemsbeside.csv": ErrOutside, "out.csv": ErrOutside, "up/secret.csv": ErrOutside, "mixed": ErrInvalid,
		"../nowhere.csv": ErrOutside, "/nowhere.csv": ErrOutside,
		"pipe.csv": ErrInvalid, "/dev/zero": ErrOutside,
	} {
		for _, dir := range []string{dir, filepath.Join(root, "here")} {
			f := &ProblemFile{Dataset: &DatasetRef{Path: name}}
			if path, err := f.DatasetFile(dir, false); !errors.Is(err, want) || err == nil && !filepath.IsAbs(path) {
				t.Errorf("%s in %s: %q, %v; want %v", name, dir, path, err, want)
			}
			anywhere := want
			switch {
			case name == "/dev/zero" || name == "..": // no file
				anywhere = ErrInvalid
			case want == ErrOutside:
				anywhere = nil
			}
			if _, err := f.DatasetFile(dir, true); !errors.Is(err, anywhere) {
				t.Errorf("%s allowed outside of %s: %v, want %v", name, dir, err, anywhere)
			}
			f.Dataset.SHA256 = "0123"
			_, err := f.DatasetFile(dir, false)
			datatest.Holds(t, errors.Is(err, anywhere), "pinned %s in %s: %v, want %v", name, dir, err, anywhere)
		}
	}
}
