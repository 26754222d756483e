package multitask

// Squared Schatten norm regularisation.
//
//	sum of losses + Lambda1/2 tr(W Omega^-1 W') subject to tr(Omega^r) <= 1
//	= sum of losses + Lambda1/2 |||W|||^2 with the Schatten norm 2r/(r+1)
//
//	g(Omega)    0 where tr(Omega^r) <= 1, +Inf elsewhere
//	Omega step  (W'W)^(1/(r+1)) / (tr (W'W)^(r/(r+1)))^(1/r)
//	source      Zhang, Wei, Yang, "Learning to Multitask", theorem 2 (whose
//	            constant is missing the 1/2)
//
// The problem is convex for r >= 1.

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

func init() {
	Register(ssnr{name: "ssnr2", title: "SSNR2", source: "Zhang et al. 2018", r: 2})
	Register(ssnr{name: "ssnr", title: "SSNR", source: "Zhang et al. 2018"})
}

// ssnr has a fixed r, or r = 0 and the hyperparameter "r".
type ssnr struct {
	name, title, source string
	r                   float64
}

func (s ssnr) Info() Info {
	info := Info{Name: s.name, Title: s.title, Source: s.source, Ranges: []Range{lambda1Range}, Singular: true}
	if s.r == 0 {
		info.Ranges = append(info.Ranges, rRange)
	}
	return info
}

func (s ssnr) power(p Params) float64 {
	if s.r == 0 {
		return p.Get("r")
	}
	return s.r
}

func (s ssnr) spectrum(mu, values []float64, p Params) {
	r := s.power(p)
	scale := values[len(values)-1]
	if scale == 0 {
		// Every Omega is as good; this one treats the tasks alike.
		for i := range mu {
			mu[i] = math.Pow(float64(len(mu)), -1/r)
		}
		return
	}
	norm := 0.0
	for _, v := range values {
		norm += math.Pow(v/scale, r/(r+1))
	}
	for i, v := range values {
		mu[i] = math.Pow(v/scale, 1/(r+1)) * math.Pow(norm, -1/r)
	}
}

func (s ssnr) splits(p Params) bool { return s.power(p) >= 1 }

// proximal finds the multiplier nu of the constraint between those at which it could
// not hold with equality, for the largest mu is from m^(-1/r) to 1.
func (s ssnr) proximal(mu, values []float64, c float64, p Params) {
	r, top := s.power(p), values[len(values)-1]
	if top == 0 {
		s.spectrum(mu, values, p)
		return
	}
	at := func(mu float64) float64 { return top / (math.Pow(mu, r-1) * (mu + c) * (mu + c)) }
	low, high := at(1), at(math.Pow(float64(len(mu)), -1/r))
	for range 60 {
		nu := low + (high-low)/2
		for i, v := range values {
			mu[i] = shifted(v, c, nu, r)
		}
		if powers(mu, r) > 1 {
			low = nu
		} else {
			high = nu
		}
	}
}

func (s ssnr) Step(w2 *mat.SymDense, _ int, p Params) (*Covariance, error) {
	return spectralStep(s, w2, p)
}

func (s ssnr) G(c *Covariance, _ int, p Params) float64 {
	return s.value(eigenvalues(c.Omega), p)
}

func (s ssnr) value(mu []float64, p Params) float64 {
	if powers(mu, s.power(p)) <= 1+feasible {
		return 0
	}
	return math.Inf(1)
}

func (s ssnr) Support(t *mat.SymDense, _ *Covariance, p Params) float64 {
	return s.support(eigenvalues(t), p)
}

// support is the norm of the eigenvalues of T that is dual to the r-norm.
func (s ssnr) support(values []float64, p Params) float64 {
	r := s.power(p)
	if r < 1 {
		return math.NaN()
	}
	top := values[len(values)-1]
	if r == 1 || top == 0 {
		return top
	}
	q := r / (r - 1)
	sum := 0.0
	for _, v := range values {
		sum += math.Pow(v/top, q)
	}
	return top * math.Pow(sum, 1/q)
}
