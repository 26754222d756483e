package linalg

// Rows of data are float32 and their factors float64. These two multiply them without a copy
// of the row.

// mixedLanes is the number of entries that the kernels take at a time.
const mixedLanes = 8

// DotMixed returns <x, y> on the kernels ker. It panics if y is shorter than x.
func DotMixed(ker Kernels, x []float32, y []float64) float64 {
	y = y[:len(x)]
	var s [mixedLanes]float64
	j := 0
	if n := len(x) &^ (mixedLanes - 1); ker.set != nil && n > 0 {
		dotMixed(n, &x[0], &y[0], &s[0])
		j = n
	}
	for ; j+4 <= len(x); j += 4 { // four sums hide the latency of the additions
		s[0] += float64(x[j]) * y[j]
		s[1] += float64(x[j+1]) * y[j+1]
		s[2] += float64(x[j+2]) * y[j+2]
		s[3] += float64(x[j+3]) * y[j+3]
	}
	for ; j < len(x); j++ {
		s[0] += float64(x[j]) * y[j]
	}
	return ((s[0] + s[4]) + (s[1] + s[5])) +
		((s[2] + s[6]) + (s[3] + s[7]))
}

// AxpyMixed adds a x to y on the kernels ker. It panics if y is shorter than x.
func AxpyMixed(ker Kernels, a float64, x []float32, y []float64) {
	y = y[:len(x)]
	j := 0
	if n := len(x) &^ (mixedLanes - 1); ker.set != nil && n > 0 {
		axpyMixed(n, a, &x[0], &y[0])
		j = n
	}
	for ; j < len(x); j++ {
		y[j] += a * float64(x[j])
	}
}
