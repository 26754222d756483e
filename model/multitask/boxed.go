package multitask

import "gonum.org/v1/gonum/mat"

// boxed maximises ln|Q + U| over symmetric U with |U_ij| <= bound and U_ii = 0, the
// dual of the graphical lasso. A projected Newton method holds the entries that the
// gradient presses against their bounds, and solves for the others by conjugate gradients.
type boxed struct {
	q     *mat.SymDense
	bound func(i, j int) float64

	boxedPoint
}

// boxedPoint is the function at one U.
type boxedPoint struct {
	u, omega *mat.SymDense // Omega = Q + U
	p        *mat.SymDense // its inverse, the gradient
	value    float64
}

// moveTo moves to u, and reports whether it is in the domain.
func (x *boxed) moveTo(u *mat.SymDense) bool {
	omega := mat.NewSymDense(u.SymmetricDim(), nil)
	omega.AddSym(x.q, u)
	var chol cholesky
	if !chol.factorize(omega) {
		return false
	}
	x.boxedPoint = boxedPoint{u: u, omega: omega, value: chol.logDet()}
	x.p = chol.inverse()
	return true
}

// nearBound is how close to its bound, relative to it, an entry that the
// gradient presses against it counts as held. Were it to count only at the
// bound, entries on their way there would cut the steps of all others short.
const nearBound = 1e-3

// advance takes one step and reports whether it raised the function.
func (x *boxed) advance() bool {
	m := x.u.SymmetricDim()
	held := mat.NewSymDense(m, nil)  // the way of entries to their bounds
	loose := mat.NewSymDense(m, nil) // 1 for the others
	for i := range m {
		for j := range i {
			u, g, b := x.u.At(i, j), x.p.At(i, j), x.bound(i, j)
			if g < 0 {
				u, b = -u, -b
			}
			if u < max(b, -b)*(1-nearBound) {
				loose.SetSym(i, j, 1)
			} else {
				held.SetSym(i, j, b-x.u.At(i, j))
			}
		}
	}
	du := x.newton(loose)
	addSym(du, 1, held)
	start := x.boxedPoint
	for t := 1.0; t > 1e-7; t /= 2 {
		u := mat.NewSymDense(m, nil)
		gain := 0.0
		for i := range m {
			for j := range i {
				b := x.bound(i, j)
				v := min(max(start.u.At(i, j)+t*du.At(i, j), -b), b)
				u.SetSym(i, j, v)
				gain += 2 * start.p.At(i, j) * (v - start.u.At(i, j))
			}
		}
		if x.moveTo(u) && x.value > start.value && x.value >= start.value+1e-4*gain {
			return true
		}
		x.boxedPoint = start
	}
	return false
}

// newton returns nearly the dU for which P dU P is the gradient on the loose entries: Omega R
// Omega, on them alone, is near the solution for R.
func (x *boxed) newton(loose *mat.SymDense) *mat.SymDense {
	of := func(a *mat.SymDense) *mat.SymDense {
		for i := range a.SymmetricDim() {
			for j := range i + 1 {
				a.SetSym(i, j, a.At(i, j)*loose.At(i, j))
			}
		}
		return a
	}
	sum, rest := mat.NewSymDense(x.u.SymmetricDim(), nil), mat.NewSymDense(x.u.SymmetricDim(), nil)
	rest.CopySym(x.p)
	of(rest)
	near, dir := of(sandwich(x.omega, rest)), mat.NewSymDense(x.u.SymmetricDim(), nil)
	dir.CopySym(near)
	product := dot(rest, near)
	for it, first := 0, product; it < 200 && product > 1e-4*first; it++ {
		h := of(sandwich(x.p, dir))
		a := product / dot(dir, h)
		if !(a > 0) {
			break
		}
		addSym(sum, a, dir)
		addSym(rest, -a, h)
		near = of(sandwich(x.omega, rest))
		next := dot(rest, near)
		dir.ScaleSym(next/product, dir)
		addSym(dir, 1, near)
		product = next
	}
	return sum
}
