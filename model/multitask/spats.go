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

// Step lowers mu, under which Newton's method minimises
//
//	Lambda1/2 tr(S (Omega + c I)^-1) + Lambda2 sum_ij sqrt(Omega_ij^2 + (mu/Lambda2)^2) - mu ln|Omega|
//
// subject to tr(Omega) = 1, the sum being that of the pairs i != j. The minimum is within m^2 mu
// of the step itself.
func (spats) Step(s *mat.SymDense, _ int, p Params, h Hint) (*Covariance, error) {
	if err := checkFinite(s); err != nil {
		return nil, err
	}
	m := s.SymmetricDim()
	x := &barrier{s: s, l1: p.Lambda1, l2: p.Lambda2, shift: h.Shift, omega: Uniform(m)}
	x.moveTo(x.omega)
	pairs := float64(m * m)
	scale := x.l1/2*dot(s, x.inverse) + x.l2
	// Closer than that, rounding errors of S outside of the range of Omega count.
	enough := cmp.Or(h.Enough, 1e-9*scale)
	for x.mu = 0.1 * scale; ; x.mu *= 0.1 {
		rough, last := 1e-3, x.mu <= enough/pairs
		if last {
			rough, x.mu = 1e-10, enough/pairs
		}
		for range 50 {
			x.moveTo(x.omega)
			if !x.advance(rough * x.mu) {
				break
			}
		}
		if last {
			return &Covariance{Omega: x.omega, Precision: x.inverse, Gap: enough, multiplier: x.multiplier}, nil
		}
	}
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
	var plain, shifted cholesky
	moved := mat.NewSymDense(omega.SymmetricDim(), nil)
	moved.CopySym(omega)
	addSym(moved, x.shift, identity(omega.SymmetricDim(), 1))
	if !plain.factorize(omega) || !shifted.factorize(moved) {
		return false
	}
	x.omega, x.value = omega, -x.mu*plain.logDet()
	x.inverse, x.shifted = plain.inverse(), shifted.inverse()
	x.value += x.l1 / 2 * dot(x.s, x.shifted)
	x.multiplier = mat.NewSymDense(omega.SymmetricDim(), nil)
	for i := range omega.SymmetricDim() {
		for j := range i {
			v := omega.At(i, j)
			size := math.Hypot(v, x.mu/x.l2)
			x.value += 2 * x.l2 * size
			x.multiplier.SetSym(i, j, x.l2*v/size)
		}
	}
	return true
}

// advance takes a step of Newton's method, and reports whether it promised and brought more
// than enough. The entries on and below the diagonal are the variables, in an orthonormal basis of the
// symmetric matrices; the trace stays.
func (x *barrier) advance(enough float64) bool {
	m := x.omega.SymmetricDim()
	bent := sandwich(x.shifted, x.s)
	var at [][2]int
	var slopes, trace, unit []float64
	for i := range m {
		for j := range i + 1 {
			f, t := math.Sqrt2, 0.0
			if i == j {
				f, t = 1, 1
			}
			at, trace, unit = append(at, [2]int{i, j}), append(trace, t), append(unit, f/math.Sqrt2)
			slopes = append(slopes, f*(x.multiplier.At(i, j)-x.l1/2*bent.At(i, j)-x.mu*x.inverse.At(i, j)))
		}
	}
	p, r, k := x.inverse, x.shifted, bent
	matrix := mat.NewSymDense(len(at), nil)
	for a, ij := range at {
		i, j := ij[0], ij[1]
		for b := range at[:a+1] {
			u, v := at[b][0], at[b][1]
			sum := x.mu * (p.At(i, u)*p.At(j, v) + p.At(i, v)*p.At(j, u))
			sum += x.l1 / 2 * (r.At(i, u)*k.At(j, v) + r.At(i, v)*k.At(j, u) + k.At(i, u)*r.At(j, v) + k.At(i, v)*r.At(j, u))
			matrix.SetSym(a, b, unit[a]*unit[b]*sum)
		}
		if i != j {
			v, delta := x.omega.At(i, j), x.mu/x.l2
			size := math.Hypot(v, delta)
			matrix.SetSym(a, a, matrix.At(a, a)+x.l2*delta*delta/(size*size*size))
		}
	}
	var chol cholesky
	for ridge := 1e-15 * math.Abs(mat.Trace(matrix)); !chol.factorize(matrix); ridge *= 10 {
		if !(ridge < math.MaxFloat64) {
			return false
		}
		addSym(matrix, ridge, identity(len(at), 1))
	}
	along := slices.Clone(trace)
	chol.solve(along)
	move := slices.Clone(slopes)
	chol.solve(move)
	add(-inner(trace, move)/inner(trace, along), along, move)
	slope := -inner(slopes, move)
	if !(slope < -enough) {
		return false
	}
	before := *x
	for t := 1.0; t > 1e-8; t /= 2 {
		next := mat.NewSymDense(m, nil)
		for a, ij := range at {
			f := math.Sqrt2
			if ij[0] == ij[1] {
				f = 1
			}
			next.SetSym(ij[0], ij[1], before.omega.At(ij[0], ij[1])-t*move[a]/f)
		}
		next.ScaleSym(1/mat.Trace(next), next) // which is 1 but for rounding errors
		if x.moveTo(next) && x.value <= before.value+1e-4*t*slope+1e-15*math.Abs(before.value) {
			return true
		}
		*x = before
	}
	return false
}

// Support bounds max <T, Omega> - Lambda2 ||Omega||_1 by the largest eigenvalue
// of T - U, less Lambda2: any U with zero diagonal and |U_ij| <= Lambda2 will do,
// and that of the step at the optimum attains the maximum.
func (spats) Support(t *mat.SymDense, c *Covariance, p Params) float64 {
	m := t.SymmetricDim()
	rest := mat.NewSymDense(m, nil)
	for i := range m {
		for j := range i + 1 {
			v := t.At(i, j)
			if i != j {
				v = math.Copysign(max(0, math.Abs(v)-p.Lambda2), v)
			}
			rest.SetSym(i, j, v)
		}
	}
	bound := largest(rest)
	if c != nil && c.multiplier != nil {
		rest.CopySym(t)
		addSym(rest, -1, c.multiplier)
		bound = min(bound, largest(rest))
	}
	return bound - p.Lambda2
}

// largest returns the largest eigenvalue.
func largest(t *mat.SymDense) float64 {
	e, err := Eigen(t)
	if err != nil {
		return math.NaN()
	}
	return e.Values[len(e.Values)-1]
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
