package multitask

import (
	"gonum.org/v1/gonum/mat"
)

// boxed maximises a smooth concave function of M = U + nu I over symmetric U
// with |U_ij| <= bound and U_ii = 0, and over nu if that is free, less nu. The
// duals of the Omega steps with an l1 norm have this form. A projected Newton
// method holds the entries that the gradient presses against their bounds, and
// solves for the others by conjugate gradients.
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
	// change returns the derivative of the gradient along dM.
	change func(dm *mat.SymDense) *mat.Dense
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
	du, dnu := x.newton(loose, ascent, slope)
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
	h := x.change(dm)
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
