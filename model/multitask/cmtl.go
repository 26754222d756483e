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
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

func init() { Register(cmtl{}) }

type cmtl struct{}

func (cmtl) Info() Info {
	return Info{
		Name: "cmtl", Title: "CMTL", Source: "Jacob, Bach and Vert 2008",
		Ranges: []Range{
			lambda1Range,
			{Name: "a", Default: 1, Low: 1, High: 1},
			{Name: "low", Default: 0.1, Low: 0.03, High: 0.9, Log: true},
			{Name: "high", Default: 3, Low: 3, High: 3},
		},
	}
}

// bounds returns a, b and c.
func (cmtl) bounds(m int, p Params) (a, b, c float64) {
	a = p.Get("a")
	return a, p.Get("low") * a / float64(m), p.Get("high") * a / float64(m)
}

// spectrum is that of mu + c, which has the bounds and the trace moved by c.
func (k cmtl) spectrum(mu, s []float64, shift float64, p Params) {
	a, b, c := k.bounds(len(s), p)
	clipped(mu, s, a+float64(len(s))*shift, b+shift, c+shift)
	for i, v := range mu {
		mu[i] = min(max(v-shift, b), c)
	}
}

// clipped raises t = 1/nu until the clipped sigma_i t sum to a. The sum is linear in t
// between the points where a value enters or leaves its bounds.
func clipped(mu, s []float64, a, b, c float64) {
	sigma := make([]float64, len(s))
	var turns []float64
	for i, v := range s {
		sigma[i] = math.Sqrt(v)
		if v > 0 {
			turns = append(turns, b/sigma[i], c/sigma[i])
		}
	}
	slices.Sort(turns)
	fill := func(t float64) (sum float64) {
		for i, v := range sigma {
			mu[i] = min(max(v*t, b), c)
			sum += mu[i]
		}
		return sum
	}
	next := sort.Search(len(turns), func(i int) bool { return fill(turns[i]) >= a })
	switch {
	case next == len(turns):
		evenOut(mu, sigma, a, b, c)
	case next > 0:
		// Between these two turns the same values are free; they share what
		// the clipped ones leave in proportion to sigma.
		middle := (turns[next-1] + turns[next]) / 2
		fill(middle)
		clipped, free := 0.0, 0.0
		for i, v := range sigma {
			if v*middle > b && v*middle < c {
				free += v
			} else {
				clipped += mu[i]
			}
		}
		if free > 0 {
			fill((a - clipped) / free)
		} else {
			fill(turns[next])
		}
	default:
		fill(turns[0])
	}
}

// evenOut gives every direction that W uses the most it may have, and shares
// what is left equally among those that W does not use.
func evenOut(mu, sigma []float64, a, b, c float64) {
	left, unused := a, 0
	for _, v := range sigma {
		if v > 0 {
			left -= c
		} else {
			unused++
		}
	}
	for i, v := range sigma {
		mu[i] = c
		if v == 0 {
			mu[i] = min(max(left/float64(unused), b), c)
		}
	}
}

func (k cmtl) Step(s *mat.SymDense, _ int, p Params, h Hint) (*Covariance, error) {
	if low, high := p.Get("low"), p.Get("high"); low > 1 || high < 1 {
		return nil, fmt.Errorf("multitask: model \"cmtl\", low and high: %w: they are %v and %v; 1 must lie between them", ErrInvalidParams, low, high)
	}
	return spectralStep(k, s, p, h)
}

func (k cmtl) G(cov *Covariance, _ int, p Params) float64 {
	return k.value(eigenvalues(cov.Omega), p)
}

func (k cmtl) value(mu []float64, p Params) float64 {
	a, b, c := k.bounds(len(mu), p)
	slack := feasible * a
	if math.Abs(floats.Sum(mu)-a) <= slack && mu[0] >= b-slack && mu[len(mu)-1] <= c+slack {
		return 0
	}
	return math.Inf(1)
}

func (k cmtl) Support(t *mat.SymDense, _ *Covariance, p Params) float64 {
	return k.support(eigenvalues(t), p)
}

// support gives the largest eigenvalues of T all that the bounds allow.
func (k cmtl) support(t []float64, p Params) float64 {
	a, b, c := k.bounds(len(t), p)
	left := a - float64(len(t))*b
	sum := 0.0
	for _, v := range slices.Backward(t) {
		more := max(0, min(c-b, left))
		sum += v * (b + more)
		left -= more
	}
	return sum
}
