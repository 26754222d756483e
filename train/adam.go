package train

import (
	"math"

	"l2mt/model"
)

// What Kingma and Ba recommend.
const beta1, beta2, epsilon float64 = 0.9, 0.999, 1e-8

// Adam is the optimiser of Kingma and Ba,
//
//	m = beta1 m + (1 - beta1) g        v = beta2 v + (1 - beta2) g^2
//	p = p - rate (m/(1-beta1^t)) / (sqrt(v/(1-beta2^t)) + epsilon)
//
// with epsilon outside the square root. Unlike Gorgonia's its state can be saved,
// and every parameter may have a rate of its own.
type Adam struct {
	// Time is t, the number of steps done.
	Time int
	// First and Second are m and v, in the order of the parameters.
	First, Second model.Params
}

// NewAdam returns an optimiser at rest for parameters like p.
func NewAdam(p model.Params) *Adam {
	a := &Adam{First: p.Clone(), Second: p.Clone()}
	for i := range p {
		clear(a.First[i].Value)
		clear(a.Second[i].Value)
	}
	return a
}

// Step moves the parameters against the gradient; both are those that the optimiser was
// made for. Rate gives the learning rate of each parameter.
func (a *Adam) Step(p, gradient model.Params, rate func(name string) float64) {
	a.Time++
	for i, t := range p {
		move(a.Time, t.Value, gradient[i].Value, a.First[i].Value, a.Second[i].Value, rate(t.Name))
	}
}

// move is step t for some numbers.
func move[T float32 | float64](t int, value, gradient, first, second []T, rate float64) {
	r := rate / (1 - math.Pow(beta1, float64(t)))
	root := 1 / math.Sqrt(1-math.Pow(beta2, float64(t)))
	for j, g := range gradient {
		g := float64(g)
		m := float64(first[j])
		v := float64(second[j])
		m = beta1*m + (1-beta1)*g
		v = beta2*v + (1-beta2)*g*g
		first[j], second[j] = T(m), T(v)
		value[j] -= T(r * m / (math.Sqrt(v)*root + epsilon))
	}
}
