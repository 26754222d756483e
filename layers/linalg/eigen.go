package linalg

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/floats"
	lapack "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/mat"
)

// Tridiagonal is T = Q'A Q of a symmetric matrix A, which has its eigenvalues. Q is the
// product H_{n-1} ... H_1 of reflections H_k = I - 2 u_k u_k', where u_k has k entries.
//
// Gonum's mat.EigenSym goes down the columns of matrices that are stored by rows, and
// turns pairs of vectors one at a time. Here most of the work are dense products.
type Tridiagonal struct {
	d, e []float64  // its diagonal, and what is beside it
	u    *mat.Dense // u_k in row k
}

// Tridiagonalise returns T of A, whose entries must be finite. It turns row k of the
// lower triangle into (0, ..., 0, e, d) by H_k, from the last one up: A becomes
// H A H = A - u q' - q u', with p = 2 A u and q = p - <p, u> u. While the rows are being
// changed by one reflection they are multiplied with the u of the next.
func Tridiagonalise(a *mat.SymDense) *Tridiagonal {
	n := a.SymmetricDim()
	t := &Tridiagonal{d: make([]float64, n), e: make([]float64, n-1), u: mat.DenseCopyOf(a)}
	var u, q []float64 // of the last reflection
	change := func(i int) []float64 {
		r := t.u.RawRowView(i)[:i+1]
		if u != nil {
			floats.AddScaled(r, -u[i], q[:i+1])
			floats.AddScaled(r, -q[i], u[:i+1])
		}
		return r
	}
	for k := n - 1; k >= 0; k-- {
		next := change(k)[:k]
		t.d[k] = t.u.At(k, k)
		clear(t.u.RawRowView(k)[k:])
		if k == 0 {
			break
		}
		t.e[k-1] = reflect(next)
		p := make([]float64, k)
		for i := range k {
			r := change(i)
			p[i] += floats.Dot(r, next[:i+1])
			floats.AddScaled(p[:i], next[i], r[:i])
		}
		floats.Scale(2, p)
		floats.AddScaled(p, -floats.Dot(p, next), next)
		u, q = next, p
	}
	return t
}

// reflect turns x into the u of the reflection I - 2 u u' that leaves of x only its last
// entry, and returns what that becomes. Without anything to do u is 0.
func reflect(x []float64) (last float64) {
	k := len(x) - 1
	last = x[k]
	if floats.Norm(x[:k], math.Inf(1)) == 0 {
		clear(x)
		return last
	}
	last = -math.Copysign(floats.Norm(x, 2), last)
	x[k] -= last
	floats.Scale(1/floats.Norm(x, 2), x)
	return last
}

// Values are the eigenvalues, ascending. It returns false where they do not converge.
func (t *Tridiagonal) Values() ([]float64, bool) {
	kappa, e := slices.Clone(t.d), slices.Clone(t.e)
	size := max(floats.Norm(kappa, math.Inf(1)), floats.Norm(e, math.Inf(1)))
	if size == 0 {
		return kappa, true
	}
	if math.IsNaN(size) || math.IsInf(size, 0) {
		return nil, false // on which gonum may not return
	}
	floats.Scale(1/size, kappa) // for gonum panics on values that are to be scaled
	floats.Scale(1/size, e)
	ok := lapack.Implementation{}.Dsterf(len(kappa), kappa, e)
	floats.Scale(size, kappa)
	return kappa, ok
}

// Lowest returns the vectors of the k lowest of the eigenvalues kappa, as rows. It
// returns false where they do not converge.
//
// They come of inverse iteration: each x becomes (T - kappa I)^-1 x, and then all are
// made orthonormal, so that those of equal eigenvalues part. It takes a step or two.
func (t *Tridiagonal) Lowest(kappa []float64, k int) (*mat.Dense, bool) {
	const most = 8 // steps
	ker := Default()
	ker.Threads = runtime.GOMAXPROCS(0)
	n := len(kappa)
	scale := max(-kappa[0], kappa[n-1])
	random, v := rand.New(rand.NewPCG(uint64(n), uint64(k))), mat.NewDense(k, n, nil)
	v.Apply(func(_, _ int, _ float64) float64 { return random.Float64() - 0.5 }, v)
	far := make([]float64, k)
	for step := range most {
		t.each(ker, k, func(j int) { t.solve(kappa[j]+float64(step)*0x1p-52*scale, v.RawRowView(j)) })
		if step == 0 {
			continue // one is hardly ever enough
		}
		if !orthonormalise(ker, v) {
			break
		}
		t.each(ker, k, func(j int) { far[j] = t.residual(v.RawRowView(j), kappa[j]) })
		if floats.Max(far) <= 4e-15*float64(n)*scale {
			t.back(ker, v)
			return v, true
		}
	}
	return nil, false
}

// each calls f for 0..k-1, on all processors if that is worth it.
func (t *Tridiagonal) each(ker Kernels, k int, f func(j int)) {
	parts := parts(ker.Threads, k*len(t.d)*16)
	parallel(parts, func(i int) int { return k * i / parts }, func(lo, hi int) {
		for j := lo; j < hi; j++ {
			f(j)
		}
	})
}

// solve makes x the unit vector along (T - kappa I)^-1 x, unless that is singular.
func (t *Tridiagonal) solve(kappa float64, x []float64) {
	diagonal := slices.Clone(t.d)
	floats.AddConst(-kappa, diagonal)
	var y mat.VecDense
	if mat.NewTridiag(len(x), t.e, diagonal, t.e).SolveVecTo(&y, false, mat.NewVecDense(len(x), x)) == nil {
		copy(x, y.RawVector().Data)
	}
	floats.Scale(1/floats.Norm(x, math.Inf(1)), x)
	floats.Scale(1/floats.Norm(x, 2), x)
}

// residual is ||T x - kappa x||.
func (t *Tridiagonal) residual(x []float64, kappa float64) float64 {
	var r mat.VecDense
	of := mat.NewVecDense(len(x), x)
	mat.NewTridiag(len(x), t.e, t.d, t.e).MulVecTo(&r, false, of)
	r.AddScaledVec(&r, -kappa, of)
	return mat.Norm(&r, 2)
}

// orthonormalise replaces the rows V by L^-1 V, where V V' = L L': each by what it adds to
// those before it. Twice is enough. It returns false if there are dependent ones.
func orthonormalise(ker Kernels, v *mat.Dense) bool {
	k, n := v.Dims()
	x, l, y := v.RawMatrix().Data, make([]float64, k*k), make([]float64, k*n)
	for range 2 {
		Gemm(ker, NoTrans, Trans, k, k, n, 1, x, n, x, n, 0, l, k)
		if !Cholesky(ker, k, l, k) {
			return false
		}
		Invert(ker, k, l, k)
		Gemm(ker, NoTrans, NoTrans, k, n, k, 1, l, k, x, n, 0, y, n)
		copy(x, y)
	}
	return true
}

// back multiplies the rows of V with Q', in turn with some reflections at a time:
//
//	x H_i H_{i+1} ... = x - c U,  (I/2 + L) c = U x
//
// where L is the lower triangle of U U'.
func (t *Tridiagonal) back(ker Kernels, v *mat.Dense) {
	const most = 32
	k, n := v.Dims()
	x, c, part := v.RawMatrix().Data, make([]float64, k*most), make([]float64, k*most)
	var l [most * most]float64
	for i := 1; i < n; i += most {
		b := min(most, n-i)
		u, width := t.u.RawMatrix().Data[i*n:], i+b-1
		Gemm(ker, NoTrans, Trans, b, b, width, 1, u, n, u, n, 0, l[:], b)
		for j := range b {
			l[j*b+j] = 0.5
		}
		Invert(ker, b, l[:], b)
		Gemm(ker, NoTrans, Trans, k, b, width, 1, x, n, u, n, 0, part, b)
		Gemm(ker, NoTrans, Trans, k, b, b, 1, part, b, l[:], b, 0, c, b)
		Gemm(ker, NoTrans, NoTrans, k, width, b, -1, c, b, u, n, 1, x, n)
	}
}
