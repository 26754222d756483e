package train

import (
	"math"

	"l2mt/model"
	"l2mt/model/settings"
)

// Move is a step of a number, given its value, its gradient, and two numbers that the optimiser
// remembers, zero at first. It returns how far the value moves, and the two numbers from now on,
// which are saved with a run.
type Move func(value, gradient, first, second float64) (step, newFirst, newSecond float64)

// Rule is an optimiser: its step at a rate, by the number of the step, from 1.
type Rule func(time int, rate float64) Move

// optimisers are the rules by name. They are filled by init functions alone.
var optimisers = map[string]Rule{
	"adam": adam, "momentum": momentum,
	"rmsprop": rootOf(decay, 1-decay), "adagrad": rootOf(1, 1),
}

// RegisterOptimiser makes an optimiser available under a name. It is for init alone, and
// panics if the name is taken.
func RegisterOptimiser(name string, r Rule) {
	settings.Register(optimisers, "optimiser", name, r)
}

// epsilon keeps divisions by a mean square finite.
const epsilon float64 = 1e-8

// adam is the optimiser of Kingma and Ba, with the numbers that they recommend,
//
//	m = beta1 m + (1 - beta1) g        v = beta2 v + (1 - beta2) g^2
//	p = p - rate (m/(1-beta1^t)) / (sqrt(v/(1-beta2^t)) + epsilon)
//
// with epsilon outside the square root.
func adam(time int, rate float64) Move {
	const beta1, beta2 float64 = 0.9, 0.999
	r := rate / (1 - math.Pow(beta1, float64(time)))
	root := 1 / math.Sqrt(1-math.Pow(beta2, float64(time)))
	return func(_, g, m, v float64) (float64, float64, float64) {
		m = beta1*m + (1-beta1)*g
		v = beta2*v + (1-beta2)*g*g
		return -r * m / (math.Sqrt(v)*root + epsilon), m, v
	}
}

// momentum is gradient descent by m = 0.9 m - rate g, p = p + m.
func momentum(_ int, rate float64) Move {
	return func(_, g, m, v float64) (float64, float64, float64) {
		m = 0.9*m - rate*g
		return m, m, v
	}
}

// decay is the share of the mean square that rmsprop keeps.
const decay float64 = 0.999

// rootOf divides by the root of v = keep v + add g^2: of a falling mean square (rmsprop), or of
// the sum of squares (adagrad).
func rootOf(keep, add float64) Rule {
	return func(_ int, rate float64) Move {
		return func(_, g, m, v float64) (float64, float64, float64) {
			v = keep*v + add*g*g
			return -rate * g / math.Sqrt(v+epsilon), m, v
		}
	}
}

// Optimiser moves the parameters of a network by a rule. Unlike Gorgonia's solvers it can be
// saved, and every parameter may have a rate of its own.
type Optimiser struct {
	rule Rule
	// Time is the number of steps done.
	Time int
	// First and Second are the numbers that the rule remembers, in the order of the parameters.
	First, Second model.Params
}

// NewOptimiser returns an optimiser at rest for parameters like p, by the name of its rule.
func NewOptimiser(name string, p model.Params) *Optimiser {
	zeros := p.Clone()
	for _, t := range zeros {
		clear(t.Value)
	}
	return &Optimiser{
		rule:   optimisers[name],
		First:  zeros,
		Second: zeros.Clone(),
	}
}

// Step moves the parameters by the gradient, each at its rate; the optimiser was made for both.
func (o *Optimiser) Step(p, gradient model.Params, rates []float64) {
	o.Time++
	for i, t := range p {
		move := o.rule(o.Time, rates[i])
		first := o.First[i].Value
		second := o.Second[i].Value
		for j, g := range gradient[i].Value {
			step, m, v := move(t.Value[j], g, first[j], second[j])
			first[j] = m
			second[j] = v
			t.Value[j] += step
		}
	}
}
