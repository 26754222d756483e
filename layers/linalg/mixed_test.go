package linalg

import (
	"math"
	"testing"

	"l2mt/data/datatest"
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
