package multitask

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// boxed maximises a smooth concave function of M = U + nu I over symmetric U
// with |U_ij| <= bound and U_ii = 0, and over nu if that is free, less nu. The
// duals of the Omega steps with an l1 norm have this form. A projected Newton
// method holds the entries that the gradient presses against their bounds, and
// solves for the others: directly, or by conjugate gradients if they are many.
type boxed struct {
	bound func(i, j int) float64
	// free says that nu is a variable. It is 0 otherwise.
	free bool
	// at evaluates the function; it returns nil outside of its domain.
	at func(m *mat.SymDense) (*boxedPoint, error)

	u  *mat.SymDense
	nu float64
	*boxedPoint
}

// boxedPoint is the function at one M.
type boxedPoint struct {
	value    float64
	gradient *mat.SymDense
	// Along dM the gradient changes by Q (K o Q'dM Q) Q', with Q the image, K the
	// kernel, and o the product entry by entry.
	image, kernel *mat.Dense
}

// place moves to u and nu, and reports whether they are in the domain.
func (x *boxed) place(u *mat.SymDense, nu float64) (bool, error) {
	p, err := x.at(shifted(u, nu))
	if p == nil || err != nil {
		return false, err
	}
	x.u, x.nu, x.boxedPoint = u, nu, p
	return true, nil
}

// shifted returns U + nu I.
func shifted(u *mat.SymDense, nu float64) *mat.SymDense {
	m := mat.NewSymDense(u.SymmetricDim(), nil)
	m.CopySym(u)
	for i := range u.SymmetricDim() {
		m.SetSym(i, i, nu)
	}
	return m
}

// nearBound is how close to its bound, relative to it, an entry that the
// gradient presses against it counts as held. Were it to count only at the
// bound, entries on their way there would cut the steps of all others short.
const nearBound = 1e-3

// advance takes one step and reports whether it raised the function.
func (x *boxed) advance() (bool, error) {
	m := x.u.SymmetricDim()
	loose := mat.NewSymDense(m, nil)
	ascent := mat.NewSymDense(m, nil)
	held := mat.NewSymDense(m, nil) // the way of the others to their bounds
	for i := range m {
		for j := range i {
			u, g, b := x.u.At(i, j), x.gradient.At(i, j), x.bound(i, j)
			switch {
			case u >= b*(1-nearBound) && g >= 0:
				held.SetSym(i, j, b-u)
			case u <= -b*(1-nearBound) && g <= 0:
				held.SetSym(i, j, -b-u)
			default:
				loose.SetSym(i, j, 1)
				ascent.SetSym(i, j, g)
			}
		}
	}
	slope := 0.0
	if x.free {
		slope = mat.Trace(x.gradient) - 1
	}
	du, dnu, ok := x.direct(loose, ascent, slope)
	if !ok {
		du, dnu = x.newton(loose, ascent, slope)
	}
	addSym(du, 1, held)
	gradient := x.gradient
	old, oldNu, before := x.u, x.nu, x.value-x.nu
	for t := 1.0; t > 1e-7; t /= 2 {
		u := mat.NewSymDense(m, nil)
		gain := slope * t * dnu
		for i := range m {
			for j := range i {
				b := x.bound(i, j)
				v := min(max(old.At(i, j)+t*du.At(i, j), -b), b)
				u.SetSym(i, j, v)
				gain += 2 * gradient.At(i, j) * (v - old.At(i, j))
			}
		}
		start := x.boxedPoint
		inside, err := x.place(u, oldNu+t*dnu)
		if err != nil {
			return false, err
		}
		if after := x.value - x.nu; inside && after > before && after >= before+1e-4*gain {
			return true, nil
		}
		x.u, x.nu, x.boxedPoint = old, oldNu, start
	}
	return false, nil
}

// direct is newton by a Cholesky factorisation. It refuses systems of more than
// largestSupport unknowns, and singular ones.
//
// With p_ik the product, entry by entry, of rows i and k of the image, the
// entry (ij), (kl) of -H is -2 (p_ik'K p_jl + p_il'K p_jk).
func (x *boxed) direct(loose, ascent *mat.SymDense, slope float64) (du *mat.SymDense, dnu float64, ok bool) {
	m := loose.SymmetricDim()
	var pairs [][2]int
	for i := range m {
		for j := range i {
			if loose.At(i, j) != 0 {
				pairs = append(pairs, [2]int{i, j})
			}
		}
	}
	size := len(pairs)
	if x.free {
		size++
	}
	du = mat.NewSymDense(m, nil)
	if size == 0 || size > largestSupport {
		return du, 0, size == 0
	}
	fourth := x.fourth()
	system, right := mat.NewSymDense(size, nil), make([]float64, size)
	for a, ij := range pairs {
		i, j := ij[0], ij[1]
		right[a] = 2 * ascent.At(i, j)
		for b, kl := range pairs[:a+1] {
			k, l := kl[0], kl[1]
			system.SetSym(a, b, -2*(fourth(i, k, j, l)+fourth(i, l, j, k)))
		}
		if x.free {
			sum := 0.0
			for k := range m {
				sum -= 2 * fourth(i, k, j, k)
			}
			system.SetSym(a, size-1, sum)
		}
	}
	if x.free {
		right[size-1] = slope
		sum := 0.0
		for i := range m {
			for k := range m {
				sum -= fourth(i, k, i, k)
			}
		}
		system.SetSym(size-1, size-1, sum)
	}
	step, ok := solvePositive(system, right)
	if !ok {
		return nil, 0, false
	}
	for a, ij := range pairs {
		du.SetSym(ij[0], ij[1], step[a])
	}
	if x.free {
		dnu = step[size-1]
	}
	return du, dnu, true
}

// fourth returns the function p_ik'K p_jl of i, k, j and l.
func (x *boxed) fourth() func(i, k, j, l int) float64 {
	m, n := x.image.Dims()
	p, kp := make([]float64, m*m*n), mat.NewDense(m*m, n, nil)
	for i := range m {
		for k := range m {
			floats.MulTo(p[(i*m+k)*n:][:n], x.image.RawRowView(i), x.image.RawRowView(k))
		}
	}
	kp.Mul(mat.NewDense(m*m, n, p), x.kernel)
	return func(i, k, j, l int) float64 {
		return inner(p[(i*m+k)*n:][:n], kp.RawRowView(j*m+l))
	}
}

// solvePositive solves a positive definite system, with a ridge where rounding
// errors make it singular.
func solvePositive(system *mat.SymDense, right []float64) ([]float64, bool) {
	n := len(right)
	var chol mat.Cholesky
	for range 4 {
		if chol.Factorize(system) {
			var x mat.VecDense
			// An ill-conditioned system only makes the step less good.
			_ = chol.SolveVecTo(&x, mat.NewVecDense(n, right))
			return x.RawVector().Data, true
		}
		ridge := 1e-13 * mat.Trace(system)
		for i := range n {
			system.SetSym(i, i, system.At(i, i)*(1+1e-10)+ridge)
		}
	}
	return nil, false
}

// newton solves -H (dU, dnu) = (ascent, slope) on the loose entries. A
// direction is a symmetric matrix with dU off the diagonal and dnu all along
// it; the inner product counts dnu once.
func (x *boxed) newton(loose, ascent *mat.SymDense, slope float64) (*mat.SymDense, float64) {
	m := loose.SymmetricDim()
	rest, sum, dir := mat.NewSymDense(m, nil), mat.NewSymDense(m, nil), mat.NewSymDense(m, nil)
	rest.CopySym(ascent)
	for i := range m {
		rest.SetSym(i, i, slope)
	}
	dir.CopySym(rest)
	norm := boxedProduct(rest, rest)
	first := norm
	for it := 0; it < 2*m*m+10 && norm > 1e-24*first; it++ {
		h := x.curvature(dir, loose)
		c := boxedProduct(dir, h)
		if !(c > 0) {
			break
		}
		a := norm / c
		addSym(sum, a, dir)
		addSym(rest, -a, h)
		next := boxedProduct(rest, rest)
		dir.ScaleSym(next/norm, dir)
		addSym(dir, 1, rest)
		norm = next
	}
	return sum, sum.At(0, 0)
}

// curvature returns -H dM on the loose entries.
func (x *boxed) curvature(dm, loose *mat.SymDense) *mat.SymDense {
	m := dm.SymmetricDim()
	var turned, h mat.Dense
	turned.Mul(x.image.T(), dm)
	h.Mul(&turned, x.image)
	h.MulElem(&h, x.kernel)
	turned.Mul(x.image, &h)
	h.Reset()
	h.Mul(&turned, x.image.T())
	out := mat.NewSymDense(m, nil)
	trace := 0.0
	for i := range m {
		trace -= h.At(i, i)
		for j := range i {
			out.SetSym(i, j, -loose.At(i, j)*(h.At(i, j)+h.At(j, i))/2)
		}
	}
	if x.free {
		for i := range m {
			out.SetSym(i, i, trace)
		}
	}
	return out
}

func boxedProduct(a, b *mat.SymDense) float64 {
	sum := a.At(0, 0) * b.At(0, 0)
	for i := range a.SymmetricDim() {
		for j := range i {
			sum += 2 * a.At(i, j) * b.At(i, j)
		}
	}
	return sum
}

// addSym adds c b to a.
func addSym(a *mat.SymDense, c float64, b *mat.SymDense) {
	for i := range a.SymmetricDim() {
		for j := range i + 1 {
			a.SetSym(i, j, a.At(i, j)+c*b.At(i, j))
		}
	}
}
