package multitask

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// center is the Omega step of SPATS on the central path of an interior point
// method: Omega minimises, subject to tr(Omega) = 1,
//
//	Lambda1/2 tr(S Omega^-1) + Lambda2 sum_ij T_ij - mu ln|Omega|
//	  - mu sum_{i<j} ln(T_ij^2 - Omega_ij^2)
//
// over T too, which the off-diagonal entries of Omega do not exceed. As mu falls
// this becomes the step itself, within m^2 mu.
//
// Everything is in the coordinates in which Omega = Q Q' is the identity, and C,
// which is S there, diagonal. Omega may be singular in the limit; S is then
// known in these coordinates only, W' = Q Z being a product of a small number
// and another.
type center struct {
	l1, l2, mu    float64
	m             int
	root, inverse *mat.Dense // Q and its inverse
	c             []float64  // the diagonal of C
	logDet        float64    // of Omega
	omega         *mat.SymDense
	multiplier    *mat.SymDense // the slopes of Lambda2 T, less than Lambda2 in size

	// The Newton matrix in the basis of symmetric matrices, and the direction
	// in it that the trace forbids.
	newton   cholesky
	gradient []float64
	trace    []float64
	along    []float64
}

// newCenter returns the center for S = 0, where Omega = I/m.
func newCenter(m int) *center {
	r := math.Sqrt(float64(m))
	return &center{m: m, root: mat.DenseCopyOf(identity(m, 1/r)), inverse: mat.DenseCopyOf(identity(m, r)), logDet: -2 * float64(m) * math.Log(r)}
}

// at returns the center for C, in the coordinates of x, and mu.
func (x *center) at(c *mat.SymDense, mu float64, p Params) (*center, error) {
	n := &center{l1: p.Lambda1, l2: p.Lambda2, mu: mu, m: x.m, root: x.root, inverse: x.inverse, logDet: x.logDet}
	if err := n.turn(c); err != nil {
		return nil, err
	}
	return n, n.settle()
}

// settle takes Newton steps to the center, as far as rounding errors allow.
func (x *center) settle() error {
	last := math.Inf(1)
	for it := 0; ; it++ {
		d, decrement := x.direction()
		if decrement <= 1e-10*x.mu || decrement < 1e-4*x.mu && decrement > last/2 || it == 60 {
			return nil
		}
		last = decrement
		if moved, err := x.search(d, decrement); err != nil || !moved {
			return err
		}
	}
}

// turn rotates the coordinates so that C is diagonal.
func (x *center) turn(c *mat.SymDense) error {
	e, err := Eigen(c)
	if err != nil {
		return err
	}
	var root, inverse mat.Dense
	root.Mul(x.root, e.Vectors)
	inverse.Mul(e.Vectors.T(), x.inverse)
	x.root, x.inverse, x.c = &root, &inverse, e.Values
	for i, v := range x.c {
		x.c[i] = max(v, 0)
	}
	x.omega = mat.NewSymDense(x.m, nil)
	x.omega.SymOuterK(1, x.root)
	return nil
}

// bound returns T for an entry of Omega, where the barrier is least.
func (x *center) bound(v float64) float64 {
	half := x.mu / (2 * x.l2)
	return half + math.Hypot(half, v)
}

// value returns the function without and with the barrier, whose constant makes
// it fall with mu.
func (x *center) value() (plain, whole float64) {
	plain = x.l1/2*floats.Sum(x.c) + x.l2*norm1(x.omega)
	whole = x.l1/2*floats.Sum(x.c) + x.l2*mat.Trace(x.omega) - x.mu*x.logDet
	for i := range x.m {
		for j := range i {
			t := x.bound(x.omega.At(i, j))
			whole += 2*x.l2*t - x.mu*math.Log(t/(1+x.mu/x.l2))
		}
	}
	return plain, whole
}

// with returns the function for another mu.
func (x *center) with(mu float64) float64 {
	n := *x
	n.mu = mu
	_, whole := n.value()
	return whole
}

// direction returns the Newton step and its decrement squared, and leaves the
// factorised matrix.
func (x *center) direction() (d *mat.SymDense, decrement float64) {
	m, q := x.m, x.root.RawMatrix()
	size := m * (m + 1) / 2
	slopes := mat.NewSymDense(m, nil)
	rows := mat.NewDense(max(1, m*(m-1)/2), size, nil)
	for i, row := 0, 0; i < m; i++ {
		for j := range i {
			v := x.omega.At(i, j)
			t := x.bound(v)
			slopes.SetSym(i, j, x.l2*v/t)
			// The root of the second derivative of 2 Lambda2 T.
			half := x.mu / (2 * x.l2)
			bend := math.Sqrt(x.mu*(1+half/(t-half))) / t
			qi, qj := q.Data[i*q.Stride:][:m], q.Data[j*q.Stride:][:m]
			out := rows.RawRowView(row)
			for a, k := 0, 0; a < m; a++ {
				for b := range a {
					out[k] = bend * math.Sqrt(0.5) * (qi[a]*qj[b] + qi[b]*qj[a])
					k++
				}
				out[k] = bend * qi[a] * qj[a]
				k++
			}
			row++
		}
	}
	x.multiplier = slopes
	whole := mat.NewDense(size, size, nil)
	gemm(true, false, 1, rows.RawMatrix(), rows.RawMatrix(), 0, whole.RawMatrix())
	matrix := mat.NewSymDense(size, whole.RawMatrix().Data)
	gradient := triple(x.root.T(), slopes, x.root)
	square := mat.NewSymDense(m, nil)
	square.SymOuterK(1, x.root.T())
	for a, k := 0, 0; a < m; a++ {
		gradient.Set(a, a, gradient.At(a, a)-x.l1/2*x.c[a]-x.mu)
		for b := range a + 1 {
			matrix.SetSym(k, k, matrix.At(k, k)+x.l1/2*(x.c[a]+x.c[b])+x.mu)
			k++
		}
	}
	for ridge := 1e-15 * mat.Trace(matrix); !x.newton.factorize(matrix); ridge *= 10 {
		for k := range size {
			matrix.SetSym(k, k, matrix.At(k, k)+ridge)
		}
	}
	x.trace, x.gradient = vectorOf(square), vectorOf(gradient)
	x.along = x.solve(x.trace)
	x.project(x.gradient)
	step := x.solve(x.gradient)
	scale(-1, step)
	return symmetricOf(m, step), -inner(x.gradient, step)
}

// solve applies the inverse of the Newton matrix to a slope within the trace.
func (x *center) solve(right []float64) []float64 {
	v := slices.Clone(right)
	x.newton.solve(v)
	return v
}

// project takes from a slope what the trace forbids.
func (x *center) project(slope []float64) {
	add(-inner(x.along, slope)/inner(x.along, x.trace), x.trace, slope)
}

// search moves along D as far as the function falls.
func (x *center) search(d *mat.SymDense, decrement float64) (bool, error) {
	e, err := Eigen(d)
	if err != nil {
		return false, err
	}
	c := mat.NewSymDense(x.m, nil)
	for i, v := range x.c {
		c.SetSym(i, i, v)
	}
	_, before := x.value()
	for t := farthest(e); t > 1e-8; t /= 2 {
		n, err := x.moved(e, t, c, -0.5)
		if err != nil {
			return false, err
		}
		if _, after := n.value(); after <= before-1e-4*t*decrement+1e-15*math.Abs(before) {
			*x = *n
			return true, nil
		}
	}
	return false, nil
}

// farthest is the step to take along D, short of a singular Omega.
func farthest(d *Spectrum) float64 {
	if low := d.Values[0]; low < 0 {
		return min(1, -0.95/low)
	}
	return 1
}

// moved returns the center, not settled, with t D added to Omega, and C times
// that power of I + t D from either side: -1/2 holds W, 1/2 holds W Omega^-1.
func (x *center) moved(d *Spectrum, t float64, c *mat.SymDense, power float64) (*center, error) {
	n := *x
	root, inverse := mat.NewDense(x.m, x.m, nil), mat.NewDense(x.m, x.m, nil)
	root.Mul(x.root, d.Vectors)
	inverse.Mul(d.Vectors.T(), x.inverse)
	turned := symmetrised(triple(d.Vectors.T(), c, d.Vectors), 1)
	trace := 0.0 // 1, but for rounding errors
	for i, v := range d.Values {
		f := 1 + t*v
		n.logDet += math.Log(f)
		for j := range x.m {
			q := root.At(j, i) * math.Sqrt(f)
			root.Set(j, i, q)
			inverse.Set(i, j, inverse.At(i, j)/math.Sqrt(f))
			trace += q * q
		}
		for j, u := range d.Values[:i+1] {
			turned.SetSym(i, j, turned.At(i, j)*math.Pow(f*(1+t*u), power))
		}
	}
	root.Scale(1/math.Sqrt(trace), root)
	inverse.Scale(math.Sqrt(trace), inverse)
	turned.ScaleSym(math.Pow(trace, -2*power), turned)
	n.logDet -= float64(x.m) * math.Log(trace)
	n.root, n.inverse = root, inverse
	return &n, n.turn(turned)
}

// toward returns how Omega follows mu to another value, in the coordinates of
// the center.
func (x *center) toward(mu float64) *mat.SymDense {
	slopes := mat.NewSymDense(x.m, nil)
	half := x.mu / (2 * x.l2)
	for i := range x.m {
		for j := range i {
			v := x.omega.At(i, j)
			t := x.bound(v)
			slopes.SetSym(i, j, v*(1+half/(t-half))/(2*t*t)*(x.mu-mu))
		}
	}
	right := triple(x.root.T(), slopes, x.root)
	for i := range x.m {
		right.Set(i, i, right.At(i, i)+x.mu-mu)
	}
	v := vectorOf(right)
	add(1, x.gradient, v)
	scale(-1, v)
	x.project(v)
	return symmetricOf(x.m, x.solve(v))
}

// gap bounds how much mu keeps a center from the minimum.
func (x *center) gap() float64 { return float64(x.m*x.m) * x.mu }

// relation returns the center as the solver uses it.
func (x *center) relation() *relation {
	_, whole := x.value()
	return &relation{value: whole, cov: &Covariance{Omega: x.omega, center: x}, root: x.root, inverse: x.inverse, curve: x.curve, center: x}
}

// curve returns how Omega^-1 follows C, in the coordinates of the center.
func (x *center) curve() func(dc *mat.Dense) *mat.Dense {
	return func(dc *mat.Dense) *mat.Dense {
		right := vectorOf(dc)
		scale(-x.l1/2, right)
		x.project(right)
		return mat.DenseCopyOf(symmetricOf(x.m, x.solve(right)))
	}
}

// vectorOf returns a symmetric matrix in the orthonormal basis of the
// symmetric matrices.
func vectorOf(a mat.Matrix) (v []float64) {
	m, _ := a.Dims()
	for i := range m {
		for j := range i {
			v = append(v, math.Sqrt2*a.At(i, j))
		}
		v = append(v, a.At(i, i))
	}
	return v
}

// symmetricOf is the inverse of vectorOf.
func symmetricOf(m int, v []float64) *mat.SymDense {
	a := mat.NewSymDense(m, nil)
	for i, k := 0, 0; i < m; i++ {
		for j := range i {
			a.SetSym(i, j, math.Sqrt(0.5)*v[k])
			k++
		}
		a.SetSym(i, i, v[k])
		k++
	}
	return a
}

// symmetrised returns a times the symmetric part of A.
func symmetrised(x *mat.Dense, a float64) *mat.SymDense {
	m, _ := x.Dims()
	s := mat.NewSymDense(m, nil)
	for i := range m {
		for j := range i + 1 {
			s.SetSym(i, j, a*(x.At(i, j)+x.At(j, i))/2)
		}
	}
	return s
}
