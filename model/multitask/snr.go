package multitask

// Schatten norm regularisation.
//
//	sum of losses + Lambda1/2 tr(W Omega^-1 W') + Lambda2 tr(Omega^r)
//	= sum of losses + Lambda_r |||W|||^q with the Schatten norm q = 2r/(r+1),
//	  Lambda_r = (1 + 1/r) (Lambda1^r Lambda2 r / 2^r)^(1/(r+1))
//
//	g(Omega)    tr(Omega^r)
//	Omega step  (Lambda1/(2 Lambda2 r))^(1/(r+1)) (W'W)^(1/(r+1))
//	source      Zhang, Wei, Yang, "Learning to Multitask", theorem 1; r = 1 is
//	            the trace norm of Pong et al. 2010
//
// The problem is convex for r >= 1. Only Lambda_r matters to W, so the search
// leaves Lambda2 alone.

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

func init() {
	Register(snr{name: "snr1", title: "SNR1", r: 1})
	Register(snr{name: "snr2", title: "SNR2", r: 2})
	Register(snr{name: "snr", title: "SNR"})
}

// snr has a fixed r, or r = 0 and the hyperparameter "r".
type snr struct {
	name, title string
	r           float64
}

// rRange is the exponent of the Schatten models.
var rRange = Range{Name: "r", Default: 1, Low: 0.5, High: 4, Log: true}

func (s snr) Info() Info {
	info := Info{
		Name: s.name, Title: s.title, Source: "Zhang et al. 2018", Singular: true,
		Ranges: []Range{lambda1Range, {Name: Lambda2, Default: 1e-2, Low: 1e-2, High: 1e-2, Log: true}},
	}
	if s.r == 0 {
		info.Ranges = append(info.Ranges, rRange)
	}
	return info
}

func (s snr) power(p Params) float64 {
	if s.r == 0 {
		return p.Get("r")
	}
	return s.r
}

func (s snr) spectrum(mu, values []float64, p Params) {
	r := s.power(p)
	for i, v := range values {
		mu[i] = math.Pow(p.Lambda1/(2*p.Lambda2*r)*v, 1/(r+1))
	}
}

// splits is true of the trace norm. Newton's method gets on with the others.
func (s snr) splits(p Params) bool { return s.power(p) == 1 }

func (s snr) proximal(mu, values []float64, c float64, p Params) {
	r := s.power(p)
	for i, v := range values {
		mu[i] = shifted(v, c, 2*p.Lambda2*r/p.Lambda1, r)
	}
}

// shifted returns the mu that minimises s/(mu + c) + nu/r mu^r, for r >= 1.
func shifted(s, c, nu, r float64) float64 {
	if r == 1 || s == 0 {
		return max(0, math.Sqrt(s/nu)-c)
	}
	// In y = ln mu the slope's root is that of an increasing, convex function. From
	// beyond it, where it would be with c = 0, Newton's method descends to it.
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

func (s snr) Step(w2 *mat.SymDense, _ int, p Params) (*Covariance, error) {
	return spectralStep(s, w2, p)
}

func (s snr) G(c *Covariance, _ int, p Params) float64 {
	return s.value(eigenvalues(c.Omega), p)
}

func (s snr) value(mu []float64, p Params) float64 { return powers(mu, s.power(p)) }

func (s snr) Support(t *mat.SymDense, _ *Covariance, p Params) float64 {
	return s.support(eigenvalues(t), p)
}

// support is the sum over the eigenvalues t of T of the maximum of
// t mu - Lambda2 mu^r over mu >= 0.
func (s snr) support(values []float64, p Params) float64 {
	r := s.power(p)
	if r < 1 {
		return math.NaN()
	}
	if r == 1 {
		if values[len(values)-1] <= p.Lambda2 {
			return 0
		}
		return math.Inf(1)
	}
	sum := 0.0
	for _, v := range values {
		mu := math.Pow(v/(p.Lambda2*r), 1/(r-1))
		sum += v * mu * (1 - 1/r)
	}
	return sum
}

func (s snr) domain(t *mat.SymDense, p Params) float64 {
	if top := largest(t); s.power(p) == 1 && top > 0 {
		return p.Lambda2 / top
	}
	return 1
}
