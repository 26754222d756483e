package train

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"

	"l2mt/data/datatest"
	"l2mt/data/files"
)

// Two runs in one directory would take each other's states.
func TestADirectoryTakesOneRunAtATime(t *testing.T) {
	examples := small(1)
	c := config(t, "default", examples)
	dir := t.TempDir()
	orphan := filepath.Join(dir, "."+StateFile+rand.Text())
	datatest.Check(t, os.WriteFile(orphan, []byte("half a st"), 0o644))
	folder := datatest.Must(files.Claim(dir))(t)
	datatest.Refused(os.Stat(orphan))(t, os.ErrNotExist)
	datatest.Refused(Run(t.Context(), c, InMemory(examples), Options{Out: dir}))(t, files.ErrLocked)
	datatest.Check(t, folder.Close())
	run(t, c, examples, Options{Out: dir})
	run(t, c, examples, Options{Out: dir})
}
