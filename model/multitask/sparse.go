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
func sparseStep(s *mat.SymDense, l1, l2 float64) (*Covariance, error) {
	const iterations = 200
	m := s.SymmetricDim()
	e, err := Eigen(s)
	if err != nil {
		return nil, err
	}
	top := e.Values[m-1]
	if top <= 0 {
		return &Covariance{Omega: identity(m, 1/float64(m))}, nil
	}
	// With S/top and the penalties by l1 top the numbers are of order one. A
	// floor at rounding level keeps Omega definite.
	f := mat.NewDense(m, m, nil)
	root := 0.0
	for k, v := range e.Values {
		q := math.Sqrt(max(v/top, 1e-16))
		root += q
		for i := range m {
			f.Set(i, k, e.Vectors.At(i, k)*q)
		}
	}
	dual := &sparseDual{f: f, bound: l2 / (l1 * top), m: m}
	dual.u = mat.NewSymDense(m, nil)
	dual.nu = root * root / 2
	if err := dual.place(); err != nil {
		return nil, err
	}
	best, gap := (*mat.SymDense)(nil), math.Inf(1)
	for range iterations {
		omega := normalised(dual.omega)
		value, err := dual.primal(omega)
		if err != nil {
			return nil, err
		}
		if g := value - dual.value; g < gap {
			best, gap = omega, g
		}
		if gap <= 1e-14*value {
			break
		}
		moved, err := dual.advance()
		if err != nil {
			return nil, err
		}
		if !moved {
			break
		}
	}
	return &Covariance{Omega: best, Gap: math.Max(gap, 0) * l1 * top}, nil
}

// sparseDual is the dual at one point, in units in which l1 is 1 and the
// largest eigenvalue of S too.
type sparseDual struct {
	m     int
	f     *mat.Dense // S = F F'
	bound float64    // of the entries of U
	u     *mat.SymDense
	nu    float64

	value   float64
	omega   *mat.SymDense
	image   *mat.Dense // Y = F V with V the eigenvectors of F'M F
	weights []float64  // square roots of the eigenvalues of F'M F
}

// place evaluates the dual at u and nu; its value is -Inf outside of the
// domain, where M is not positive definite.
func (x *sparseDual) place() error {
	inside := mat.NewSymDense(x.m, nil)
	var mf mat.Dense
	mf.Mul(x.shifted(), x.f)
	var k mat.Dense
	k.Mul(x.f.T(), &mf)
	for i := range x.m {
		for j := range i + 1 {
			inside.SetSym(i, j, (k.At(i, j)+k.At(j, i))/2)
		}
	}
	e, err := Eigen(inside)
	if err != nil {
		return err
	}
	if e.Values[0] <= 0 {
		x.value = math.Inf(-1)
		return nil
	}
	x.weights = make([]float64, x.m)
	inverse := make([]float64, x.m)
	x.value = x.bound - x.nu
	for i, v := range e.Values {
		x.weights[i] = math.Sqrt(v)
		inverse[i] = math.Sqrt(0.5) / x.weights[i]
		x.value += math.Sqrt(2) * x.weights[i]
	}
	x.image = mat.NewDense(x.m, x.m, nil)
	x.image.Mul(x.f, e.Vectors)
	x.omega = (&Spectrum{Vectors: x.image}).Rebuild(inverse)
	return nil
}

// shifted returns M = U + nu I.
func (x *sparseDual) shifted() *mat.SymDense {
	m := mat.NewSymDense(x.m, nil)
	m.CopySym(x.u)
	for i := range x.m {
		m.SetSym(i, i, x.nu)
	}
	return m
}

// primal is the objective of the step at an Omega of trace 1.
func (x *sparseDual) primal(omega *mat.SymDense) (float64, error) {
	e, err := Eigen(omega)
	if err != nil {
		return 0, err
	}
	sum := x.bound * norm1(omega)
	for k, v := range e.Values {
		var row mat.VecDense
		row.MulVec(x.f.T(), e.Vectors.ColView(k))
		sum += mat.Dot(&row, &row) / (2 * v)
	}
	return sum, nil
}

// change returns the derivative of Omega along dM.
func (x *sparseDual) change(dm *mat.SymDense) *mat.Dense {
	var t, k mat.Dense
	t.Mul(dm, x.image)
	k.Mul(x.image.T(), &t)
	for i, a := range x.weights {
		for j, b := range x.weights {
			k.Set(i, j, -math.Sqrt(0.5)*k.At(i, j)/(a*b*(a+b)))
		}
	}
	t.Mul(x.image, &k)
	k.Mul(&t, x.image.T())
	return &k
}

// advance takes one Newton step in the variables that are not held at a bound
// by the gradient, projected onto the box.
func (x *sparseDual) advance() (bool, error) {
	m := x.m
	free := mat.NewSymDense(m, nil)
	gradient := mat.NewSymDense(m, nil) // of U, and of nu on the diagonal
	for i := range m {
		for j := range i {
			u, g := x.u.At(i, j), x.omega.At(i, j)
			if !(u >= x.bound && g >= 0 || u <= -x.bound && g <= 0) {
				free.SetSym(i, j, 1)
				gradient.SetSym(i, j, g)
			}
		}
	}
	slope := mat.Trace(x.omega) - 1
	dm, dnu := x.newton(free, gradient, slope)
	old, oldNu, before := x.u, x.nu, x.value
	for t := 1.0; t > 1e-12; t /= 2 {
		x.nu = oldNu + t*dnu
		x.u = mat.NewSymDense(m, nil)
		gain := slope * t * dnu
		for i := range m {
			for j := range i {
				v := min(max(old.At(i, j)+t*dm.At(i, j), -x.bound), x.bound)
				x.u.SetSym(i, j, v)
				gain += 2 * gradient.At(i, j) * (v - old.At(i, j))
			}
		}
		if err := x.place(); err != nil {
			return false, err
		}
		if x.value > before && x.value >= before+1e-4*gain {
			return true, nil
		}
	}
	x.u, x.nu = old, oldNu
	return false, x.place()
}

// newton solves -H (dU, dnu) = gradient on the free variables by conjugate
// gradients.
func (x *sparseDual) newton(free, gradient *mat.SymDense, slope float64) (*mat.SymDense, float64) {
	m := x.m
	// A direction is a symmetric matrix with dU off the diagonal and dnu all
	// along it; the inner product counts nu once.
	product := func(a, b *mat.SymDense) float64 {
		sum := a.At(0, 0) * b.At(0, 0)
		for i := range m {
			for j := range i {
				sum += 2 * a.At(i, j) * b.At(i, j)
			}
		}
		return sum
	}
	apply := func(dm *mat.SymDense) *mat.SymDense {
		h := x.change(dm)
		out := mat.NewSymDense(m, nil)
		trace := 0.0
		for i := range m {
			trace -= h.At(i, i)
			for j := range i {
				out.SetSym(i, j, -free.At(i, j)*(h.At(i, j)+h.At(j, i))/2)
			}
		}
		for i := range m {
			out.SetSym(i, i, trace)
		}
		return out
	}
	combine := func(a *mat.SymDense, c float64, b *mat.SymDense) {
		for i := range m {
			for j := range i + 1 {
				a.SetSym(i, j, a.At(i, j)+c*b.At(i, j))
			}
		}
	}
	rest, sum := mat.NewSymDense(m, nil), mat.NewSymDense(m, nil)
	rest.CopySym(gradient)
	for i := range m {
		rest.SetSym(i, i, slope)
	}
	dir := mat.NewSymDense(m, nil)
	dir.CopySym(rest)
	norm := product(rest, rest)
	first := norm
	for it := 0; it < 2*m*m+10 && norm > 1e-24*first; it++ {
		h := apply(dir)
		curvature := product(dir, h)
		if !(curvature > 0) {
			break
		}
		a := norm / curvature
		combine(sum, a, dir)
		combine(rest, -a, h)
		next := product(rest, rest)
		dir.ScaleSym(next/norm, dir)
		combine(dir, 1, rest)
		norm = next
	}
	return sum, sum.At(0, 0)
}
