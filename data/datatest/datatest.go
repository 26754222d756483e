// Package datatest is the kit of all tests: assertions, ends of tests whose preparation fails,
// normal numbers, allocated bytes, and paths of real datasets that the repository does not hold.
package datatest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Long skips, with -short, a test that would find no race: the race detector is run with it, and
// makes everything ten times as slow.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("long, and nothing runs side by side")
	}
}

// TB is a test of package testing, or of rapid.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
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

// Refused tests that a maker fails as Says tells.
func Refused[T any](_ T, err error) func(t TB, kind error, words ...string) {
	return func(t TB, kind error, words ...string) {
		t.Helper()
		Says(t, err, kind, words...)
	}
}

// Says tests that an error is of a kind, if one is given, and has all the words.
func Says(t TB, err, kind error, words ...string) {
	t.Helper()
	lacks := func(word string) bool {
		return !strings.Contains(err.Error(), word)
	}
	if err == nil || kind != nil && !errors.Is(err, kind) ||
		slices.ContainsFunc(words, lacks) {
		t.Errorf("the error is %v; it must be of the kind %v and say %q", err, kind, words)
	}
}

// Holds tests a condition; the message tells the value that came instead.
func Holds(t TB, condition bool, what string, args ...any) {
	if !condition {
		t.Helper()
		t.Errorf(what, args...)
	}
}

// Need ends a test where a condition does not hold.
func Need(t TB, condition bool, what string, args ...any) {
	if !condition {
		t.Helper()
		t.Fatal(fmt.Sprintf(what, args...))
	}
}

// Equal tests that a value is as wanted.
func Equal[T any](t TB, got, want T, what string, args ...any) {
	if !reflect.DeepEqual(got, want) {
		t.Helper()
		t.Errorf("%s: %+v, want %+v", fmt.Sprintf(what, args...), got, want)
	}
}

// Near tests that a number is within a distance of the one wanted. Tests ask it of a million
// numbers, and Helper would take longer than the comparison.
func Near(t TB, got, want, distance float64, what string, args ...any) {
	if !(math.Abs(got-want) <= distance) {
		t.Helper()
		t.Errorf("%s: %v, want %v within %.2g",
			fmt.Sprintf(what, args...), got, want, distance)
	}
}

// Normals draws numbers of the standard normal distribution.
func Normals[T float32 | float64](random *rand.Rand, n int) []T {
	values := make([]T, n)
	for i := range values {
		values[i] = T(random.NormFloat64())
	}
	return values
}

// Path returns the path of a real file, and skips the test where it is absent.
// Real data lies in the directory that the environment variable L2MT_DATA
// names, else in shared/data beside the repository.
func Path(t testing.TB, elem ...string) string {
	t.Helper()
	Long(t)
	dir := os.Getenv("L2MT_DATA")
	if dir == "" {
		module := Must(exec.Command("go", "env", "GOMOD").Output())(t)
		dir = filepath.Join(filepath.Dir(string(module)),
			"..", "shared", "data")
	}
	path := filepath.Join(append([]string{dir}, elem...)...)
	_, err := os.Stat(path)
	if err != nil {
		t.Skip("real data not present: set L2MT_DATA")
	}
	return path
}

// Allocated returns the bytes that f allocates.
func Allocated(f func()) uint64 {
	var begin, end runtime.MemStats
	runtime.ReadMemStats(&begin)
	f()
	runtime.ReadMemStats(&end)
	return end.TotalAlloc - begin.TotalAlloc
}
