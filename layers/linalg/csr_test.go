package linalg

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"l2mt/data/datatest"
)

// TestCSRMulWidths takes every width up to 40 and some about the widest kernels.
func TestCSRMulWidths(t *testing.T) {
	datatest.Long(t)
	forEveryKernel(t, testCSRMulWidths[float32], testCSRMulWidths[float64])
}

func testCSRMulWidths[T Float](t *testing.T, ker Kernels) {
	r := stream(t, "widths")
	lMem, yMem := guarded[T](t, 60*300), guarded[T](t, 200*300)
	widths := []int{50, 63, 64, 65, 100, 127, 128, 129, 200, 257}
	for h := 1; h <= 40; h++ {
		widths = append(widths, h)
	}
	for _, h := range widths {
		for _, density := range []float64{0, 0.02, 0.3} {
			for _, add := range []bool{false, true} {
				s := randomCSR[T](r, 1+r.IntN(200), 1+r.IntN(60), density)
				ker.Threads = 1 + r.IntN(3)
				l, y := lMem(s.cols*h, r.IntN(2) == 0), yMem(s.Rows()*h, r.IntN(2) == 0)
				copy(l, random[T](r, len(l)))
				copy(y, random[T](r, len(y)))
				checkCSR(t, ker, s, h, l, y, add)
			}
		}
	}
}

// checkCSR compares a product with plain sums in float64. L and Y lie against guards.
func checkCSR[T Float](t *testing.T, ker Kernels, s *CSR[T], h int, l, y []T, add bool) {
	t.Helper()
	old := slices.Clone(y)
	for i := range y {
		if !add {
			y[i] = T(math.NaN())
		}
	}
	what := fmt.Sprintf("seed %d: %dx%d with %d entries, h %d, add %t, %d threads", seed, s.Rows(), s.cols, len(s.idx), h, add, ker.Threads)
	defer func() {
		e := recover()
		datatest.Need(t, e == nil, "%s: %v", what, e)
	}()
	CSRMul(ker, s, h, l, y, add)
	for i := range s.Rows() {
		for j := range h {
			var want, scale float64
			if add {
				want = float64(old[i*h+j])
				scale = math.Abs(want)
			}
			for e := s.ptr[i]; e < s.ptr[i+1]; e++ {
				p := float64(s.val[e]) * float64(l[int(s.idx[e])*h+j])
				want, scale = want+p, scale+math.Abs(p)
			}
			tol := float64(s.ptr[i+1]-s.ptr[i]+2) * epsilon[T]() * scale
			datatest.Near(t, float64(y[i*h+j]), want, tol, "%s: entry (%d, %d)", what, i, j)
		}
	}
}

// randomCSR returns a matrix with about that density. A third of its rows are
// empty, and columns repeat and come in any order.
func randomCSR[T Float](r *rand.Rand, rows, cols int, density float64) *CSR[T] {
	ptr := []int32{0}
	var idx []int32
	for range rows {
		if r.IntN(3) > 0 {
			for range int(1.5 * density * float64(cols) * 2 * r.Float64()) {
				idx = append(idx, int32(r.IntN(cols)))
			}
		}
		ptr = append(ptr, int32(len(idx)))
	}
	return NewCSR(cols, ptr, idx, random[T](r, len(idx)))
}

// TestCSRMulBitsDependOnNothing is as TestGemmBitsDependOnNothing.
func TestCSRMulBitsDependOnNothing(t *testing.T) {
	t.Run("float32", testCSRMulBits[float32])
	t.Run("float64", testCSRMulBits[float64])
}

func testCSRMulBits[T Float](t *testing.T) {
	r := stream(t, "sparse bits")
	for range 5 {
		h := 1 + r.IntN(150)
		s := randomCSR[T](r, 2000, 300, 0.1)
		l, c := random[T](r, 300*h), random[T](r, 2000*h)
		var first []T
		for _, ker := range assembly(t) {
			for _, ker.Threads = range []int{1, 2, 3, 7} {
				y := slices.Clone(c)
				CSRMul(ker, s, h, l, y, true)
				if first == nil {
					first = y
				}
				datatest.Need(t, sameBits(y, first),
					"seed %d, h %d: %s with %d threads gives other bits", seed, h, ker.Name(), ker.Threads)
			}
		}
	}
}

// TestCSRMulSpreadsNaN puts a NaN into one row of L: it must reach the rows of Y
// whose rows of S have an entry there, in its column, and nothing else.
func TestCSRMulSpreadsNaN(t *testing.T) {
	forEveryKernel(t, testCSRMulSpreadsNaN[float32], testCSRMulSpreadsNaN[float64])
}

func testCSRMulSpreadsNaN[T Float](t *testing.T, ker Kernels) {
	r := stream(t, "sparse NaN")
	for range 50 {
		h := 1 + r.IntN(70)
		s := randomCSR[T](r, 90, 20, 0.2)
		l, y := random[T](r, 20*h), make([]T, 90*h)
		row, col := r.IntN(20), r.IntN(h)
		l[row*h+col] = T(math.NaN())
		CSRMul(ker, s, h, l, y, false)
		for i, v := range y {
			uses := slices.Contains(s.idx[s.ptr[i/h]:s.ptr[i/h+1]], int32(row))
			datatest.Need(t, (v != v) == (uses && i%h == col),
				"seed %d: h %d with NaN at (%d, %d): entry (%d, %d) is %v", seed, h, row, col, i/h, i%h, v)
		}
	}
}

func TestCSRMulOfNothing(t *testing.T) {
	for _, ker := range everyKernel(t) {
		CSRMul(ker, NewCSR[float64](3, []int32{0}, nil, nil), 2, make([]float64, 6), nil, false)
		zero, y := NewCSR[float64](0, []int32{0, 0, 0}, nil, nil), []float64{1, 2, 3, 4}
		CSRMul(ker, zero, 2, nil, y, true)
		datatest.Equal(t, y, []float64{1, 2, 3, 4}, "%s: adding a product of an empty matrix gives", ker.Name())
		CSRMul(ker, zero, 2, nil, y, false)
		datatest.Equal(t, y, make([]float64, 4), "%s: a product of an empty matrix", ker.Name())
	}
}

// TestMalformedCSRIsRefused has arguments with which the kernels would leave the slices.
func TestMalformedCSRIsRefused(t *testing.T) {
	for _, test := range []struct {
		what            string
		cols            int
		ptr, idx        []int32
		values, h, l, y int
		fits            bool
	}{
		{"fits", 2, []int32{0, 1, 2, 2}, []int32{1, 0}, 2, 4, 8, 12, true},
		{"short L", 2, []int32{0, 1, 2, 2}, []int32{1, 0}, 2, 4, 7, 12, false},
		{"short Y", 2, []int32{0, 1, 2, 2}, []int32{1, 0}, 2, 4, 8, 11, false},
		{"negative h", 2, []int32{0, 1, 2, 2}, []int32{1, 0}, 2, -1, 8, 12, false},
		{"no row pointers", 3, nil, nil, 0, 0, 0, 0, false},
		{"first pointer not 0", 3, []int32{1, 2}, []int32{0, 1}, 2, 0, 0, 0, false},
		{"last pointer not the number of entries", 3, []int32{0, 1}, []int32{0, 1}, 2, 0, 0, 0, false},
		{"fewer values than columns", 3, []int32{0, 2}, []int32{0, 1}, 1, 0, 0, 0, false},
		{"falling pointers", 3, []int32{0, 2, 1, 2}, []int32{0, 1}, 2, 0, 0, 0, false},
		{"negative column", 3, []int32{0, 1}, []int32{-1}, 1, 0, 0, 0, false},
		{"column too large", 3, []int32{0, 1}, []int32{3}, 1, 0, 0, 0, false},
		{"entry in a matrix without columns", 0, []int32{0, 1}, []int32{0}, 1, 0, 0, 0, false},
	} {
		for _, ker := range everyKernel(t) {
			func() {
				defer func() {
					refused := recover() != nil
					datatest.Holds(t, refused != test.fits, "%s, %s: refused = %t", ker.Name(), test.what, refused)
				}()
				s := NewCSR(test.cols, test.ptr, test.idx, make([]float32, test.values))
				CSRMul(ker, s, test.h, make([]float32, test.l), make([]float32, test.y), false)
			}()
		}
	}
}

// TestCSRGram compares with plain sums over the entries of two rows, and looks that
// the upper triangle stays as it is.
func TestCSRGram(t *testing.T) {
	r := stream(t, "csr gram")
	for range 20 {
		n, d := 1+r.IntN(20), 1+r.IntN(20)
		a, s := random[float64](r, n*n), randomCSR[float64](r, n, d, 0.3)
		want := slices.Clone(a)
		for i := range n {
			for k := range i + 1 {
				for p := s.ptr[i]; p < s.ptr[i+1]; p++ {
					for q := s.ptr[k]; q < s.ptr[k+1]; q++ {
						if s.idx[p] == s.idx[q] {
							want[i*n+k] += s.val[p] * s.val[q]
						}
					}
				}
			}
		}
		CSRGram(s, s.Transpose(), a)
		for i := range a {
			datatest.Near(t, a[i], want[i], 1e-12, "seed %d, %d x %d: entry %d", seed, n, d, i)
		}
	}
}

// seed is that of all tests; failures print it.
const seed = 20170501

func stream(tb testing.TB, purpose string) *rand.Rand {
	tb.Helper()
	h := fnv.New64a()
	h.Write([]byte(purpose))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// everyKernel returns the kernels that this machine supports, the fastest first.
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
	return slices.DeleteFunc(everyKernel(tb), func(k Kernels) bool { return k.set == nil })
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
	all := everyKernel(t)
	parts := []string{Variable, "AVX3", Auto}
	selects := func(name string, want Kernels) {
		t.Setenv(Variable, name)
		k, err := Select()
		datatest.Holds(t, err == nil && k == want,
			"%s=%q selects %s, error %v; want %s", Variable, name, k.Name(), err, want.Name())
	}
	for _, k := range all {
		selects(k.Name(), k)
		parts = append(parts, k.Name())
	}
	selects("", all[0])
	selects(Auto, all[0])
	t.Setenv(Variable, "AVX3")
	_, err := Select()
	datatest.Says(t, err, nil, parts...)
}
