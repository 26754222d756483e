package infer

import (
	"math"
	"runtime"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Eigenvalues and eigenvectors of a symmetric matrix, A = V' diag(kappa) V. Gonum
// has them too, but goes down the columns of matrices that are stored by rows, which
// takes six times as long for 512 of them.

// eigen returns the eigenvalues, ascending, and the eigenvectors as rows. It returns
// false where they do not converge.
func eigen(a *mat.SymDense) (kappa []float64, v *mat.Dense, ok bool) {
	t := tridiagonalise(a)
	v = t.basis()
	if !t.diagonalise(v) {
		return nil, nil, false
	}
	n := len(t.d)
	kappa, order, sorted := make([]float64, n), make([]int, n), mat.NewDense(n, n, nil)
	floats.Argsort(t.d, order)
	for i, from := range order {
		kappa[i] = t.d[i]
		sorted.SetRow(i, v.RawRowView(from))
	}
	return kappa, sorted, true
}

// tridiagonal is T = Q'A Q, Q = H_{n-1} ... H_1 being a product of reflections
// H_k = I - tau_k u_k u_k', where u_k has k entries.
type tridiagonal struct {
	d, e []float64 // its diagonal, and what is beside it
	u    [][]float64
	tau  []float64
}

// tridiagonalise turns row k of the lower triangle into (0, ..., 0, e, d) by H_k, from
// the last one up: A becomes H A H = A - u q' - q u', with q = p - tau/2 <p, u> u and
// p = tau A u. While the rows are being changed by one reflection they are multiplied
// with the u of the next.
func tridiagonalise(a *mat.SymDense) *tridiagonal {
	n := a.SymmetricDim()
	t := &tridiagonal{d: make([]float64, n), e: make([]float64, n), u: make([][]float64, n), tau: make([]float64, n)}
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
func (t *tridiagonal) basis() *mat.Dense {
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

// diagonalise finds the eigenvalues of T by the implicit QL method, with what it does
// to T done to the rows of v: d has the eigenvalues and v the eigenvectors then. After
// EISPACK's imtql2, but that rotations are collected and then done to a few columns
// at a time, which stay in the cache for all of them.
func (t *tridiagonal) diagonalise(v *mat.Dense) bool {
	const most = 30 // sweeps for an eigenvalue
	n, d, e := len(t.d), t.d, t.e
	negligible := 0.0
	for i := range n {
		negligible = max(negligible, math.Abs(d[i])+math.Abs(e[i]))
	}
	if !finite(negligible) {
		return false
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
				return false
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
				collected = append(collected, rotation{i, c, s})
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
	return true
}

// rotate does rotations to rows, some columns at a time.
func rotate(v *mat.Dense, rotations []rotation) {
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
