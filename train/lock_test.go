package train

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"l2mt/data/files"
)

// Two runs in one directory would take each other's states.
func TestADirectoryTakesOneRunAtATime(t *testing.T) {
	examples := small(1)
	c := config(t, "default", examples)
	dir := t.TempDir()
	orphan := filepath.Join(dir, "."+StateFile+rand.Text())
	if err := os.WriteFile(orphan, []byte("half a st"), 0o644); err != nil {
		t.Fatal(err)
	}
	folder := must(files.Claim(dir))(t)
	if _, err := os.Stat(orphan); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the state that was never finished is still there: %v", err)
	}
	if _, err := Run(t.Context(), c, InMemory(examples), Options{Out: dir}); !errors.Is(err, files.ErrLocked) {
		t.Errorf("a second run: error %v, want ErrLocked", err)
	}
	must(0, folder.Close())(t)
	run(t, c, examples, Options{Out: dir})
	run(t, c, examples, Options{Out: dir})
}
