package linalg

import (
	"runtime/debug"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"l2mt/data/datatest"
)

// guarded returns a function that gives memory for n numbers, at most max,
// directly before a page that may not be touched, or directly behind one. It
// gives the same memory again and again. A kernel that goes astray panics.
func guarded[T Float](tb testing.TB, max int) func(n int, behind bool) []T {
	tb.Helper()
	var zero T
	size, page := int(unsafe.Sizeof(zero)), unix.Getpagesize()
	bytes := (max*size + page - 1) / page * page
	mem := datatest.Must(unix.Mmap(-1, 0, bytes+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE))(tb)
	fault := debug.SetPanicOnFault(true)
	tb.Cleanup(func() {
		debug.SetPanicOnFault(fault)
		datatest.Check(tb, unix.Munmap(mem))
	})
	for _, guard := range [][]byte{mem[:page], mem[page+bytes:]} {
		datatest.Check(tb, unix.Mprotect(guard, unix.PROT_NONE))
	}
	return func(n int, behind bool) []T {
		if n == 0 {
			return nil
		}
		start := page
		if !behind {
			start += bytes - n*size
		}
		return unsafe.Slice((*T)(unsafe.Pointer(&mem[start])), n)
	}
}

func TestGuardsCatchTouches(t *testing.T) {
	for _, behind := range []bool{false, true} {
		x := guarded[float32](t, 100)(10, behind)
		p := unsafe.Add(unsafe.Pointer(&x[0]), 4*10)
		if behind {
			p = unsafe.Add(unsafe.Pointer(&x[0]), -4)
		}
		func() {
			defer func() {
				datatest.Holds(t, recover() != nil, "behind a guard = %t: touching the guard went unnoticed", behind)
			}()
			*(*float32)(p) = 1
		}()
	}
}
