package linalg

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"l2mt/data/datatest"
)

var transposes = []Transpose{NoTrans, Trans}

// TestGemmRaggedEdges takes every m and n up to 40, several tiles of every kernel,
// with random k, transposes, strides, scalars, threads and positions of the guards.
func TestGemmRaggedEdges(t *testing.T) {
	datatest.Long(t)
	forEveryKernel(t, testGemmRaggedEdges[float32], testGemmRaggedEdges[float64])
}

func testGemmRaggedEdges[T Float](t *testing.T, ker Kernels) {
	r := stream(t, "ragged edges")
	check := gemmChecker[T](t, ker, 80*80)
	for m := 1; m <= 40; m++ {
		for n := 1; n <= 40; n++ {
			check(r, transposes[r.IntN(2)], transposes[r.IntN(2)], m, n, 1+r.IntN(40))
		}
	}
}

// TestGemmBlockEdges takes shapes about the edges of the packed blocks.
func TestGemmBlockEdges(t *testing.T) {
	datatest.Long(t)
	forEveryKernel(t, testGemmBlockEdges[float32], testGemmBlockEdges[float64])
}

func testGemmBlockEdges[T Float](t *testing.T, ker Kernels) {
	r := stream(t, "block edges")
	check := gemmChecker[T](t, ker, 1<<19)
	for _, s := range [][3]int{
		{blockM - 1, 3, 5}, {blockM, 17, 9}, {blockM + 1, 33, 2}, {2*blockM + 7, 20, 6},
		{3, 2067, 4},
		{4, 9, blockK - 1}, {12, 32, blockK}, {25, 6, blockK + 1}, {14, 35, 3*blockK + 17},
		{blockM + 13, 40, blockK + 5}, {1, 1, 2000}, {1, 1500, 1}, {1500, 1, 1},
	} {
		for _, tA := range transposes {
			for _, tB := range transposes {
				check(r, tA, tB, s[0], s[1], s[2])
			}
		}
	}
}

// gemmChecker returns a function that multiplies random matrices and compares
// every entry of the result with gonum's and with a plain sum in float64. The
// matrices lie against guards and hold NaN between their rows; what is between
// the rows of C must not change.
func gemmChecker[T Float](t *testing.T, ker Kernels, size int) func(r *rand.Rand, tA, tB Transpose, m, n, k int) {
	aMem, bMem, cMem := guarded[T](t, size), guarded[T](t, size), guarded[T](t, size)
	return func(r *rand.Rand, tA, tB Transpose, m, n, k int) {
		t.Helper()
		alpha := []T{1, 1, 1, -0.75}[r.IntN(4)]
		beta := T(r.IntN(2))
		ker.Threads = 1 + r.IntN(3)
		a, b, c := newStored(r, aMem, tA, m, k), newStored(r, bMem, tB, k, n), newStored(r, cMem, NoTrans, m, n)
		if beta == 0 {
			c.each(func(x *T) { *x = T(math.NaN()) })
		}
		old, peer := slices.Clone(c.data), slices.Clone(c.data)
		what := fmt.Sprintf("seed %d: %dx%dx%d, %c%c, strides %d %d %d, alpha %v, beta %v, %d threads",
			seed, m, n, k, tA, tB, a.ld, b.ld, c.ld, alpha, beta, ker.Threads)
		defer func() {
			e := recover()
			datatest.Need(t, e == nil, "%s: %v", what, e)
		}()
		Gemm(ker, tA, tB, m, n, k, alpha, a.data, a.ld, b.data, b.ld, beta, c.data, c.ld)
		Gemm(Kernels{}, tA, tB, m, n, k, alpha, a.data, a.ld, b.data, b.ld, beta, peer, c.ld)
		for i := range m {
			for j := range n {
				var sum, abs float64
				for q := range k {
					p := float64(a.at(i, q)) * float64(b.at(q, j))
					sum, abs = sum+p, abs+math.Abs(p)
				}
				want, scale := float64(alpha)*sum, math.Abs(float64(alpha))*abs
				if beta != 0 {
					o := float64(old[i*c.ld+j])
					want, scale = want+o, scale+math.Abs(o)
				}
				tol := float64(k+4) * epsilon[T]() * scale
				got := float64(c.at(i, j))
				datatest.Need(t, math.Abs(got-want) <= tol && math.Abs(got-float64(peer[i*c.ld+j])) <= 2*tol,
					"%s: entry (%d, %d) is %v; the plain sum is %v, gonum's %v", what, i, j, got, want, peer[i*c.ld+j])
			}
			for j := n; j < c.ld && i*c.ld+j < len(c.data); j++ {
				datatest.Need(t, sameBits(c.data[i*c.ld+j:][:1], old[i*c.ld+j:][:1]),
					"%s: wrote beyond row %d of C", what, i)
			}
		}
	}
}

// epsilon bounds the relative error of a rounded operation on T, with room for
// the float64 of the reference.
func epsilon[T Float]() float64 {
	if isFloat32[T]() {
		return 0x1p-23
	}
	return 0x1p-51
}

// A stored is a matrix X of which op(X) is used.
type stored[T Float] struct {
	data           []T
	ld, rows, cols int // of X
	trans          bool
}

// newStored returns random op(X) of rows x cols, its rows up to four entries
// farther apart than they must be, and NaN between them.
func newStored[T Float](r *rand.Rand, mem func(int, bool) []T, op Transpose, rows, cols int) stored[T] {
	x := stored[T]{rows: rows, cols: cols, trans: op == Trans}
	if x.trans {
		x.rows, x.cols = cols, rows
	}
	x.ld = x.cols + []int{0, 0, 1, 4}[r.IntN(4)]
	x.data = mem((x.rows-1)*x.ld+x.cols, r.IntN(2) == 0)
	for i := range x.data {
		x.data[i] = T(math.NaN())
	}
	x.each(func(v *T) { *v = T(r.NormFloat64()) })
	return x
}

func (x stored[T]) each(f func(*T)) {
	for i := range x.rows {
		for j := range x.cols {
			f(&x.data[i*x.ld+j])
		}
	}
}

// at returns entry (i, j) of op(X).
func (x stored[T]) at(i, j int) T {
	if x.trans {
		i, j = j, i
	}
	return x.data[i*x.ld+j]
}

// TestGemmBitsDependOnNothing shows that threads, the assembly kernel and the
// other rows and columns of the product leave every bit of an entry alone.
func TestGemmBitsDependOnNothing(t *testing.T) {
	t.Run("float32", testGemmBits[float32])
	t.Run("float64", testGemmBits[float64])
}

func testGemmBits[T Float](t *testing.T) {
	r := stream(t, "bits")
	for range 20 {
		m, n, k := 1+r.IntN(300), 1+r.IntN(150), 1+r.IntN(3*blockK)
		tA, tB := transposes[r.IntN(2)], transposes[r.IntN(2)]
		lda, ldb := k, n
		if tA == Trans {
			lda = m
		}
		if tB == Trans {
			ldb = k
		}
		a, b, c := random[T](r, m*k), random[T](r, k*n), random[T](r, m*n)
		var first []T
		for _, ker := range assembly(t) {
			for _, ker.Threads = range []int{1, 2, 3, 7} {
				got := slices.Clone(c)
				Gemm(ker, tA, tB, m, n, k, 1, a, lda, b, ldb, 1, got, n)
				if first == nil {
					first = got
				}
				if !sameBits(got, first) {
					t.Fatalf("seed %d: %dx%dx%d, %c%c: %s with %d threads gives other bits", seed, m, n, k, tA, tB, ker.Name(), ker.Threads)
				}
			}
			if tA == Trans || tB == Trans {
				continue
			}
			i, j := r.IntN(m), r.IntN(n)
			one := []T{c[i*n+j]}
			Gemm(ker, tA, tB, 1, 1, k, 1, a[i*lda:], lda, b[j:], ldb, 1, one, 1)
			datatest.Need(t, sameBits(one, first[i*n+j:][:1]),
				"seed %d: %dx%dx%d: entry (%d, %d) has other bits on its own", seed, m, n, k, i, j)
		}
	}
}

// TestGemmSpreadsNaN puts one NaN into A or B: it must reach exactly the row or
// the column of C that it belongs to.
func TestGemmSpreadsNaN(t *testing.T) {
	datatest.Long(t)
	forEveryKernel(t, testGemmSpreadsNaN[float32], testGemmSpreadsNaN[float64])
}

func testGemmSpreadsNaN[T Float](t *testing.T, ker Kernels) {
	r := stream(t, "NaN")
	for range 200 {
		m, n, k := 1+r.IntN(30), 1+r.IntN(70), 1+r.IntN(300)
		a, b, c := random[T](r, m*k), random[T](r, k*n), make([]T, m*n)
		row, col, q := r.IntN(m), -1, r.IntN(k)
		if r.IntN(2) == 0 {
			a[row*k+q] = T(math.NaN())
		} else {
			row, col = -1, r.IntN(n)
			b[q*n+col] = T(math.NaN())
		}
		Gemm(ker, NoTrans, NoTrans, m, n, k, 1, a, k, b, n, 0, c, n)
		for i, v := range c {
			if isNaN := v != v; isNaN != (i/n == row || i%n == col) {
				t.Fatalf("seed %d: %dx%dx%d with NaN in row %d of A or column %d of B: entry (%d, %d) is %v",
					seed, m, n, k, row, col, i/n, i%n, v)
			}
		}
	}
}

// TestAssemblyGemmMultipliesZeroByInfinity is where it differs from gonum.
func TestAssemblyGemmMultipliesZeroByInfinity(t *testing.T) {
	for _, ker := range assembly(t) {
		c := []float64{1}
		Gemm(ker, NoTrans, NoTrans, 1, 1, 2, 1, []float64{0, 1}, 2, []float64{math.Inf(1), 1}, 1, 0, c, 1)
		datatest.Holds(t, math.IsNaN(c[0]), "%s: 0·Inf + 1·1 = %v, want NaN", ker.Name(), c[0])
	}
}

// TestGemmOfNothing has an empty dimension.
func TestGemmOfNothing(t *testing.T) {
	forEveryKernel(t, testGemmOfNothing[float32], testGemmOfNothing[float64])
}

func testGemmOfNothing[T Float](t *testing.T, ker Kernels) {
	nans := slices.Repeat([]T{T(math.NaN())}, 4)
	Gemm(ker, NoTrans, NoTrans, 0, 2, 2, 1, nil, 2, nans, 2, 0, nil, 2)
	Gemm(ker, Trans, Trans, 2, 0, 2, 1, nans, 2, nil, 2, 0, nil, 1)
	for beta, want := range []T{0, 3} {
		c := []T{3, 3, 7, 3, 3}
		Gemm(ker, NoTrans, NoTrans, 2, 2, 0, 1, nans, 2, nans, 2, T(beta), c, 3)
		datatest.Holds(t, slices.Equal(c, []T{want, want, 7, want, want}),
			"k = 0, beta = %d: C is %v, want %v", beta, c, want)
	}
}

// TestGemmRefusesWhatGonumRefuses takes arguments that would leave the slices.
func TestGemmRefusesWhatGonumRefuses(t *testing.T) {
	x := make([]float64, 12) // room for 3 x 4
	for _, test := range []struct {
		what          string
		tA, tB        Transpose
		m, n, k       int
		lda, ldb, ldc int
		a, b, c       []float64
	}{
		{"fits", NoTrans, NoTrans, 3, 3, 4, 4, 3, 3, x, x, x[:9]},
		{"negative m", NoTrans, NoTrans, -1, 3, 4, 4, 3, 3, x, x, x},
		{"negative n", NoTrans, NoTrans, 3, -1, 4, 4, 3, 3, x, x, x},
		{"negative k", NoTrans, NoTrans, 3, 3, -1, 4, 3, 3, x, x, x},
		{"stride of A", NoTrans, NoTrans, 3, 3, 4, 3, 3, 3, x, x, x},
		{"stride of A'", Trans, NoTrans, 4, 3, 3, 3, 3, 3, x, x, x},
		{"stride of B", NoTrans, NoTrans, 3, 3, 4, 4, 2, 3, x, x, x},
		{"stride of B'", NoTrans, Trans, 3, 3, 4, 4, 3, 3, x, x, x},
		{"stride of C", NoTrans, NoTrans, 3, 3, 4, 4, 3, 2, x, x, x},
		{"stride 0", NoTrans, NoTrans, 0, 0, 0, 0, 1, 1, x, x, x},
		{"slice of A", NoTrans, NoTrans, 3, 3, 4, 4, 3, 3, x[:11], x, x},
		{"slice of A'", Trans, NoTrans, 4, 3, 3, 4, 3, 3, x[:11], x, x},
		{"slice of B", NoTrans, NoTrans, 3, 3, 4, 4, 3, 3, x, x[:11], x},
		{"slice of B'", NoTrans, Trans, 3, 3, 4, 4, 4, 3, x, x[:11], x},
		{"slice of C", NoTrans, NoTrans, 3, 3, 4, 4, 3, 3, x, x, x[:8]},
	} {
		for _, ker := range everyKernel(t) {
			func() {
				defer func() {
					if panicked := recover() != nil; panicked != (test.what != "fits") {
						t.Errorf("%s, %s: panicked = %t", ker.Name(), test.what, panicked)
					}
				}()
				Gemm(ker, test.tA, test.tB, test.m, test.n, test.k, 1, test.a, test.lda, test.b, test.ldb, 0, test.c, test.ldc)
			}()
		}
	}
}

// The shapes of one training step: X is 2400 x 1000 and L is 1000 x 100.
const (
	benchN = 2400
	benchD = 1000
	benchH = 100
)

func BenchmarkGemm(b *testing.B) {
	for _, ker := range everyKernel(b) {
		benchGemm[float32](b, ker, "f32")
		benchGemm[float64](b, ker, "f64")
	}
}

func benchGemm[T Float](b *testing.B, ker Kernels, typ string) {
	r := stream(b, "bench gemm")
	x, l, y := random[T](r, benchN*benchD), random[T](r, benchD*benchH), random[T](r, benchN*benchH)
	flops := 2 * float64(benchN) * benchD * benchH
	for _, threads := range []int{1, 2} {
		ker.Threads = threads
		name := fmt.Sprintf("%s/%s/threads=%d/", ker.Name(), typ, threads)
		b.Run(name+"XL", func(b *testing.B) {
			for b.Loop() {
				Gemm(ker, NoTrans, NoTrans, benchN, benchH, benchD, 1, x, benchD, l, benchH, 0, y, benchH)
			}
			gflops(b, flops)
		})
		b.Run(name+"XtY", func(b *testing.B) {
			for b.Loop() {
				Gemm(ker, Trans, NoTrans, benchD, benchH, benchN, 1, x, benchD, y, benchH, 0, l, benchH)
			}
			gflops(b, flops)
		})
	}
}

func gflops(b *testing.B, flops float64) {
	b.ReportMetric(flops*float64(b.N)/1e9/b.Elapsed().Seconds(), "GFLOPS")
}

// TestMixed compares with plain sums, for every length about those of the blocks, and
// looks that nothing beside the vectors is touched.
func TestMixed(t *testing.T) {
	r := stream(t, "mixed")
	for _, ker := range everyKernel(t) {
		xMem, yMem, zMem := guarded[float32](t, 200), guarded[float64](t, 200), guarded[float32](t, 200)
		for n := range 140 {
			for _, behind := range []bool{false, true} {
				x, y, a := xMem(n, behind), yMem(n, behind), r.NormFloat64()
				copy(x, random[float32](r, n))
				copy(y, random[float64](r, n))
				want, scale := 0.0, 0.0
				added := make([]float64, n)
				for j, v := range x {
					want, scale = want+float64(v)*y[j], scale+math.Abs(float64(v)*y[j])
					added[j] = y[j] + a*float64(v)
				}
				datatest.Near(t, DotMixed(ker, x, y), want, float64(n)*epsilon[float64]()*scale, "%s, seed %d: the product of %d entries", ker.Name(), seed, n)
				z := zMem(n, behind)
				copy(z, random[float32](r, n))
				apart := 0.0
				for j, v := range x {
					apart += math.Abs(float64(v) - float64(z[j]))
				}
				datatest.Near(t, Distance(ker, x, z), apart, float64(n)*epsilon[float64]()*apart, "%s, seed %d: the distance of %d entries", ker.Name(), seed, n)
				AxpyMixed(ker, a, x, y)
				for j := range y {
					datatest.Near(t, y[j], added[j], epsilon[float64]()*(math.Abs(added[j])+math.Abs(a*float64(x[j]))), "%s, seed %d: entry %d of %d", ker.Name(), seed, j, n)
				}
			}
		}
	}
}
