package multitask

// Sparse task relations: Omega itself is sparse.
//
//	sum of losses + Lambda1/2 tr(W Omega^-1 W') + Lambda2 ||Omega||_1
//	  subject to tr(Omega) = 1
//
//	g(Omega)    ||Omega||_1 over all entries where tr(Omega) = 1, else +Inf
//	Omega step  an interior point method
//	source      Zhang, Yang, "Learning sparse task relations in multi-task
//	            learning", AAAI 2017
//
// Without the constraint, as the paper has it, the step always gives
//
//	Omega = sqrt(Lambda1/(2 Lambda2)) diag(||w_1||, ..., ||w_m||)
//
// and the tasks share nothing; that is "spats-literal". Both are convex.

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/layers/linalg"
)

func init() {
	Register(spats{})
	Register(spatsLiteral{})
}

type spats struct{}

func (spats) Info() Info {
	return Info{
		Name: "spats", Title: "SPATS",
		Ranges: []Range{lambda1Range, {Lambda2, 1e-2, 1e-3, 1}},
	}
}

func (spats) G(c *Covariance, _ int, _ Params) float64 {
	e, err := linalg.Eigen(c.Omega)
	if err != nil {
		return math.NaN()
	}
	if math.Abs(mat.Trace(c.Omega)-1) > feasible || e.Values[0] < -feasible {
		return math.Inf(1)
	}
	return norm1(c.Omega)
}

// Step minimises
//
//	Lambda1/2 tr(S (Omega + c I)^-1) - mu ln|Omega| + sum_{i != j} (Lambda2^2 Omega_ij^2 + mu^2)^(1/2)
//
// subject to tr(Omega) = 1, which is within m^2 mu of the step itself. It lowers mu, with up to
// two steps of Newton's method at each, and as many as it takes at the last.
func (k spats) Step(s *mat.SymDense, _ int, p Params, h Hint) (*Covariance, error) {
	err := linalg.Finite(s)
	if err != nil {
		return nil, err
	}
	m := s.SymmetricDim()
	x := barrier{
		s:      s,
		params: p,
		shift:  h.Shift,
	}
	for i := range m {
		for j := range i {
			x.entries = append(x.entries, entry{i, j, 2})
		}
		x.entries = append(x.entries, entry{i, i, 1})
	}
	place := x.place(Uniform(m))
	scale := p.Lambda1/2*dot(s, place.inverse) + p.Lambda2
	// Closer than that, rounding errors of S outside of the range of Omega count.
	enough := cmp.Or(h.Enough, 1e-9*scale)
	last := enough / float64(m*m)
	x.mu = 0.1 * scale
	if h.From != nil {
		x.mu = min(x.mu, 30*last) // a short way from a step nearby
		place = x.place(h.From.Omega)
	}
	for ; x.mu > last; x.mu *= 0.3 {
		place = x.center(place, 2, 0.1)
	}
	x.mu = last
	place = x.center(place, 50, 1e-12)
	return &Covariance{
		Omega:      place.omega,
		Gap:        enough,
		multiplier: place.multiplier,
	}, nil
}

// barrier is the function that Step minimises.
type barrier struct {
	s         *mat.SymDense
	params    Params
	shift, mu float64 // c and mu
	entries   []entry // the variables: entries of Omega on and below the diagonal
}

// entry is at (i, j) of Omega, and at (j, i).
type entry struct {
	i, j  int
	times float64 // 2, and 1 on the diagonal
}

// interior is a point of its domain.
type interior struct {
	omega            *mat.SymDense
	inverse, shifted *mat.SymDense // of Omega and of Omega + c I
	multiplier       *mat.SymDense // the slopes of the norm, less than Lambda2 in size
	value            float64
}

// place is the barrier at an Omega, nil where that is not positive definite.
func (x *barrier) place(omega *mat.SymDense) *interior {
	m := omega.SymmetricDim()
	inverse, logDet, err := inverted(omega)
	if err != nil {
		return nil
	}
	above, _, _ := inverted(shifted(omega, x.shift))
	value := x.params.Lambda1/2*dot(x.s, above) - x.mu*logDet
	multiplier := mat.NewSymDense(m, nil)
	lambda2 := x.params.Lambda2
	for i := range m {
		for j := range i {
			v := omega.At(i, j)
			value += 2 * x.size(v)
			multiplier.SetSym(i, j, lambda2*lambda2*v/x.size(v))
		}
	}
	return &interior{omega, inverse, above, multiplier, value}
}

// size stands for Lambda2 times the absolute value of an entry, and is more by mu at most.
func (x *barrier) size(v float64) float64 {
	return math.Hypot(x.params.Lambda2*v, x.mu)
}

// center takes up to so many steps of Newton's method, until one promises no more than enough
// of mu. The trace stays.
func (x *barrier) center(from *interior, steps int, enough float64) *interior {
	place := x.place(from.omega) // mu is another
	for range steps {
		gradient := sandwich(place.shifted, x.s)
		gradient.ScaleSym(-x.params.Lambda1/2, gradient)
		addSym(gradient, 1, place.multiplier)
		addSym(gradient, -x.mu, place.inverse)
		slopes := mat.NewVecDense(len(x.entries), nil)
		trace := mat.NewVecDense(len(x.entries), nil)
		for a, e := range x.entries {
			slopes.SetVec(a, e.times*gradient.At(e.i, e.j))
			trace.SetVec(a, 2-e.times)
		}
		hessian := x.hessian(place)
		var root mat.Cholesky
		if !root.Factorize(shifted(hessian,
			1e-15*mat.Trace(hessian))) { // for rounding errors
			break
		}
		var along, move mat.VecDense
		root.SolveVecTo(&along, trace)
		root.SolveVecTo(&move, slopes)
		drift := mat.Dot(trace, &move) / mat.Dot(trace, &along)
		move.AddScaledVec(&move, -drift, &along)
		next := x.search(place, &move, -mat.Dot(slopes, &move), enough*x.mu)
		if next == nil {
			break
		}
		place = next
	}
	return place
}

// search goes back from Omega less the move until the barrier falls by a fair part of the
// slope's promise. It is nil where the promise is no more than enough, or nothing keeps it.
func (x *barrier) search(from *interior, move *mat.VecDense, slope, enough float64) *interior {
	for t := 1.0; t > 1e-8 && slope < -enough; t /= 2 {
		omega := mat.NewSymDense(x.s.SymmetricDim(), nil)
		for a, e := range x.entries {
			v := from.omega.At(e.i, e.j)
			omega.SetSym(e.i, e.j, v-t*move.AtVec(a))
		}
		omega.ScaleSym(1/mat.Trace(omega), omega) // the trace is 1 up to rounding errors
		next := x.place(omega)
		goal := from.value + 1e-4*t*slope + 1e-15*math.Abs(from.value)
		if next != nil && next.value <= goal {
			return next
		}
	}
	return nil
}

// hessian has the second derivatives of the barrier with respect to the entries.
func (x *barrier) hessian(place *interior) *mat.SymDense {
	k := sandwich(place.shifted, x.s)
	h := mat.NewSymDense(len(x.entries), nil)
	for a, e := range x.entries {
		for b, f := range x.entries[:a+1] {
			cross := func(p, q *mat.SymDense) float64 {
				straight := p.At(e.i, f.i) * q.At(e.j, f.j)
				return straight + p.At(e.i, f.j)*q.At(e.j, f.i)
			}
			sum := x.mu * cross(place.inverse, place.inverse)
			sum += x.params.Lambda1 / 2 *
				(cross(place.shifted, k) + cross(k, place.shifted))
			h.SetSym(a, b, e.times*f.times/2*sum)
		}
		if e.i != e.j {
			size := x.size(place.omega.At(e.i, e.j))
			bend := 2 * math.Pow(x.params.Lambda2*x.mu, 2)
			h.SetSym(a, a, h.At(a, a)+bend/math.Pow(size, 3))
		}
	}
	return h
}

// Support bounds max <T, Omega> - Lambda2 ||Omega||_1 by the largest eigenvalue
// of T - U, less Lambda2: any U with zero diagonal and |U_ij| <= Lambda2 will do,
// and the multiplier of the step at the optimum attains the maximum.
func (spats) Support(t *mat.SymDense, c *Covariance, p Params) float64 {
	rest := shifted(t, -p.Lambda2)
	if c != nil && c.multiplier != nil {
		addSym(rest, -1, c.multiplier)
	}
	e, err := linalg.Eigen(rest)
	if err != nil {
		return math.NaN()
	}
	return floats.Max(e.Values)
}

type spatsLiteral struct{}

func (spatsLiteral) Info() Info {
	return Info{
		Name: "spats-literal", Title: "SPATS (literal)",
		Ranges: []Range{lambda1Range, {Lambda2, 1e-2, 1e-2, 1e-2}},
	}
}

func (spatsLiteral) G(c *Covariance, _ int, _ Params) float64 {
	return norm1(c.Omega)
}

func (k spatsLiteral) Step(s *mat.SymDense, _ int, p Params, h Hint) (*Covariance, error) {
	m := s.SymmetricDim()
	omega := mat.NewSymDense(m, nil)
	for i := range m {
		root := math.Sqrt(p.Lambda1 / (2 * p.Lambda2) * s.At(i, i))
		omega.SetSym(i, i, max(0, root-h.Shift))
	}
	return &Covariance{Omega: omega}, nil
}

// Support is 0 or +Inf: no entry of T is larger than its largest on the diagonal.
func (spatsLiteral) Support(t *mat.SymDense, _ *Covariance, p Params) float64 {
	if mat.Max(t) > p.Lambda2 {
		return math.Inf(1)
	}
	return 0
}
