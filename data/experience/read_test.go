package experience_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"l2mt/data/experience"
	"l2mt/data/experience/experiencetest"
)

func open(t testing.TB, dir, shard string) *experience.Writer {
	t.Helper()
	return must(experience.OpenWriter(dir, shard, experiencetest.Manifest()))(t)
}

func load(t testing.TB, dir string) []*experience.Record {
	t.Helper()
	s := must(experience.Open(dir))(t)
	return must(s.Load())(t)
}

// tree reads all files below dir.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		found[path[len(dir):]] = string(b)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return found
}
