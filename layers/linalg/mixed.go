package linalg

import "math"

// Rows of data are float32, and their factors and sums float64. These take them without a copy
// of the row.

// mixedLanes is the number of entries that the kernels take at a time.
const mixedLanes = 8

// whole is the number of entries of n that the kernels take, a multiple of mixedLanes.
func (k Kernels) whole(n int) int {
	if k.set == nil {
		return 0
	}
	return n &^ (mixedLanes - 1)
}

// DotMixed returns <x, y> on the kernels ker. It panics if y is shorter than x.
func DotMixed(ker Kernels, x []float32, y []float64) float64 {
	y = y[:len(x)]
	var s [mixedLanes]float64
	whole := ker.whole(len(x))
	if whole > 0 {
		dotMixed(whole, &x[0], &y[0], &s[0])
	}
	for j := whole; j < len(x); j++ {
		s[j%mixedLanes] += float64(x[j]) * y[j]
	}
	return total(s)
}

func total(s [mixedLanes]float64) float64 {
	return ((s[0] + s[4]) + (s[1] + s[5])) +
		((s[2] + s[6]) + (s[3] + s[7]))
}

// Distance returns the sum of |x_j - z_j| on the kernels ker. It panics if z is shorter than x.
func Distance(ker Kernels, x, z []float32) float64 {
	z = z[:len(x)]
	var s [mixedLanes]float64
	whole := ker.whole(len(x))
	if whole > 0 {
		distance(whole, &x[0], &z[0], &s[0])
	}
	for j := whole; j < len(x); j++ {
		s[j%mixedLanes] += math.Abs(float64(x[j]) - float64(z[j]))
	}
	return total(s)
}

// AxpyMixed adds a x to y on the kernels ker. It panics if y is shorter than x.
func AxpyMixed(ker Kernels, a float64, x []float32, y []float64) {
	y = y[:len(x)]
	whole := ker.whole(len(x))
	if whole > 0 {
		axpyMixed(whole, a, &x[0], &y[0])
	}
	for j := whole; j < len(x); j++ {
		y[j] += a * float64(x[j])
	}
}
