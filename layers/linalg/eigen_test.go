package linalg

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data/datatest"
)

// What eigenvectors and eigenvalues are, A v = kappa v and V V' = I, and gonum's
// eigenvalues, for matrices of the kinds that trouble such routines, in sizes about
// those of the reflections that are done at a time.
func TestEigen(t *testing.T) {
	datatest.Long(t)
	normal := func(r *rand.Rand, _, _ int) float64 { return r.NormFloat64() }
	kinds := map[string]func(r *rand.Rand, i, j int) float64{
		"random":   normal,
		"zero":     func(*rand.Rand, int, int) float64 { return 0 },
		"ones":     func(*rand.Rand, int, int) float64 { return 1 },
		"diagonal": func(r *rand.Rand, i, j int) float64 { return one(i == j) * float64(i%3) },
		"blocks":   func(r *rand.Rand, i, j int) float64 { return one(i/3 == j/3) * (2 + one(i == j)) },
		"zero diagonal": func(r *rand.Rand, i, j int) float64 {
			return one(j == i-1)
		},
		"near pairs": func(_ *rand.Rand, i, j int) float64 { // Wilkinson's
			return one(i == j)*math.Abs(float64(i-10)) + one(j == i-1)
		},
		"shifted": func(_ *rand.Rand, i, j int) float64 { return one(i == j) + 1/float64(1+i+j) },
		"graded":  func(r *rand.Rand, i, j int) float64 { return r.NormFloat64() * math.Pow(10, -float64(i+j)/4) },
		"tiny":    func(r *rand.Rand, i, j int) float64 { return 1e-160 * r.NormFloat64() },
		"large":   func(r *rand.Rand, i, j int) float64 { return 1e150 * r.NormFloat64() },
	}
	for what, entry := range kinds {
		for _, n := range []int{1, 2, 3, 5, 17, 64, 65, 130, 200} {
			r := stream(t, fmt.Sprint("eigen ", n))
			a := mat.NewSymDense(n, nil)
			for i := range n {
				for j := range i + 1 {
					a.SetSym(i, j, entry(r, i, j))
				}
			}
			before := slices.Clone(a.RawSymmetric().Data)
			k := n - r.IntN(n) // vectors
			if r.IntN(2) == 0 {
				k = max(1, k/4)
			}
			tridiagonal := Tridiagonalise(a)
			kappa, ok := tridiagonal.Values()
			v, found := tridiagonal.Lowest(kappa, k)
			datatest.Need(t, ok && found && slices.Equal(before, a.RawSymmetric().Data),
				"%s, n = %d: it does not converge, or A has changed", what, n)
			var peer mat.EigenSym
			datatest.Need(t, peer.Factorize(a, true), "gonum does not converge")
			scale := math.SmallestNonzeroFloat64 + max(math.Abs(kappa[0]), kappa[n-1])
			tolerance := 4e-15 * float64(n+10)
			if d := floats.Distance(kappa, peer.Values(nil), math.Inf(1)); !(d <= tolerance*scale) || !slices.IsSorted(kappa) {
				t.Errorf("%s, n = %d: eigenvalues are %.3g of the largest away from gonum's", what, n, d/scale)
			}
			var residual, gram mat.Dense
			residual.Mul(v, a)
			gram.Mul(v, v.T())
			for i := range k {
				for j := range n {
					if d := math.Abs(residual.At(i, j) - kappa[i]*v.At(i, j)); !(d <= tolerance*scale) {
						t.Fatalf("%s, n = %d: entry %d of A v - kappa v is %.3g for vector %d", what, n, j, d/scale, i)
					}
					if d := math.Abs(gram.At(i, min(j, k-1)) - one(i == min(j, k-1))); !(d <= tolerance) {
						t.Fatalf("%s, n = %d: vectors %d and %d are orthonormal up to %.3g", what, n, i, j, d)
					}
				}
			}
		}
	}
}

// A matrix is that of its eigenvalues and vectors, and what is not finite is refused.
func TestSpectrum(t *testing.T) {
	r, a := stream(t, "spectrum"), mat.NewSymDense(5, nil)
	for i := range 5 {
		for j := range i + 1 {
			a.SetSym(i, j, r.NormFloat64())
		}
	}
	e, err := Eigen(a)
	datatest.Holds(t, err == nil && mat.EqualApprox(e.Rebuild(e.Values), a, 1e-13) && slices.IsSorted(e.Values),
		"%v is rebuilt from %+v, %v", a, e, err)
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		a.SetSym(1, 2, bad)
		_, err = Eigen(a)
		datatest.Says(t, err, nil, "not finite")
	}
}

func BenchmarkEigen(b *testing.B) {
	for _, n := range []int{6, 64, 128, 256, 512} {
		r := stream(b, "eigen")
		a := mat.NewSymDense(n, nil)
		for i := range n {
			for j := range i + 1 {
				a.SetSym(i, j, r.NormFloat64())
			}
		}
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			for b.Loop() {
				t := Tridiagonalise(a)
				kappa, _ := t.Values()
				t.Lowest(kappa, n)
			}
		})
		b.Run(fmt.Sprintf("n=%d/gonum", n), func(b *testing.B) {
			for b.Loop() {
				var e mat.EigenSym
				var u mat.Dense
				e.Factorize(a, true)
				e.VectorsTo(&u)
			}
		})
	}
}

// TestCholesky multiplies the factor and its inverse out again, by plain loops, in
// every size about the edges of panels. What is above the diagonal is NaN, so that
// it would show if it were read.
func TestCholesky(t *testing.T) {
	datatest.Long(t)
	for _, ker := range everyKernel(t) {
		t.Run(ker.Name(), func(t *testing.T) { testCholesky(t, ker) })
	}
}

func testCholesky(t *testing.T, ker Kernels) {
	r := stream(t, "cholesky")
	for _, n := range []int{1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128, 200, 259} {
		ld := n + r.IntN(3)
		a, l := make([]float64, n*n), make([]float64, n*ld)
		for i := range l {
			l[i] = math.NaN()
		}
		b := random[float64](r, n*n)
		for i := range n {
			for j := range i + 1 {
				for q := range n {
					a[i*n+j] += b[i*n+q] * b[j*n+q] / float64(n)
				}
				if i == j {
					a[i*n+j]++
				}
				l[i*ld+j] = a[i*n+j]
			}
		}
		datatest.Need(t, Cholesky(ker, n, l, ld), "n = %d: not positive definite", n)
		inverse := make([]float64, len(l))
		copy(inverse, l)
		Invert(ker, n, inverse, ld)
		for i := range n {
			for j := range n {
				var product, unit float64
				for q := range n {
					if q <= min(i, j) {
						product += l[i*ld+q] * l[j*ld+q]
					}
					if q <= i {
						if unit += inverse[i*ld+q] * l[q*ld+min(j, q)] * one(j <= q); math.IsNaN(unit) {
							t.Fatalf("n = %d: entry (%d, %d) is read above the diagonal", n, i, j)
						}
					}
				}
				tolerance := 20 * epsilon[float64]()
				datatest.Need(t, j > i || math.Abs(product-a[i*n+j]) <= tolerance*a[i*n+i],
					"seed %d, n = %d: entry (%d, %d) of L L' is %v, not %v", seed, n, i, j, product, a[i*n+j])
				datatest.Near(t, unit, one(i == j), tolerance, "seed %d, n = %d: entry (%d, %d) of L^-1 L", seed, n, i, j)
				datatest.Need(t, j <= i || inverse[i*ld+j] == 0,
					"n = %d: the inverse has %v above the diagonal", n, inverse[i*ld+j])
			}
		}
		for i := range n {
			l[i*ld+i] = 1
		}
		if l[(n-1)*ld+n-1] = -1; Cholesky(ker, n, l, ld) {
			t.Errorf("n = %d: an indefinite matrix is factorized", n)
		}
	}
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
