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
	"math"

	"gonum.org/v1/gonum/mat"
)

func init() {
	const paper = "Zhang et al. 2018"
	Register(schatten{name: "snr1", title: "SNR1", source: paper, r: 1})
	Register(schatten{name: "snr2", title: "SNR2", source: paper, r: 2})
	Register(schatten{name: "snr", title: "SNR", source: paper})
	Register(schatten{name: "mtrl", title: "MTRL", source: "Zhang and Yeung 2010", r: 1, squared: true})
	Register(schatten{name: "ssnr2", title: "SSNR2", source: paper, r: 2, squared: true})
	Register(schatten{name: "ssnr", title: "SSNR", source: paper, squared: true})
}

// schatten has a fixed r, or r = 0 and the hyperparameter "r".
type schatten struct {
	name, title, source string
	r                   float64
	squared             bool
}

func (k schatten) Info() Info {
	info := Info{Name: k.name, Title: k.title, Source: k.source, Ranges: []Range{lambda1Range}}
	if !k.squared {
		info.Ranges = append(info.Ranges, Range{Name: Lambda2, Default: 1e-2, Low: 1e-2, High: 1e-2, Log: true})
	}
	if k.r == 0 {
		info.Ranges = append(info.Ranges, Range{Name: "r", Default: 1, Low: 0.5, High: 4, Log: true})
	}
	return info
}

func (k schatten) power(p Params) float64 {
	if k.r == 0 {
		return p.Get("r")
	}
	return k.r
}

func (k schatten) spectrum(mu, s []float64, c float64, p Params) {
	r := k.power(p)
	if k.squared {
		constrained(mu, s, c, r)
		return
	}
	for i, v := range s {
		mu[i] = shrunk(v, c, 2*p.Lambda2*r/p.Lambda1, r)
	}
}

// shrunk returns the mu that minimises s/(mu + c) + nu/r mu^r.
func shrunk(s, c, nu, r float64) float64 {
	if s == 0 {
		return 0
	}
	if r == 1 {
		return max(0, math.Sqrt(s/nu)-c)
	}
	// In y = ln mu the slope's root is that of an increasing, convex function. From
	// beyond it, where it is with c = 0, Newton's method descends to it.
	goal := math.Log(s / nu)
	y := goal / (r + 1)
	for range 100 {
		mu := math.Exp(y)
		move := ((r-1)*y + 2*math.Log(mu+c) - goal) / (r - 1 + 2*mu/(mu+c))
		if y -= move; !(move > 1e-15*math.Abs(y)) {
			break
		}
	}
	return math.Exp(y)
}

// constrained sets mu to the eigenvalues that minimise the sum of s/(mu + c) where the sum of
// mu^r is at most 1.
func constrained(mu, s []float64, c, r float64) {
	top, m := s[len(s)-1], float64(len(s))
	if top == 0 {
		// Every Omega is as good; this one treats the tasks alike.
		for i := range mu {
			mu[i] = math.Pow(m, -1/r)
		}
		return
	}
	if c == 0 {
		norm := 0.0
		for _, v := range s {
			norm += math.Pow(v/top, r/(r+1))
		}
		for i, v := range s {
			mu[i] = math.Pow(v/top, 1/(r+1)) * math.Pow(norm, -1/r)
		}
		return
	}
	// The multiplier nu of the constraint is between those at which it could not hold with
	// equality, for the largest mu is from m^(-1/r) to 1.
	at := func(mu float64) float64 { return top / (math.Pow(mu, r-1) * (mu + c) * (mu + c)) }
	low, high := at(1), at(math.Pow(m, -1/r))
	for range 60 {
		nu := low + (high-low)/2
		for i, v := range s {
			mu[i] = shrunk(v, c, nu, r)
		}
		if powers(mu, r) > 1 {
			low = nu
		} else {
			high = nu
		}
	}
}

// powers returns the sum of v^r.
func powers(values []float64, r float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += math.Pow(v, r)
	}
	return sum
}

func (k schatten) value(mu []float64, p Params) float64 {
	sum := powers(mu, k.power(p))
	switch {
	case !k.squared:
		return sum
	case sum <= 1+feasible:
		return 0
	}
	return math.Inf(1)
}

// support is the sum over the eigenvalues t of T of the maximum of t mu - Lambda2 mu^r over
// mu >= 0, or the norm of t that is dual to the r-norm.
func (k schatten) support(t []float64, p Params) float64 {
	r, top := k.power(p), t[len(t)-1]
	q := r / (r - 1)
	switch {
	case r < 1:
		return math.NaN()
	case k.squared && (r == 1 || top == 0):
		return top
	case k.squared:
		sum := 0.0
		for _, v := range t {
			sum += math.Pow(v/top, q)
		}
		return top * math.Pow(sum, 1/q)
	case r > 1:
		return powers(t, q) * math.Pow(p.Lambda2*r, 1-q) / q
	case top <= p.Lambda2:
		return 0
	}
	return math.Inf(1)
}

func (k schatten) Step(s *mat.SymDense, _ int, p Params, h Hint) (*Covariance, error) {
	return spectralStep(k, s, p, h)
}

func (k schatten) G(c *Covariance, _ int, p Params) float64 {
	return k.value(eigenvalues(c.Omega), p)
}

func (k schatten) Support(t *mat.SymDense, _ *Covariance, p Params) float64 {
	return k.support(eigenvalues(t), p)
}
