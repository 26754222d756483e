package linalg

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data/datatest"
)

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
		a, l, b := make([]float64, n*n), slices.Repeat([]float64{math.NaN()}, n*n), random[float64](r, n*n)
		for i := range n {
			for j := range i + 1 {
				for q := range n {
					a[i*n+j] += b[i*n+q] * b[j*n+q] / float64(n)
				}
				if i == j {
					a[i*n+j]++
				}
				l[i*n+j] = a[i*n+j]
			}
		}
		datatest.Need(t, Cholesky(ker, n, l), "n = %d: not positive definite", n)
		inverse := slices.Clone(l)
		Invert(ker, n, inverse)
		for i := range n {
			for j := range n {
				var product, unit float64
				for q := range n {
					if q <= min(i, j) {
						product += l[i*n+q] * l[j*n+q]
					}
					if q <= i {
						if unit += inverse[i*n+q] * l[q*n+min(j, q)] * one(j <= q); math.IsNaN(unit) {
							t.Fatalf("n = %d: entry (%d, %d) is read above the diagonal", n, i, j)
						}
					}
				}
				tolerance := 20 * epsilon[float64]()
				datatest.Need(t, j > i || math.Abs(product-a[i*n+j]) <= tolerance*a[i*n+i],
					"seed %d, n = %d: entry (%d, %d) of L L' is %v, not %v", seed, n, i, j, product, a[i*n+j])
				datatest.Near(t, unit, one(i == j), tolerance, "seed %d, n = %d: entry (%d, %d) of L^-1 L", seed, n, i, j)
				datatest.Need(t, j <= i || inverse[i*n+j] == 0,
					"n = %d: the inverse has %v above the diagonal", n, inverse[i*n+j])
			}
		}
		for i := range n {
			l[i*n+i] = 1
		}
		if l[(n-1)*n+n-1] = -1; Cholesky(ker, n, l) {
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
