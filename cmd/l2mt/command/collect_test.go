package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"l2mt/data/experience/experiencetest"
)

// tinyProblems samples problems on the digits whose fits take milliseconds.
func tinyProblems(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	mustL2mt(t, "problems", "sample", "--out", dir, "--train", fmt.Sprint(n), "--test", "1", "--seed", "4",
		"--min-tasks", "2", "--max-tasks", "4", "--train-fraction", "0.04", "--validation-fraction", "0.1", "--prepare", "unit")
	return filepath.Join(dir, "train.json")
}

// mustL2mt runs one command line in process, which has to succeed.
func mustL2mt(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	code, stdout, stderr := l2mt(t, args...)
	if code != exitDone {
		t.Fatalf("l2mt %v: exit code %d\n%s%s", args, code, stdout, stderr)
	}
	return stdout
}

// collection is a run of the command over many small tuples.
type collection struct {
	out  string
	args []string
}

func newCollection(t *testing.T, problems string) collection {
	out := experiencetest.Dir(t)
	return collection{out, []string{"collect", "--problems", problems, "--out", out,
		"--models", "rmtl,snr2,ssnr2", "--draws", "4", "--explore", "24", "--workers", "2"}}
}

func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		found[e.Name()] = string(raw)
	}
	return found
}

// Stores of something else are left as they are, down to the problem files.
func TestCollectLeavesForeignStoresAlone(t *testing.T) {
	t.Parallel()
	c := newCollection(t, tinyProblems(t, 1))
	mustL2mt(t, c.args...)
	before := filesIn(t, c.out)
	other := t.TempDir()
	rows := "a,label\n"
	for i := range 40 {
		rows += fmt.Sprintf("%d,%c\n", i, 'x'+i%3)
	}
	if err := os.WriteFile(filepath.Join(other, "rows.csv"), []byte(rows), 0o644); err != nil {
		t.Fatal(err)
	}
	mustL2mt(t, "problems", "sample", "--dataset", filepath.Join(other, "rows.csv"), "--out", other, "--train", "1", "--test", "1", "--min-tasks", "1", "--max-tasks", "1")
	for _, run := range []struct {
		args []string
		says string
	}{
		{[]string{"--problems", filepath.Join(other, "train.json")}, "conflict: the dataset's fingerprint is "},
		{[]string{"--seed", "9"}, "conflict: the seed is 1 in "},
		{[]string{"--o", "model"}, `conflict: config.o is "refit" in `},
	} {
		code, stdout, stderr := l2mt(t, append(c.args, run.args...)...)
		if code != exitFailed || stdout != "" || !strings.Contains(stderr, run.says) {
			t.Errorf("%v: exit code %d, stdout %q, stderr %q", run.args, code, stdout, stderr)
		}
		if d := cmp.Diff(before, filesIn(t, c.out)); d != "" {
			t.Errorf("%v: %s", run.args, d)
		}
	}
}

func TestShardOf(t *testing.T) {
	for _, c := range []struct {
		flag          string
		shard, shards int
	}{{"", 0, 1}, {"0/1", 0, 1}, {"2/5", 2, 5}, {"5/5", 0, 0}, {"-1/5", 0, 0}, {"2", 0, 0}, {"a/b", 0, 0}, {"1/2/3", 0, 0}} {
		shard, shards, err := shardOf(c.flag)
		if shard != c.shard || shards != c.shards || (err == nil) != (c.shards > 0) || err != nil && !errors.Is(err, errUsage) {
			t.Errorf("--shard=%q: %d/%d, %v; want %d/%d", c.flag, shard, shards, err, c.shard, c.shards)
		}
	}
}
