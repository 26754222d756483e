package compare

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"

	"l2mt/data/datatest"
)

// The p values are those of scipy.stats.wilcoxon, version 1.10.1: with
// method="exact" where no two differences have one size and there are at most
// 50, else with method="approx", correction=True. Zeros are left out first. The
// first case is the example of its documentation.
func TestWilcoxonAgreesWithSciPy(t *testing.T) {
	for _, c := range []struct {
		name        string
		differences []float64
		p           float64
	}{
		{"documentation", []float64{6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75}, 0.041259765625},
		{"five", []float64{1.5, -0.7, 2.2, 3.1, 0.4}, 0.1875},
		{"all positive", []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}, 0.001953125},
		{"balanced", []float64{1, -1.5, -2, 2.5}, 1},
		{"nothing", nil, 1},
		{"zeros alone", []float64{0, 0, 0}, 1},
		{"zeros", []float64{0, 0, 1, -2, 3, 4, -5, 6, 7, 8}, 0.1484375},
		{"ties", []float64{1, 1, -1, 2, 2, -3, 4, 5, 5, -5, 6, 7}, 0.090556875837822},
		{"fifty", thirdsNegative(50), 0.02616696817119646},
		{"more than fifty", thirdsNegative(51), 0.056455805367702144},
	} {
		datatest.Near(t, Wilcoxon(c.differences), c.p, 1e-12, "%s: p =", c.name)
	}
}

// thirdsNegative returns the n differences 1.5, 2.5, -3.5, 4.5, ...
func thirdsNegative(n int) []float64 {
	d := make([]float64, n)
	for i := range d {
		d[i] = float64(i) + 1.5
		if (i+1)%3 == 0 {
			d[i] = -d[i]
		}
	}
	return d
}

// The exact p is the share of all ways to sign the ranks that are at least as
// far from balance. Neither the order, nor a common factor, nor the direction matters.
func TestWilcoxonCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := distinct(t)
		far := func(signs int) float64 {
			sum := 0.0
			for i := range d {
				if signs>>i&1 == 1 {
					sum += float64(i + 1)
				} else {
					sum -= float64(i + 1)
				}
			}
			return math.Abs(sum)
		}
		mine, extreme := 0, 0
		for i, v := range d {
			if v > 0 {
				mine |= 1 << i
			}
		}
		for signs := range 1 << len(d) {
			if far(signs) >= far(mine) {
				extreme++
			}
		}
		want := float64(extreme) / float64(int(1)<<len(d))
		other := rapid.Permutation(d).Draw(t, "order")
		floats.Scale(rapid.SampledFrom([]float64{1, -1, 8, -0.25}).Draw(t, "factor"), other)
		if p := Wilcoxon(other); math.Abs(p-want) > 1e-12 {
			t.Fatalf("%v: p = %v, but %d of %d ways are as extreme", other, p, extreme, 1<<len(d))
		}
	})
}

// distinct draws differences in the order of their sizes, all different.
func distinct(t *rapid.T) []float64 {
	d := make([]float64, rapid.IntRange(1, 10).Draw(t, "n"))
	size := 0.0
	for i := range d {
		size += rapid.Float64Range(0.1, 2).Draw(t, "step")
		d[i] = size
		if rapid.Bool().Draw(t, "negative") {
			d[i] = -size
		}
	}
	return d
}
