package blas

import (
	"math/rand/v2"
	"testing"
)

// seed is fixed, so that a failure can be seen again; it is printed with one.
const seed = 20260401

func stream(tb testing.TB, purpose string) *rand.Rand {
	tb.Helper()
	return rand.New(rand.NewPCG(seed, uint64(len(purpose))))
}

// everyKernel returns the kernels that this machine supports.
func everyKernel(tb testing.TB) []Kernels {
	tb.Helper()
	var all []Kernels
	for _, name := range Supported() {
		k, err := Named(name)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, k)
	}
	return all
}

func random[T Float](r *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(r.NormFloat64())
	}
	return x
}

func randomCSR[T Float](r *rand.Rand, rows, cols int, density float64) *CSR[T] {
	ptr := []int32{0}
	var idx []int32
	for range rows {
		for j := range cols {
			if r.Float64() < density {
				idx = append(idx, int32(j))
			}
		}
		ptr = append(ptr, int32(len(idx)))
	}
	s, err := NewCSR(cols, ptr, idx, random[T](r, len(idx)))
	if err != nil {
		panic(err)
	}
	return s
}
