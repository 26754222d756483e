package multitask

// Schatten norm regularisation, plain and squared.
//
//	SNR   sum of losses + Lambda1/2 tr(W Omega^-1 W') + Lambda2 tr(Omega^r)
//	      = sum of losses + Lambda_r |||W|||^q with the Schatten norm q = 2r/(r+1),
//	        Lambda_r = (1 + 1/r) (Lambda1^r Lambda2 r / 2^r)^(1/(r+1))
//	SSNR  sum of losses + Lambda1/2 tr(W Omega^-1 W') subject to tr(Omega^r) <= 1
//	      = sum of losses + Lambda1/2 |||W|||^2 with that norm
//
//	g(Omega)    tr(Omega^r), or 0 where tr(Omega^r) <= 1 and +Inf elsewhere
//	Omega step  (Lambda1/(2 Lambda2 r))^(1/(r+1)) (W'W)^(1/(r+1)), or
//	            (W'W)^(1/(r+1)) / (tr (W'W)^(r/(r+1)))^(1/r)
//	source      Zhang, Wei, Yang, "Learning to Multitask", theorems 1 and 2 (the
//	            second's constant is missing the 1/2). SNR with r = 1 is the trace norm of
//	            Pong et al. 2010, SSNR with r = 1 is multitask relationship learning, MTRL:
//	            Zhang, Yeung, "A convex formulation for learning task relationships in
//	            multi-task learning", UAI 2010
//
// The problems are convex for r >= 1. Of SNR only Lambda_r matters to W, so the search
// leaves Lambda2 alone.

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
)

func init() {
	schatten("snr1", 1, false)
	schatten("snr2", 2, false)
	schatten("snr", 0, false)
	schatten("mtrl", 1, true)
	schatten("ssnr2", 2, true)
	schatten("ssnr", 0, true)
}

// schatten registers SNR or SSNR with a fixed r or, where that is 0, with the hyperparameter
// "r".
func schatten(name string, fixed float64, squared bool) {
	info := Info{
		Name:   name,
		Title:  strings.ToUpper(name),
		Ranges: []Range{lambda1Range},
	}
	if !squared {
		info.Ranges = append(info.Ranges, Range{Lambda2, 1e-2, 1e-2, 1e-2})
	}
	if fixed == 0 {
		info.Ranges = append(info.Ranges, Range{"r", 1, 0.5, 4})
	}
	power := func(p Params) float64 {
		return cmp.Or(fixed, p.Get("r"))
	}
	model := spectral{
		info: info,
		spectrum: func(mu, s []float64, c float64, p Params) {
			r := power(p)
			for i, v := range s {
				mu[i] = shrunk(v, c, 2*p.Lambda2*r/p.Lambda1, r)
			}
		},
		value: func(mu []float64, p Params) float64 {
			return powers(mu, power(p))
		},
		support: func(t []float64, p Params) float64 {
			return conjugate(t, power(p), p.Lambda2)
		},
	}
	if squared {
		model.spectrum = func(mu, s []float64, c float64, p Params) {
			constrained(mu, s, c, power(p))
		}
		model.support = func(t []float64, p Params) float64 {
			return dualNorm(t, power(p))
		}
		model.value = func(mu []float64, p Params) float64 {
			if powers(mu, power(p)) > 1+feasible {
				return math.Inf(1)
			}
			return 0
		}
	}
	Register(model)
}

// shrunk returns the mu that minimises s/(mu + c) + nu/r mu^r.
func shrunk(s, c, nu, r float64) float64 {
	if s == 0 {
		return 0
	}
	if r == 1 {
		return max(0, math.Sqrt(s/nu)-c)
	}
	// In y = ln mu an increasing, convex function has the slope's root. Newton's method
	// descends to it from the root for c = 0, which is larger.
	goal := math.Log(s / nu)
	y := goal / (r + 1)
	for range 100 {
		mu := math.Exp(y)
		excess := (r-1)*y + 2*math.Log(mu+c) - goal
		move := excess / (r - 1 + 2*mu/(mu+c))
		y -= move
		if !(move > 1e-15*math.Abs(y)) {
			break
		}
	}
	return math.Exp(y)
}

// constrained sets mu to the eigenvalues that minimise the sum of s/(mu + c) where the sum of
// mu^r is at most 1. If s is 0 every Omega is as good, and this one treats the tasks alike.
func constrained(mu, s []float64, c, r float64) {
	top := s[len(s)-1]
	m := float64(len(s))
	if top == 0 {
		s = slices.Repeat([]float64{1}, len(s))
		top = 1
	}
	// The largest mu is from m^(-1/r) to 1, which bounds the multiplier nu of the constraint.
	multiplier := func(mu float64) float64 {
		return top / (math.Pow(mu, r-1) * (mu + c) * (mu + c))
	}
	fill := func(nu float64) float64 {
		for i, v := range s {
			mu[i] = shrunk(v, c, nu, r)
		}
		return powers(mu, r)
	}
	high := multiplier(math.Pow(m, -1/r))
	fill(bisected(multiplier(1), high, func(nu float64) bool {
		return fill(nu) <= 1
	}))
}

// powers returns the sum of v^r.
func powers(values []float64, r float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += math.Pow(v, r)
	}
	return sum
}

// conjugate is the sum over t of the maximum of t mu - lambda mu^r over mu >= 0.
func conjugate(t []float64, r, lambda float64) float64 {
	switch {
	case r < 1:
		return math.NaN()
	case r > 1:
		q := r / (r - 1)
		return powers(t, q) * math.Pow(lambda*r, 1-q) / q
	case t[len(t)-1] <= lambda:
		return 0
	}
	return math.Inf(1)
}

// dualNorm is the norm of t that is dual to the r-norm.
func dualNorm(t []float64, r float64) float64 {
	top := t[len(t)-1]
	if r < 1 {
		return math.NaN()
	} else if top == 0 {
		return 0
	}
	unit := floats.ScaleTo(make([]float64, len(t)), 1/top, t)
	return top * floats.Norm(unit, r/(r-1))
}
