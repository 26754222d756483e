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
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

func init() {
	Register(spats{})
	Register(spatsLiteral{})
}

type spats struct{}

func (spats) Info() Info {
	return Info{
		Name: "spats", Title: "SPATS", Source: "Zhang and Yang 2017, with tr(Omega) = 1", MostTasks: 20,
		Ranges: []Range{lambda1Range, {Name: Lambda2, Default: 1e-2, Low: 1e-3, High: 1, Log: true}},
	}
}

func (spats) G(c *Covariance, _ int, _ Params) float64 {
	e, err := Eigen(c.Omega)
	if err != nil {
		return math.NaN()
	}
	if math.Abs(mat.Trace(c.Omega)-1) > feasible || e.Values[0] < -feasible {
		return math.Inf(1)
	}
	return norm1(c.Omega)
}

// Step lowers mu, with up to two steps of Newton's method at each, and as many as it takes at
// the last. They minimise
//
//	Lambda1/2 tr(S (Omega + c I)^-1) - mu ln|Omega| + sum_{i<j} 2 Lambda2 T_ij - mu ln(T_ij^2 - Omega_ij^2)
//
// over Omega and T, subject to tr(Omega) = 1. The minimum is within m^2 mu of the step itself.
func (spats) Step(s *mat.SymDense, _ int, p Params, h Hint) (*Covariance, error) {
	if err := checkFinite(s); err != nil {
		return nil, err
	}
	m := s.SymmetricDim()
	x := &barrier{s: s, l1: p.Lambda1, l2: p.Lambda2, shift: h.Shift}
	x.moveTo(Uniform(m))
	scale := x.l1/2*dot(s, x.inverse) + x.l2
	// Closer than that, rounding errors of S outside of the range of Omega count.
	enough := cmp.Or(h.Enough, 1e-9*scale)
	last := enough / float64(m*m)
	x.mu = 0.1 * scale
	if h.From != nil {
		x.mu = min(x.mu, 30*last) // a short way from a step nearby
		x.moveTo(h.From.Omega)
	}
	for ; x.mu > last; x.mu *= 0.3 {
		x.center(2, 0.1)
	}
	x.mu = last
	x.center(50, 1e-10)
	return &Covariance{Omega: x.omega, Gap: enough, multiplier: x.multiplier}, nil
}

// barrier is the function that Step minimises, at one Omega.
type barrier struct {
	s                 *mat.SymDense
	l1, l2, shift, mu float64
	omega             *mat.SymDense
	inverse, shifted  *mat.SymDense // of Omega and of Omega + c I
	multiplier        *mat.SymDense // the slopes of the norm, less than Lambda2 in size
	value             float64
}

// moveTo moves to an Omega, and reports whether it is positive definite.
func (x *barrier) moveTo(omega *mat.SymDense) bool {
	moved := mat.NewSymDense(omega.SymmetricDim(), nil)
	moved.CopySym(omega)
	addSym(moved, x.shift, identity(omega.SymmetricDim(), 1))
	inverse, logDet, ok := inverted(omega)
	if !ok {
		return false
	}
	if x.shifted, _, ok = inverted(moved); !ok {
		return false
	}
	x.omega, x.inverse, x.value = omega, inverse, x.l1/2*dot(x.s, x.shifted)-x.mu*logDet
	x.multiplier = mat.NewSymDense(omega.SymmetricDim(), nil)
	for i := range omega.SymmetricDim() {
		for j := range i {
			v := omega.At(i, j)
			t, _ := x.size(v)
			x.value += 2*x.l2*t - x.mu*math.Log(t*t-v*v)
			x.multiplier.SetSym(i, j, x.l2*v/t)
		}
	}
	return true
}

// size returns the t that minimises 2 Lambda2 t - mu ln(t^2 - v^2), which stands for the
// absolute value of a pair of entries v, and its slope.
func (x *barrier) size(v float64) (t, slope float64) {
	root := math.Hypot(x.mu, 2*x.l2*v)
	return (x.mu + root) / (2 * x.l2), 2 * x.l2 * v / root
}

// center takes steps until one promises no more than enough of mu.
func (x *barrier) center(most int, enough float64) {
	for x.moveTo(x.omega); most > 0 && x.advance(enough*x.mu); most-- {
	}
}

// advance takes a step of Newton's method, and reports whether it promised and brought more
// than enough. The entries on and below the diagonal are the variables, in an orthonormal basis of the
// symmetric matrices; the trace stays.
func (x *barrier) advance(enough float64) bool {
	m := x.omega.SymmetricDim()
	gradient := sandwich(x.shifted, x.s)
	gradient.ScaleSym(-x.l1/2, gradient)
	addSym(gradient, 1, x.multiplier)
	addSym(gradient, -x.mu, x.inverse)
	var at [][2]int
	var slopes, trace, unit []float64
	for i := range m {
		for j := range i + 1 {
			f, t := math.Sqrt2, 0.0
			if i == j {
				f, t = 1, 1
			}
			at, trace, unit = append(at, [2]int{i, j}), append(trace, t), append(unit, f/math.Sqrt2)
			slopes = append(slopes, f*gradient.At(i, j))
		}
	}
	matrix := x.hessian(at, unit)
	addSym(matrix, 1e-15*mat.Trace(matrix), identity(len(at), 1)) // for rounding errors
	u, ok := cholesky(matrix)
	if !ok {
		return false
	}
	along, move := slices.Clone(trace), slices.Clone(slopes)
	solve(u, along)
	solve(u, move)
	add(-inner(trace, move)/inner(trace, along), along, move)
	slope := -inner(slopes, move)
	if !(slope < -enough) {
		return false
	}
	before := *x
	for t := 1.0; t > 1e-8; t /= 2 {
		next := mat.NewSymDense(m, nil)
		for a, ij := range at {
			next.SetSym(ij[0], ij[1], before.omega.At(ij[0], ij[1])-t*move[a]/(unit[a]*math.Sqrt2))
		}
		next.ScaleSym(1/mat.Trace(next), next) // which is 1 but for rounding errors
		if x.moveTo(next) && x.value <= before.value+1e-4*t*slope+1e-15*math.Abs(before.value) {
			return true
		}
		*x = before
	}
	return false
}

// hessian is that of the barrier in these variables.
func (x *barrier) hessian(at [][2]int, unit []float64) *mat.SymDense {
	p, r, k := mat.DenseCopyOf(x.inverse), mat.DenseCopyOf(x.shifted), mat.DenseCopyOf(sandwich(x.shifted, x.s))
	h := mat.NewSymDense(len(at), nil)
	for a, ij := range at {
		i, j := ij[0], ij[1]
		pi, pj, ri, rj, ki, kj := p.RawRowView(i), p.RawRowView(j), r.RawRowView(i), r.RawRowView(j), k.RawRowView(i), k.RawRowView(j)
		row := h.RawSymmetric().Data[a*len(at):][:len(at)]
		for b := a; b < len(at); b++ {
			u, v := at[b][0], at[b][1]
			sum := x.mu * (pi[u]*pj[v] + pi[v]*pj[u])
			sum += x.l1 / 2 * (ri[u]*kj[v] + ri[v]*kj[u] + ki[u]*rj[v] + ki[v]*rj[u])
			row[b] = unit[a] * unit[b] * sum
		}
		if i != j {
			v := x.omega.At(i, j)
			t, slope := x.size(v)
			row[a] += x.l2 / t * (1 - v*slope/t)
		}
	}
	return h
}

// Support bounds max <T, Omega> - Lambda2 ||Omega||_1 by the largest eigenvalue
// of T - U, less Lambda2: any U with zero diagonal and |U_ij| <= Lambda2 will do,
// and that of the step at the optimum attains the maximum.
func (spats) Support(t *mat.SymDense, c *Covariance, p Params) float64 {
	rest := identity(t.SymmetricDim(), -p.Lambda2)
	addSym(rest, 1, t)
	if c != nil && c.multiplier != nil {
		addSym(rest, -1, c.multiplier)
	}
	e, err := Eigen(rest)
	if err != nil {
		return math.NaN()
	}
	return floats.Max(e.Values)
}

type spatsLiteral struct{}

func (spatsLiteral) Info() Info {
	return Info{
		Name: "spats-literal", Title: "SPATS (literal)", Source: "Zhang and Yang 2017",
		Ranges: []Range{lambda1Range, {Name: Lambda2, Default: 1e-2, Low: 1e-2, High: 1e-2, Log: true}},
	}
}

func (spatsLiteral) G(c *Covariance, _ int, _ Params) float64 { return norm1(c.Omega) }

func (spatsLiteral) Step(s *mat.SymDense, _ int, p Params, h Hint) (*Covariance, error) {
	m := s.SymmetricDim()
	omega := mat.NewSymDense(m, nil)
	for i := range m {
		omega.SetSym(i, i, max(0, math.Sqrt(p.Lambda1/(2*p.Lambda2)*s.At(i, i))-h.Shift))
	}
	return &Covariance{Omega: omega}, nil
}

// Support is 0 or +Inf: no entry of T is larger than its largest on the diagonal.
func (spatsLiteral) Support(t *mat.SymDense, _ *Covariance, p Params) float64 {
	for i := range t.SymmetricDim() {
		if t.At(i, i) > p.Lambda2 {
			return math.Inf(1)
		}
	}
	return 0
}
