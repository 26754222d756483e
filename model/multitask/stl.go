package multitask

// Single-task learning: every task on its own.
//
//	sum of losses + Lambda1/2 tr(W Omega^-1 W'), Omega = I/m
//
//	g(Omega)    0 at I/m, +Inf elsewhere
//	Omega step  I/m
//	source      Zhang, Wei, Yang, "Learning to Multitask", section 4
//
// With trace 1 like the other covariances the ridge penalty of a task is
// Lambda1 m/2 ||w_i||^2.

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

func init() {
	Register(held{
		info: Info{
			Name:   "stl",
			Title:  "STL",
			Ranges: []Range{lambda1Range},
		},
		omega: func(m int, _ Params) *mat.SymDense {
			return Uniform(m)
		},
	})
}

// Uniform is I/m, the covariance of trace 1 that shares nothing.
func Uniform(m int) *mat.SymDense {
	return identity(m, 1/float64(m))
}

// held is a model whose Omega does not follow W.
type held struct {
	info  Info
	omega func(m int, p Params) *mat.SymDense
}

// fixed is the model of a given covariance, with intercepts drawn together.
func fixed(omega *mat.SymDense, drawn float64) held {
	ranges := []Range{lambda1Range}
	if drawn > 0 {
		ranges = append(ranges, Range{
			Name:    Drawn,
			Default: drawn,
		})
	}
	return held{
		info: Info{
			Name:   "fixed",
			Title:  "given covariance",
			Ranges: ranges,
		},
		omega: func(int, Params) *mat.SymDense {
			return omega
		},
	}
}

func (k held) Info() Info {
	return k.info
}

func (k held) Step(s *mat.SymDense, _ int, p Params, _ Hint) (*Covariance, error) {
	return &Covariance{Omega: k.omega(s.SymmetricDim(), p)}, nil
}

// G is 0 at the one covariance that the model allows and +Inf elsewhere.
func (k held) G(c *Covariance, _ int, p Params) float64 {
	allowed := k.omega(c.Omega.SymmetricDim(), p)
	if mat.EqualApprox(c.Omega, allowed, feasible*mat.Max(allowed)) {
		return 0
	}
	return math.Inf(1)
}

func (k held) Support(t *mat.SymDense, _ *Covariance, p Params) float64 {
	return dot(t, k.omega(t.SymmetricDim(), p))
}
