package linalg

import (
	"errors"
	"fmt"
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
				checkCSR(t, ker, s, newStored(r, lMem, NoTrans, s.Cols(), h), newStored(r, yMem, NoTrans, s.Rows(), h), add)
			}
		}
	}
}

// checkCSR compares a product with plain sums in float64.
func checkCSR[T Float](t *testing.T, ker Kernels, s *CSR[T], l, y stored[T], add bool) {
	t.Helper()
	h := y.cols
	if !add {
		y.each(func(x *T) { *x = T(math.NaN()) })
	}
	old := slices.Clone(y.data)
	what := fmt.Sprintf("seed %d: %dx%d with %d entries, h %d, strides %d %d, add %t, %d threads",
		seed, s.Rows(), s.Cols(), len(s.idx), h, l.ld, y.ld, add, ker.Threads)
	defer func() {
		if e := recover(); e != nil {
			t.Fatalf("%s: %v", what, e)
		}
	}()
	mul := CSRMul[T]
	if add {
		mul = CSRAddMul[T]
	}
	mul(ker, s, h, l.data, l.ld, y.data, y.ld)
	for i := range s.Rows() {
		for j := range h {
			var want, scale float64
			if add {
				want = float64(old[i*y.ld+j])
				scale = math.Abs(want)
			}
			for e := s.ptr[i]; e < s.ptr[i+1]; e++ {
				p := float64(s.val[e]) * float64(l.at(int(s.idx[e]), j))
				want, scale = want+p, scale+math.Abs(p)
			}
			tol := float64(s.ptr[i+1]-s.ptr[i]+2) * epsilon[T]() * scale
			if got := float64(y.at(i, j)); !(math.Abs(got-want) <= tol) {
				t.Fatalf("%s: entry (%d, %d) is %v, want %v", what, i, j, got, want)
			}
		}
		for j := h; j < y.ld && i*y.ld+j < len(y.data); j++ {
			if !sameBits(y.data[i*y.ld+j:][:1], old[i*y.ld+j:][:1]) {
				t.Fatalf("%s: wrote beyond row %d of Y", what, i)
			}
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
	s, err := NewCSR(cols, ptr, idx, random[T](r, len(idx)))
	if err != nil {
		panic(err)
	}
	return s
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
				CSRAddMul(ker, s, h, l, h, y, h)
				if first == nil {
					first = y
				}
				if !sameBits(y, first) {
					t.Fatalf("seed %d, h %d: %s with %d threads gives other bits", seed, h, ker.Name(), ker.Threads)
				}
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
		CSRMul(ker, s, h, l, h, y, h)
		for i, v := range y {
			uses := slices.Contains(s.idx[s.ptr[i/h]:s.ptr[i/h+1]], int32(row))
			if (v != v) != (uses && i%h == col) {
				t.Fatalf("seed %d: h %d with NaN at (%d, %d): entry (%d, %d) is %v", seed, h, row, col, i/h, i%h, v)
			}
		}
	}
}

func TestCSRMulOfNothing(t *testing.T) {
	for _, ker := range everyKernel(t) {
		none := must(NewCSR[float64](3, []int32{0}, nil, nil))(t)
		CSRMul(ker, none, 2, make([]float64, 6), 2, nil, 2)
		zero := must(NewCSR[float64](0, []int32{0, 0, 0}, nil, nil))(t)
		y := []float64{1, 2, 3, 4}
		CSRAddMul(ker, zero, 2, nil, 2, y, 2)
		if !slices.Equal(y, []float64{1, 2, 3, 4}) {
			t.Errorf("%s: adding a product of an empty matrix gives %v", ker.Name(), y)
		}
		CSRMul(ker, zero, 2, nil, 2, y, 2)
		if !slices.Equal(y, make([]float64, 4)) {
			t.Errorf("%s: a product of an empty matrix is %v", ker.Name(), y)
		}
	}
}

func TestCSRMulRefusesShortArguments(t *testing.T) {
	s := must(NewCSR(2, []int32{0, 1, 2, 2}, []int32{1, 0}, []float32{1, 1}))(t)
	for _, test := range []struct {
		what      string
		h, l, ldl int
		y, ldy    int
		refused   bool
	}{
		{"fits", 4, 8, 4, 12, 4, false},
		{"fits with strides", 4, 9, 5, 16, 6, false},
		{"short L", 4, 7, 4, 12, 4, true},
		{"short Y", 4, 8, 4, 11, 4, true},
		{"short stride of L", 4, 8, 3, 12, 4, true},
		{"short stride of Y", 4, 8, 4, 12, 3, true},
		{"negative h", -1, 8, 4, 12, 4, true},
	} {
		for _, ker := range everyKernel(t) {
			func() {
				defer func() {
					if refused := recover() != nil; refused != test.refused {
						t.Errorf("%s, %s: refused = %t", ker.Name(), test.what, refused)
					}
				}()
				CSRMul(ker, s, test.h, make([]float32, test.l), test.ldl, make([]float32, test.y), test.ldy)
			}()
		}
	}
}

func TestNewCSRRefusesMalformed(t *testing.T) {
	for _, test := range []struct {
		what     string
		cols     int
		ptr, idx []int32
		val      int
	}{
		{"no row pointers", 3, nil, nil, 0},
		{"first pointer not 0", 3, []int32{1, 2}, []int32{0, 1}, 2},
		{"last pointer not the number of entries", 3, []int32{0, 1}, []int32{0, 1}, 2},
		{"fewer values than columns", 3, []int32{0, 2}, []int32{0, 1}, 1},
		{"falling pointers", 3, []int32{0, 2, 1, 2}, []int32{0, 1}, 2},
		{"negative column", 3, []int32{0, 1}, []int32{-1}, 1},
		{"column too large", 3, []int32{0, 1}, []int32{3}, 1},
		{"entry in a matrix without columns", 0, []int32{0, 1}, []int32{0}, 1},
	} {
		if _, err := NewCSR(test.cols, test.ptr, test.idx, make([]float64, test.val)); !errors.Is(err, ErrCSR) {
			t.Errorf("%s: error %v", test.what, err)
		}
	}
}

// TestCSRGram compares with plain sums over the entries of two rows, and looks that
// the upper triangle stays as it is.
func TestCSRGram(t *testing.T) {
	r := stream(t, "csr gram")
	for range 20 {
		n, d := 1+r.IntN(20), 1+r.IntN(20)
		dense, a := make([]float64, n*d), random[float64](r, n*n)
		ptr, idx, val := []int32{0}, []int32{}, []float64{}
		ptrT, idxT, valT := []int32{0}, []int32{}, []float64{}
		for i := range n {
			for j := range d {
				if r.IntN(3) == 0 {
					dense[i*d+j] = r.NormFloat64()
					idx, val = append(idx, int32(j)), append(val, dense[i*d+j])
				}
			}
			ptr = append(ptr, int32(len(idx)))
		}
		for j := range d {
			for i := range n {
				if v := dense[i*d+j]; v != 0 {
					idxT, valT = append(idxT, int32(i)), append(valT, v)
				}
			}
			ptrT = append(ptrT, int32(len(idxT)))
		}
		s := must(NewCSR(d, ptr, idx, val))(t)
		transposed := must(NewCSR(n, ptrT, idxT, valT))(t)
		want := slices.Clone(a)
		for i := range n {
			for k := range i + 1 {
				for j := range d {
					want[i*n+k] += dense[i*d+j] * dense[k*d+j]
				}
			}
		}
		CSRGram(s, transposed, a, n)
		for i := range a {
			if math.Abs(a[i]-want[i]) > 1e-12 {
				t.Fatalf("seed %d, %d x %d: entry %d is %v; the plain sum is %v", seed, n, d, i, a[i], want[i])
			}
		}
	}
}
