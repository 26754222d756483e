package linalg

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"l2mt/data/datatest"
)

// seed is that of all tests; failures print it.
const seed = 20170501

func stream(tb testing.TB, purpose string) *rand.Rand {
	tb.Helper()
	h := fnv.New64a()
	h.Write([]byte(purpose))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// everyKernel returns the kernels that this machine supports.
func everyKernel(tb testing.TB) []Kernels {
	tb.Helper()
	var all []Kernels
	for _, s := range supported() {
		all = append(all, Kernels{set: s})
	}
	return append(all, Kernels{})
}

// assembly returns those that are not gonum.
func assembly(tb testing.TB) []Kernels {
	tb.Helper()
	return slices.DeleteFunc(everyKernel(tb), func(k Kernels) bool { return k.Name() == Generic })
}

// forEveryKernel runs a test on every kernel for both types of numbers.
func forEveryKernel(t *testing.T, f32, f64 func(*testing.T, Kernels)) {
	for _, ker := range everyKernel(t) {
		t.Run(ker.Name()+"/float32", func(t *testing.T) { f32(t, ker) })
		t.Run(ker.Name()+"/float64", func(t *testing.T) { f64(t, ker) })
	}
}

func random[T Float](r *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(r.NormFloat64())
	}
	return x
}

func isFloat32[T Float]() bool {
	_, ok := any(T(0)).(float32)
	return ok
}

// sameBits compares also NaN and the sign of zero.
func sameBits[T Float](x, y []T) bool {
	return slices.EqualFunc(x, y, func(a, b T) bool {
		if isFloat32[T]() {
			return math.Float32bits(float32(a)) == math.Float32bits(float32(b))
		}
		return math.Float64bits(float64(a)) == math.Float64bits(float64(b))
	})
}

func TestSelectObeysTheEnvironment(t *testing.T) {
	for _, name := range Supported() {
		t.Setenv(Variable, name)
		k, err := Select()
		if err != nil || k.Name() != name {
			t.Errorf("%s=%s selects %s, error %v", Variable, name, k.Name(), err)
		}
	}
	for _, name := range []string{"", Auto} {
		t.Setenv(Variable, name)
		k, err := Select()
		if err != nil || k.Name() != Supported()[0] {
			t.Errorf("%s=%q selects %s, error %v; want the fastest, %s", Variable, name, k.Name(), err, Supported()[0])
		}
	}
	t.Setenv(Variable, "AVX3")
	_, err := Select()
	datatest.Says(t, err, ErrKernels)
	for _, want := range append(Supported(), Variable, "AVX3", Auto) {
		datatest.Says(t, err, nil, want)
	}
}

func TestZeroKernelsAreGeneric(t *testing.T) {
	datatest.Equal(t, (Kernels{}).Name(), Generic, "the zero Kernels")
}
