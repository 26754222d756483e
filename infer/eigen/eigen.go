// Package eigen finds eigenvalues and eigenvectors of symmetric matrices.
//
// Gonum does too, but goes down the columns of matrices that are stored by rows, which
// takes seven times as long for 512 of them, and finds all vectors, where a few may
// be wanted.
package eigen

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Lowest returns the vectors of the k lowest of the eigenvalues kappa, which ascend,
// as rows. It returns false where they do not converge.
func (t *Tridiagonal) Lowest(kappa []float64, k int) (*mat.Dense, bool) {
	if v, ok := t.iterate(kappa, k); ok {
		return v, true
	}
	_, v, ok := t.All()
	if !ok {
		return nil, false
	}
	return v.Slice(0, k, 0, len(t.d)).(*mat.Dense), true
}

// All returns the eigenvalues, ascending, and their vectors as rows. It returns false
// where they do not converge.
func (t *Tridiagonal) All() ([]float64, *mat.Dense, bool) {
	all, n := t.basis(), len(t.d)
	values, ok := t.diagonalise(all)
	if !ok {
		return nil, nil, false
	}
	order, v := make([]int, n), mat.NewDense(n, n, nil)
	floats.Argsort(values, order)
	for i, from := range order {
		v.SetRow(i, all.RawRowView(from))
	}
	return values, v, true
}

// Values are the eigenvalues, ascending. It returns false where they do not converge.
func (t *Tridiagonal) Values() ([]float64, bool) {
	kappa, ok := t.diagonalise(nil)
	slices.Sort(kappa)
	return kappa, ok
}

// iterate is Lowest for a few vectors of many, by inverse iteration: x becomes
// (T - kappa I)^-1 x, orthogonal to the vectors before it. It returns false where it
// would not be the faster one, or finds no vectors that are as good.
func (t *Tridiagonal) iterate(kappa []float64, k int) (*mat.Dense, bool) {
	const most = 8 // steps for a vector
	n := len(kappa)
	scale := max(-kappa[0], kappa[n-1])
	if 4*k > n || n < 64 {
		return nil, false
	}
	random, v := rand.New(rand.NewPCG(uint64(n), uint64(k))), mat.NewDense(k, n, nil)
	diagonal, beside := make([]float64, n), t.e[:n-1]
	for j := range k {
		x := v.RawRowView(j)
		for i := range x {
			x[i] = random.Float64() - 0.5
		}
		solved := false
		for step := 0; !solved || !(t.residual(x, kappa[j], scale) <= 4e-15*float64(n)); step++ {
			if step == most {
				return nil, false
			}
			copy(diagonal, t.d)
			floats.AddConst(-kappa[j]-float64(step)*0x1p-52*scale, diagonal)
			b := mat.NewVecDense(n, x)
			if err := mat.NewTridiag(n, beside, diagonal, beside).SolveVecTo(b, false, b); err != nil {
				continue // singular: the next step is not
			}
			solved = true
			floats.Scale(1/floats.Norm(x, math.Inf(1)), x)
			for range 2 {
				for i := range j {
					floats.AddScaled(x, -floats.Dot(x, v.RawRowView(i)), v.RawRowView(i))
				}
			}
			floats.Scale(1/floats.Norm(x, 2), x)
		}
	}
	strips(k, func(from, to int) {
		for j := from; j < to; j++ {
			x := v.RawRowView(j)
			for i := 1; i < n; i++ {
				floats.AddScaled(x[:i], -t.tau[i]*floats.Dot(x[:i], t.u[i]), t.u[i])
			}
		}
	})
	return v, true
}

// residual is ||T x - kappa x||, in units of a scale.
func (t *Tridiagonal) residual(x []float64, kappa, scale float64) float64 {
	sum := 0.0
	for i, v := range x {
		r := (t.d[i] - kappa) * v
		if i > 0 {
			r += t.e[i-1] * x[i-1]
		}
		if i+1 < len(x) {
			r += t.e[i] * x[i+1]
		}
		r /= scale
		sum += r * r
	}
	return math.Sqrt(sum)
}

// Tridiagonal is T = Q'A Q of a symmetric matrix A, Q = H_{n-1} ... H_1 being a product of reflections
// H_k = I - tau_k u_k u_k', where u_k has k entries.
type Tridiagonal struct {
	d, e []float64 // its diagonal, and what is beside it
	u    [][]float64
	tau  []float64
}

// New returns T of A, whose entries must be finite. It turns row k of the lower triangle into (0, ..., 0, e, d) by H_k, from
// the last one up: A becomes H A H = A - u q' - q u', with q = p - tau/2 <p, u> u and
// p = tau A u. While the rows are being changed by one reflection they are multiplied
// with the u of the next.
func New(a *mat.SymDense) *Tridiagonal {
	n := a.SymmetricDim()
	t := &Tridiagonal{d: make([]float64, n), e: make([]float64, n), u: make([][]float64, n), tau: make([]float64, n)}
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, i+1)
		for j := range rows[i] {
			rows[i][j] = a.At(i, j)
		}
	}
	var u, q []float64 // of the last reflection
	change := func(i int) []float64 {
		r := rows[i]
		if u != nil {
			floats.AddScaled(r, -u[i], q[:i+1])
			floats.AddScaled(r, -q[i], u[:i+1])
		}
		return r
	}
	for k := n - 1; k >= 0; k-- {
		row := change(k)
		t.d[k] = row[k]
		if k == 0 {
			break
		}
		next := row[:k]
		t.u[k] = next
		t.e[k-1], t.tau[k] = reflect(next)
		p := make([]float64, k)
		for i := range k {
			r := change(i)
			p[i] += floats.Dot(r, next[:i+1])
			floats.AddScaled(p[:i], next[i], r[:i])
		}
		floats.Scale(t.tau[k], p)
		floats.AddScaled(p, -t.tau[k]/2*floats.Dot(p, next), next)
		u, q = next, p
	}
	return t
}

// reflect turns x into the u of the reflection I - tau u u' that leaves of x only its
// last entry, and returns what that becomes. Without anything to do tau is 0.
func reflect(x []float64) (last, tau float64) {
	k := len(x) - 1
	last = x[k]
	if floats.Norm(x[:k], math.Inf(1)) == 0 {
		clear(x)
		return last, 0
	}
	last = -math.Copysign(floats.Norm(x, 2), last)
	x[k] -= last
	floats.Scale(1/floats.Norm(x, 2), x)
	return last, 2
}

// basis is Q'. Reflection k changes no rows below the k-th.
func (t *Tridiagonal) basis() *mat.Dense {
	n := len(t.d)
	q := mat.NewDense(n, n, nil)
	strips(n, func(from, to int) {
		for i := from; i < to; i++ {
			row := q.RawRowView(i)
			row[i] = 1
			for k := i + 1; k < n; k++ {
				if t.tau[k] != 0 {
					floats.AddScaled(row[:k], -t.tau[k]*floats.Dot(row[:k], t.u[k]), t.u[k])
				}
			}
		}
	})
	return q
}

// rotation replaces rows i and i+1 by c, -s and s, c times these.
type rotation struct {
	i    int
	c, s float64
}

// diagonalise finds the eigenvalues of T by the implicit QL method. What it does to T
// is done to the rows of v, if there are any, which become the eigenvectors. After
// EISPACK's imtql2, but that rotations are collected and then done to a few columns
// at a time, which stay in the cache for all of them.
func (t *Tridiagonal) diagonalise(v *mat.Dense) ([]float64, bool) {
	const most = 30 // sweeps for an eigenvalue
	n, d, e := len(t.d), slices.Clone(t.d), slices.Clone(t.e)
	negligible := 0.0
	for i := range n {
		negligible = max(negligible, math.Abs(d[i])+math.Abs(e[i]))
	}
	if math.IsNaN(negligible) || math.IsInf(negligible, 0) {
		return nil, false
	}
	negligible *= 0x1p-52
	var collected []rotation
	for l := range n {
		for sweep := 0; ; sweep++ {
			m := l
			for m < n-1 && math.Abs(e[m]) > negligible {
				m++
			}
			if m == l {
				break
			}
			if sweep == most {
				return nil, false
			}
			g := (d[l+1] - d[l]) / (2 * e[l])
			g = d[m] - d[l] + e[l]/(g+math.Copysign(math.Hypot(g, 1), g))
			s, c, p, i := 1.0, 1.0, 0.0, m-1
			for ; i >= l; i-- {
				f, b := s*e[i], c*e[i]
				r := math.Hypot(f, g)
				if e[i+1] = r; r == 0 {
					d[i+1] -= p
					break
				}
				s, c = f/r, g/r
				g = d[i+1] - p
				r = (d[i]-g)*s + 2*c*b
				p = s * r
				d[i+1] = g + p
				g = c*r - b
				if v != nil {
					collected = append(collected, rotation{i, c, s})
				}
			}
			if i < l {
				d[l] -= p
				e[l] = g
			}
			e[m] = 0
		}
		if len(collected) >= 32*n || l == n-1 {
			rotate(v, collected)
			collected = collected[:0]
		}
	}
	return d, true
}

// rotate does rotations to rows, some columns at a time.
func rotate(v *mat.Dense, rotations []rotation) {
	if len(rotations) == 0 {
		return
	}
	n, _ := v.Dims()
	strips(n, func(from, to int) {
		for _, r := range rotations {
			x := v.RawRowView(r.i)[from:to]
			y := v.RawRowView(r.i + 1)[from:to][:len(x)]
			for j, a := range x {
				b := y[j]
				x[j], y[j] = r.c*a-r.s*b, r.s*a+r.c*b
			}
		}
	})
}

// strips calls f for 0..n-1 in strips that are worth a goroutine, on all processors.
func strips(n int, f func(from, to int)) {
	const width = 64
	count := (n + width - 1) / width
	workers := min(count, runtime.GOMAXPROCS(0))
	each := func(w int) {
		for i := w; i < count; i += workers {
			f(i*width, min(n, (i+1)*width))
		}
	}
	var others sync.WaitGroup
	for w := 1; w < workers; w++ {
		others.Go(func() { each(w) })
	}
	each(0)
	others.Wait()
}
