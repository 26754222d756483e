package train

import (
	"math"

	"l2mt/model"
)

// Adam is the optimiser of Kingma and Ba,
//
//	m = beta1 m + (1 - beta1) g        v = beta2 v + (1 - beta2) g^2
//	p = p - rate (m/(1-beta1^t)) / (sqrt(v/(1-beta2^t)) + eps)
//
// with eps outside the square root. Unlike Gorgonia's its state can be saved,
// and every parameter may have a rate of its own.
type Adam struct {
	// Beta1, Beta2 and Eps are as above; NewAdam sets 0.9, 0.999 and 1e-8.
	Beta1, Beta2, Eps float64
	// Time is t, the number of steps done.
	Time int
	// First and Second are m and v, in the order of the parameters.
	First, Second model.Params
}

// NewAdam returns an optimiser at rest for parameters like p.
func NewAdam(p model.Params) *Adam {
	a := &Adam{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, First: p.Clone(), Second: p.Clone()}
	for i := range p {
		clear(a.First[i].Value)
		clear(a.Second[i].Value)
	}
	return a
}

// Step moves the parameters against the gradient; both are those that the optimiser was
// made for. Rate gives the learning rate
// of each parameter.
func (a *Adam) Step(p, gradient model.Params, rate func(name string) float64) {
	a.Time++
	for i, t := range p {
		move(a, t.Value, gradient[i].Value, a.First[i].Value, a.Second[i].Value, rate(t.Name))
	}
}

// head moves the weights of a head after the step that has moved the
// parameters. All its numbers are in single precision.
func (a *Adam) head(h, gradient, first, second model.Head, rate float64) {
	for i := range h {
		move(a, h[i].W, gradient[i].W, first[i].W, second[i].W, rate)
		move(a, h[i].B, gradient[i].B, first[i].B, second[i].B, rate)
	}
}

// move is step a.Time for some numbers.
func move[T float32 | float64](a *Adam, value, gradient, first, second []T, rate float64) {
	r := rate / (1 - math.Pow(a.Beta1, float64(a.Time)))
	root := 1 / math.Sqrt(1-math.Pow(a.Beta2, float64(a.Time)))
	for j, g := range gradient {
		g, m, v := float64(g), float64(first[j]), float64(second[j])
		m = a.Beta1*m + (1-a.Beta1)*g
		v = a.Beta2*v + (1-a.Beta2)*g*g
		first[j], second[j] = T(m), T(v)
		value[j] -= T(r * m / (math.Sqrt(v)*root + a.Eps))
	}
}
