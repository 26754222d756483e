// Package datatest finds the real datasets that tests may use but the
// repository does not hold, measures what reading them costs, leaves out what takes
// long, and ends tests whose preparations fail.
package datatest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Long leaves out, with -short, what would find no race: the race detector, which
// is run so, makes everything ten times as slow.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("long, and nothing runs side by side")
	}
}

// TB is the part of a test that ends it. Tests of package testing and of rapid have it.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// Check ends a test whose preparation failed.
func Check(t TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Must is a value, unless its maker failed.
func Must[T any](v T, err error) func(TB) T {
	return func(t TB) T {
		t.Helper()
		Check(t, err)
		return v
	}
}

// Path returns the path of a real file, and skips the test where it is absent.
// Real data lies in the directory that the environment variable L2MT_DATA
// names, else in shared/data beside the repository.
func Path(t testing.TB, elem ...string) string {
	t.Helper()
	Long(t)
	dir := os.Getenv("L2MT_DATA")
	if dir == "" {
		dir = filepath.Join(root(t), "..", "shared", "data")
	}
	path := filepath.Join(append([]string{dir}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skip("real data not present: set L2MT_DATA")
	}
	return path
}

// root returns the directory of go.mod.
func root(t testing.TB) string {
	t.Helper()
	dir := Must(os.Getwd())(t)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("the test runs outside the repository: no go.mod above it")
		}
		dir = filepath.Dir(dir)
	}
}

// Allocated returns the bytes that f allocates.
func Allocated(f func()) uint64 {
	var begin, end runtime.MemStats
	runtime.ReadMemStats(&begin)
	f()
	runtime.ReadMemStats(&end)
	return end.TotalAlloc - begin.TotalAlloc
}
