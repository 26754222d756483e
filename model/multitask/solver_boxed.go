package multitask

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// boxed maximises a smooth concave function over symmetric U with
// |U_ij| <= bound and U_ii = 0. The dual of the graphical lasso has this form. A
// projected Newton method holds the entries that the gradient presses against their bounds, and
// solves for the others: directly, or by conjugate gradients if they are many.
type boxed struct {
	bound func(i, j int) float64
	// at evaluates the function; it returns nil outside of its domain.
	at func(u *mat.SymDense) (*boxedPoint, error)

	u *mat.SymDense
	*boxedPoint
}

// boxedPoint is the function at one U.
type boxedPoint struct {
	value    float64
	gradient *mat.SymDense
	// Along dU the gradient changes by Q (K o Q'dU Q) Q', with Q the image, K the
	// kernel, and o the product entry by entry.
	image, kernel *mat.Dense
}

// moveTo moves to u, and reports whether it is in the domain.
func (x *boxed) moveTo(u *mat.SymDense) (bool, error) {
	p, err := x.at(u)
	if p == nil || err != nil {
		return false, err
	}
	x.u, x.boxedPoint = u, p
	return true, nil
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
	du, ok := x.direct(loose, ascent)
	if !ok {
		du = x.newton(loose, ascent)
	}
	addSym(du, 1, held)
	gradient := x.gradient
	old, before := x.u, x.value
	for t := 1.0; t > 1e-7; t /= 2 {
		u := mat.NewSymDense(m, nil)
		gain := 0.0
		for i := range m {
			for j := range i {
				b := x.bound(i, j)
				v := min(max(old.At(i, j)+t*du.At(i, j), -b), b)
				u.SetSym(i, j, v)
				gain += 2 * gradient.At(i, j) * (v - old.At(i, j))
			}
		}
		start := x.boxedPoint
		inside, err := x.moveTo(u)
		if err != nil {
			return false, err
		}
		if inside && x.value > before && x.value >= before+1e-4*gain {
			return true, nil
		}
		x.u, x.boxedPoint = old, start
	}
	return false, nil
}

// direct is newton by a Cholesky factorisation. It refuses systems of more than
// largestSupport unknowns, and singular ones.
//
// With p_ik the product, entry by entry, of rows i and k of the image, the
// entry (ij), (kl) of -H is -2 (p_ik'K p_jl + p_il'K p_jk).
func (x *boxed) direct(loose, ascent *mat.SymDense) (du *mat.SymDense, ok bool) {
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
	du = mat.NewSymDense(m, nil)
	if size == 0 || size > largestSupport {
		return du, size == 0
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
	}
	step, ok := solvePositive(system, right)
	if !ok {
		return nil, false
	}
	for a, ij := range pairs {
		du.SetSym(ij[0], ij[1], step[a])
	}
	return du, true
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

// solvePositive solves a positive definite system in place, with a ridge where rounding
// errors make it singular.
func solvePositive(system *mat.SymDense, right []float64) ([]float64, bool) {
	n := len(right)
	var chol cholesky
	for range 4 {
		if chol.factorize(system) {
			chol.solve(right)
			return right, true
		}
		ridge := 1e-13 * mat.Trace(system)
		for i := range n {
			system.SetSym(i, i, system.At(i, i)*(1+1e-10)+ridge)
		}
	}
	return nil, false
}

// newton solves -H dU = ascent on the loose entries.
func (x *boxed) newton(loose, ascent *mat.SymDense) *mat.SymDense {
	m := loose.SymmetricDim()
	rest, sum, dir := mat.NewSymDense(m, nil), mat.NewSymDense(m, nil), mat.NewSymDense(m, nil)
	rest.CopySym(ascent)
	dir.CopySym(rest)
	norm := dot(rest, rest)
	first := norm
	for it := 0; it < 2*m*m+10 && norm > 1e-24*first; it++ {
		h := x.curvature(dir, loose)
		c := dot(dir, h)
		if !(c > 0) {
			break
		}
		a := norm / c
		addSym(sum, a, dir)
		addSym(rest, -a, h)
		next := dot(rest, rest)
		dir.ScaleSym(next/norm, dir)
		addSym(dir, 1, rest)
		norm = next
	}
	return sum
}

// curvature returns -H dU on the loose entries.
func (x *boxed) curvature(du, loose *mat.SymDense) *mat.SymDense {
	m := du.SymmetricDim()
	var turned, h mat.Dense
	turned.Mul(x.image.T(), du)
	h.Mul(&turned, x.image)
	h.MulElem(&h, x.kernel)
	turned.Mul(x.image, &h)
	h.Reset()
	h.Mul(&turned, x.image.T())
	out := mat.NewSymDense(m, nil)
	for i := range m {
		for j := range i {
			out.SetSym(i, j, -loose.At(i, j)*(h.At(i, j)+h.At(j, i))/2)
		}
	}
	return out
}

// addSym adds c b to a.
func addSym(a *mat.SymDense, c float64, b *mat.SymDense) {
	for i := range a.SymmetricDim() {
		for j := range i + 1 {
			a.SetSym(i, j, a.At(i, j)+c*b.At(i, j))
		}
	}
}
