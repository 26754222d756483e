package command

import (
	"errors"
	"testing"
)

// mustL2mt runs one command line in process, which has to succeed.
func mustL2mt(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	code, stdout, stderr := l2mt(t, args...)
	if code != exitDone {
		t.Fatalf("l2mt %v: exit code %d\n%s%s", args, code, stdout, stderr)
	}
	return stdout
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
