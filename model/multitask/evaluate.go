package multitask

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"l2mt/layers/linalg"
)

// Value is problem (1) at a point, with its parts: the losses, tr(W Omega^-1 W') and g(Omega).
type Value struct{ Objective, Losses, Trace, G float64 }

// Evaluate is problem (1) at weights W (d x m, or C d x m of C classes), biases and a covariance
// of the model. It is infinite where W has parts outside of the range of Omega.
func (p *TrainingSet) Evaluate(model Model, params Params,
	w *mat.Dense, b []float64, c *Covariance) (v Value, err error) {
	params, err = Complete(model, params)
	if err != nil {
		return v, err
	}
	columns := rowsOf(w)
	s := gram(columns, p.Tasks())
	v.Trace, err = traceTerm(s, c, params.Get("floor"))
	if err != nil {
		return v, err
	}
	v.G = model.G(c, p.cols, params)
	for i, t := range p.weighted(params).tasks {
		score := make([]float64, len(t.y))
		t.x.Mul(score, p.part(i, columns), 1)
		v.Losses += p.loss.sum(score, t.y, b[i], t.weights)
	}
	v.Objective = v.Losses + params.Lambda1/2*v.Trace
	if v.G != 0 {
		v.Objective += params.Lambda2 * v.G
	}
	return v, nil
}

// traceTerm is tr(S Omega^-1). Of AMTL Omega^-1 is (I - A)(I - A)' and a floor.
func traceTerm(s *mat.SymDense, c *Covariance, floor float64) (float64, error) {
	if c.A != nil {
		return dot(s, transferred(c.A, floor)), nil
	}
	e, err := linalg.Eigen(c.Omega)
	if err != nil {
		return 0, err
	}
	// Rounding errors outside of the range of Omega are squares: 1e-14 of S is 1e-7 of W.
	sum := 0.0
	remainder := 0.0
	for k, mu := range e.Values {
		u := e.Vectors.ColView(k)
		v := mat.Inner(u, s, u)
		if mu > rankTolerance*e.Values[len(e.Values)-1] {
			sum += v / mu
		} else {
			remainder += v
		}
	}
	if remainder > 1e-14*mat.Trace(s) {
		return math.Inf(1), nil
	}
	return sum, nil
}
