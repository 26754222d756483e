package command

import (
	"path/filepath"
	"testing"
)

// tinyExperience makes experience in a directory, and returns it.
func tinyExperience(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	problems, experience := filepath.Join(dir, "p"), filepath.Join(dir, "e")
	for _, args := range [][]string{
		{"problems", "sample", "--out", problems, "--train", "6", "--test", "2", "--min-tasks", "2", "--max-tasks", "3", "--train-fraction", "0.03", "--validation-fraction", "0.05"},
		{"collect", "--problems", filepath.Join(problems, "train.json"), "--out", experience, "--models", "stl,snr2", "--explore", "4"},
	} {
		if code, _, stderr := l2mt(t, args...); code != exitDone {
			t.Fatalf("%v: %s", args, stderr)
		}
	}
	return experience
}
