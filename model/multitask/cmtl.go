package multitask

// Clustered multitask learning: the eigenvalues of Omega are bounded.
//
//	sum of losses + Lambda1/2 tr(W Omega^-1 W')
//	  subject to tr(Omega) = a, b I <= Omega <= c I
//
//	g(Omega)    0 in that set, +Inf elsewhere
//	Omega step  eigenvectors of W'W; eigenvalues sigma_i/nu clipped to [b, c],
//	            sigma_i the singular values of W, nu such that they sum to a
//	source      Jacob, Bach, Vert, "Clustered multi-task learning: a convex
//	            formulation", NIPS 2008
//
// The bounds are given relative to their mean: b = low a/m and c = high a/m,
// so that low <= 1 <= high can be met for any m.

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

func init() {
	Register(spectral{
		info: Info{
			Name: "cmtl", Title: "CMTL",
			Ranges: []Range{
				lambda1Range,
				{"a", 1, 1, 1},
				{"low", 0.1, 0.03, 0.9},
				{"high", 3, 3, 3},
			},
		},
		check: func(p Params) error {
			low := p.Get("low")
			high := p.Get("high")
			if low > 1 || high < 1 {
				return ErrInvalidParams.Errorf("model \"cmtl\", low and high: they are %v and %v; 1 must lie between them", low, high)
			}
			return nil
		},
		spectrum: clipped,
		value: func(mu []float64, p Params) float64 {
			a, b, c := bounds(len(mu), p)
			slack := feasible * a
			bounded := mu[0] >= b-slack && mu[len(mu)-1] <= c+slack
			if bounded && math.Abs(floats.Sum(mu)-a) <= slack {
				return 0
			}
			return math.Inf(1)
		},
		// The largest eigenvalues of T get as much as the bounds allow.
		support: func(t []float64, p Params) (sum float64) {
			a, b, c := bounds(len(t), p)
			left := a - float64(len(t))*b
			for _, v := range slices.Backward(t) {
				extra := max(0, min(c-b, left))
				sum += v * (b + extra)
				left -= extra
			}
			return sum
		},
	})
}

// bounds returns a, b and c.
func bounds(m int, p Params) (a, b, c float64) {
	a = p.Get("a")
	return a, p.Get("low") * a / float64(m), p.Get("high") * a / float64(m)
}

// clipped sets mu to t sigma_i - shift, clipped, with the t = 1/nu at which they sum to a.
// Directions that W does not use count as next to nothing, and so share the remainder.
func clipped(mu, s []float64, shift float64, p Params) {
	const nothing = 1e-15
	a, b, c := bounds(len(s), p)
	top := s[len(s)-1]
	fill := func(t float64) float64 {
		for i, v := range s {
			sigma := nothing
			if v > 0 {
				sigma = math.Sqrt(v / top)
			}
			mu[i] = min(max(t*sigma-shift, b), c)
		}
		return floats.Sum(mu)
	}
	full := func(t float64) bool {
		return fill(t) >= a
	}
	fill(bisected(b+shift, (c+shift)/nothing, full))
}
