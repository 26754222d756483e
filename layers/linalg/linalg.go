// Package linalg holds the numeric kernels under the network's layers: the dense
// product C = alpha op(A) op(B) + beta C and the product Y = S L of a sparse
// and a dense matrix, for float32 and float64; and on top of the dense product
// Cholesky factors, inverses of triangles, and eigenvectors of symmetric matrices.
//
// Training spends nearly all its time in the two products, and gonum's pure Go code
// reaches a few per cent of a CPU's speed. The kernels here are Go assembly
// for AVX2 with FMA, and for AVX-512 in the dense product, without cgo.
// Everywhere else, and with the build tag noasm, gonum is used.
//
// Results depend neither on the number of threads nor on which of the two
// assembly kernels runs: the terms of an entry are always added in the same
// order, with fused multiply-adds. Gonum rounds differently in the last bits, and
// it leaves out the terms in which op(A) is zero, so that there 0·NaN counts as
// 0, where the assembly kernels follow IEEE 754.
package linalg

//go:generate go -C gen run . -out ../kernels_amd64.s -stubs ../stubs_amd64.go -pkg linalg

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"sync"
)

// Variable is the environment variable that Select obeys.
const Variable = "L2MT_BLAS"

// Auto and Generic are names that Select knows on every machine.
const (
	Auto    = "auto"    // the fastest kernels that the machine supports
	Generic = "generic" // gonum
)

// Float is the type of the numbers in a matrix.
type Float interface{ float32 | float64 }

// Kernels is a choice of kernels. The zero value is gonum's portable code.
type Kernels struct {
	// Threads is the number of goroutines that a large product may be divided
	// among; 0 means 1. Gonum's dense product chooses its number itself.
	Threads int

	set *set
}

// A set is the kernels of one instruction set.
type set struct {
	name string
	f32  kernels[float32]
	f64  kernels[float64]
}

// kernels are the functions of a set for one type of numbers.
type kernels[T Float] struct {
	lanes int              // numbers in a vector register
	tile  int              // rows of a tile of C
	copy  copyKernel[T]    // for rows of up to two vectors
	gemm  [2]gemmKernel[T] // for tiles of one and of two vectors of columns
	csr   []csrKernel[T]   // for one vector of columns, two, and so on
	pool  sync.Pool        // of *workspace[T]
}

// kernelsOf returns the kernels of s for the numbers T.
func kernelsOf[T Float](s *set) *kernels[T] {
	k, ok := any(&s.f32).(*kernels[T])
	if ok {
		return k
	}
	return any(&s.f64).(*kernels[T])
}

// Select returns the kernels that the environment variable L2MT_BLAS names:
// auto (also when it is empty or not set), generic, avx2 or avx512. A name that
// is unknown or not supported by the machine is an error.
func Select() (Kernels, error) {
	name := cmp.Or(os.Getenv(Variable), Auto)
	var names []string
	for _, s := range supported() {
		if name == s.name || name == Auto {
			return Kernels{set: s}, nil
		}
		names = append(names, s.name)
	}
	if name == Generic || name == Auto {
		return Kernels{}, nil
	}
	return Kernels{}, fmt.Errorf("environment variable %s: no such kernels as %q in this program on this machine; it must be %s, or %s for the fastest",
		Variable, name, strings.Join(append(names, Generic), ", "), Auto)
}

// Default are Select's kernels, chosen once, and the generic ones after an error, which
// networks return when they are made.
var Default = sync.OnceValue(func() Kernels {
	k, _ := Select()
	return k
})

// Name returns the name of the kernels: generic, avx2 or avx512.
func (k Kernels) Name() string {
	if k.set == nil {
		return Generic
	}
	return k.set.name
}
