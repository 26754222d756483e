//go:build !linux

package linalg

import "testing"

// guarded has no guards here: it returns a function that allocates.
func guarded[T Float](testing.TB, int) func(n int, behind bool) []T {
	return func(n int, _ bool) []T { return make([]T, n) }
}
