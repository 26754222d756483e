package linalg

import (
	"math"
	"testing"
)

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
				if got := DotMixed(ker, x, y); !(math.Abs(got-want) <= float64(n)*epsilon[float64]()*scale) {
					t.Fatalf("%s, seed %d: the product of %d entries is %v; the plain sum is %v", ker.Name(), seed, n, got, want)
				}
				z := zMem(n, behind)
				copy(z, random[float32](r, n))
				apart := 0.0
				for j, v := range x {
					apart += math.Abs(float64(v) - float64(z[j]))
				}
				if got := Distance(ker, x, z); !(math.Abs(got-apart) <= float64(n)*epsilon[float64]()*apart) {
					t.Fatalf("%s, seed %d: the distance of %d entries is %v; the plain sum is %v", ker.Name(), seed, n, got, apart)
				}
				AxpyMixed(ker, a, x, y)
				for j := range y {
					if !(math.Abs(y[j]-added[j]) <= epsilon[float64]()*(math.Abs(added[j])+math.Abs(a*float64(x[j])))) {
						t.Fatalf("%s, seed %d: entry %d of %d is %v, want %v", ker.Name(), seed, j, n, y[j], added[j])
					}
				}
			}
		}
	}
}

func BenchmarkMixed(b *testing.B) {
	r := stream(b, "bench mixed")
	x, y := random[float32](r, 200), random[float64](r, 200)
	for _, ker := range everyKernel(b) {
		b.Run(ker.Name(), func(b *testing.B) {
			for b.Loop() {
				AxpyMixed(ker, 1e-9*DotMixed(ker, x, y), x, y)
			}
		})
	}
}
