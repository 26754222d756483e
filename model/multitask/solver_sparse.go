package multitask

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// sparseStep minimises
//
//	l1/2 tr(S Omega^-1) + l2 ||Omega||_1 subject to tr(Omega) = 1.
//
// Given M, the minimum of l1/2 tr(S Omega^-1) + <M, Omega> over all Omega is
// sqrt(2 l1) tr (F'M F)^(1/2) for S = F F', at
// Omega = sqrt(l1/2) F (F'M F)^(-1/2) F'. The dual is therefore
//
//	maximise sqrt(2 l1) tr (F'M F)^(1/2) - nu + l2 with M = U + nu I
//	over nu and |U_ij| <= l2, U_ii = 0,
//
// a smooth concave function in a box. A projected Newton method maximises it
// until its value meets that of Omega, scaled to trace 1.
func sparseStep(s *mat.SymDense, l1, l2 float64, h hint) (*Covariance, error) {
	m := s.SymmetricDim()
	e, err := Eigen(s)
	if err != nil {
		return nil, err
	}
	top := e.Values[m-1]
	if top <= 0 {
		return &Covariance{Omega: identity(m, 1/float64(m))}, nil
	}
	// With S/top and the penalties by l1 top the numbers are of order one.
	unit := l1 * top
	scale(1/top, e.Values)
	x := &sparse{s: mat.NewSymDense(m, nil), spectrum: e, bound: l2 / unit, enough: h.enough / unit, gap: math.Inf(1)}
	x.s.ScaleSym(1/top, s)
	x.dual = &boxed{free: true, bound: func(int, int) float64 { return x.bound }}
	if h.from != nil && h.from.multiplier != nil {
		x.dual.u, x.dual.nu = clipped(h.from.multiplier, unit, x.bound), h.from.trace/unit
		for floor := max(h.floor/top, sparseFloor); floor >= sparseFloor && x.gap > x.enough; floor /= 10 {
			if err := x.solve(floor, 12); err != nil {
				return nil, err
			}
		}
	}
	if x.gap > max(1e-10*x.value, x.enough) {
		x.restart()
		if err := x.solve(sparseFloor, 50); err != nil {
			return nil, err
		}
	}
	if x.gap > max(1e-10*x.value, x.enough) {
		// Omega has a larger range than S, so that M is nearly singular. A
		// floor that shrinks leads there as the barrier of an interior point
		// method does.
		x.restart()
		for floor := 0.1; floor > sparseFloor && x.gap > x.enough; floor /= 10 {
			if err := x.solve(floor, 12); err != nil {
				return nil, err
			}
		}
	}
	c := &Covariance{Omega: x.omega, Gap: math.Max(x.gap, 0) * unit, multiplier: mat.NewSymDense(m, nil), trace: x.nu * unit}
	c.multiplier.ScaleSym(unit, x.multiplier)
	return c, nil
}

// clipped returns U/unit within the bound.
func clipped(u *mat.SymDense, unit, bound float64) *mat.SymDense {
	m := u.SymmetricDim()
	c := mat.NewSymDense(m, nil)
	for i := range m {
		for j := range i {
			c.SetSym(i, j, min(max(u.At(i, j)/unit, -bound), bound))
		}
	}
	return c
}

// restart puts the dual at U = 0 and the best nu for that.
func (x *sparse) restart() {
	x.dual.u, x.dual.nu = mat.NewSymDense(len(x.spectrum.Values), nil), 0
	for _, v := range x.spectrum.Values {
		x.dual.nu += math.Sqrt(max(v, 0))
	}
	x.dual.nu *= x.dual.nu / 2
}

// sparseFloor is the least eigenvalue of S, relative to the largest, that the
// dual works with.
const sparseFloor = 1e-12

// sparse is one sparseStep in units in which l1 and the largest eigenvalue of
// S are 1.
type sparse struct {
	s        *mat.SymDense
	spectrum *Spectrum
	bound    float64
	dual     *boxed
	enough   float64

	// The best point so far, its objective and the gap to the dual.
	omega, multiplier *mat.SymDense
	nu, value, gap    float64
}

// solve maximises the dual with a floor on the eigenvalues of S, and keeps the
// best Omega for S itself on the way.
func (x *sparse) solve(floor float64, iterations int) error {
	f := x.factor(floor)
	x.dual.at = func(m *mat.SymDense) (*boxedPoint, error) { return fidelity(f, m) }
	if inside, err := x.dual.place(x.dual.u, x.dual.nu); err != nil || !inside {
		return err
	}
	used := x.factor(0)
	for range iterations {
		omega, value, err := sparsePrimal(normalised(x.dual.gradient), x.s, x.bound)
		if err != nil {
			return err
		}
		lower, err := fidelity(used, shifted(x.dual.u, x.dual.nu))
		if err != nil {
			return err
		}
		if lower != nil {
			if gap := value - (lower.value - x.dual.nu + x.bound); gap < x.gap {
				x.omega, x.multiplier, x.nu, x.value, x.gap = omega, x.dual.u, x.dual.nu, value, gap
			}
		}
		if x.gap <= max(1e-14*x.value, x.enough) {
			return nil
		}
		if moved, err := x.dual.advance(); err != nil || !moved {
			return err
		}
	}
	return nil
}

// factor returns F with F F' = S, the floor put under its eigenvalues; without
// a floor it has the rank of S.
func (x *sparse) factor(floor float64) *mat.Dense {
	m := len(x.spectrum.Values)
	first := 0
	for floor == 0 && x.spectrum.Values[first] <= 1e-14 {
		first++
	}
	f := mat.NewDense(m, m-first, nil)
	for k := first; k < m; k++ {
		q := math.Sqrt(max(x.spectrum.Values[k], floor))
		for i := range m {
			f.Set(i, k-first, x.spectrum.Vectors.At(i, k)*q)
		}
	}
	return f
}

// sparsePrimal returns an Omega of trace 1 and the objective of the step there.
// Directions that only the floor keeps in Omega are left out if that is better.
func sparsePrimal(omega, s *mat.SymDense, bound float64) (*mat.SymDense, float64, error) {
	e, err := Eigen(omega)
	if err != nil {
		return nil, 0, err
	}
	value := traceInverse(s, e)/2 + bound*norm1(omega)
	if e.Values[0] > 1e2*math.Sqrt(sparseFloor) {
		return omega, value, nil
	}
	for k, mu := range e.Values {
		if mu <= 1e2*math.Sqrt(sparseFloor) {
			e.Values[k] = 0
		}
	}
	cut := normalised(e.Rebuild(e.Values))
	if e, err = Eigen(cut); err != nil {
		return nil, 0, err
	}
	if v := traceInverse(s, e)/2 + bound*norm1(cut); v < value {
		return cut, v, nil
	}
	return omega, value, nil
}

// fidelity is sqrt(2) tr (F'M F)^(1/2) as a function of M, positive definite.
// Its gradient is sqrt(1/2) F (F'M F)^(-1/2) F'.
func fidelity(f *mat.Dense, m *mat.SymDense) (*boxedPoint, error) {
	_, n := f.Dims()
	var mf, fmf mat.Dense
	mf.Mul(m, f)
	fmf.Mul(f.T(), &mf)
	inside := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			inside.SetSym(i, j, (fmf.At(i, j)+fmf.At(j, i))/2)
		}
	}
	e, err := Eigen(inside)
	if err != nil || e.Values[0] <= 0 {
		return nil, err
	}
	p := &boxedPoint{image: &mat.Dense{}, kernel: mat.NewDense(n, n, nil)}
	roots, inverse := make([]float64, n), make([]float64, n)
	for i, v := range e.Values {
		roots[i] = math.Sqrt(v)
		inverse[i] = math.Sqrt(0.5) / roots[i]
		p.value += math.Sqrt(2) * roots[i]
	}
	for i, a := range roots {
		for j, b := range roots {
			p.kernel.Set(i, j, -math.Sqrt(0.5)/(a*b*(a+b)))
		}
	}
	p.image.Mul(f, e.Vectors)
	p.gradient = (&Spectrum{Vectors: p.image}).Rebuild(inverse)
	return p, nil
}
