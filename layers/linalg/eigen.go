package linalg

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
	lapack "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/mat"
)

// Tridiagonal is T = Q'A Q of a symmetric matrix A, which has its eigenvalues.
//
// Gonum's mat.EigenSym turns pairs of vectors one at a time to come from T to eigenvectors.
// Here most of that work are dense products.
type Tridiagonal struct {
	d, e, tau []float64  // its diagonal, what is beside it, and the sizes of reflections
	q         *mat.Dense // the reflections that make up Q, as LAPACK keeps them
}

// Tridiagonalise returns T of A, whose entries must be finite.
func Tridiagonalise(a *mat.SymDense) *Tridiagonal {
	n := a.SymmetricDim()
	t := &Tridiagonal{make([]float64, n), make([]float64, n-1), make([]float64, n-1), mat.DenseCopyOf(a)}
	work := make([]float64, 64*n)
	lapack.Implementation{}.Dsytrd(blas.Lower, n, t.q.RawMatrix().Data, n, t.d, t.e, t.tau, work, len(work))
	return t
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
			t.back(v)
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

// back multiplies the rows of V with Q'.
func (t *Tridiagonal) back(v *mat.Dense) {
	k, n := v.Dims()
	if n == 1 {
		return
	}
	work := make([]float64, 64*max(n, k))
	lapack.Implementation{}.Dormqr(blas.Right, blas.Trans, k, n-1, n-1, t.q.RawMatrix().Data[n:], n, t.tau, v.RawMatrix().Data[1:], n, work, len(work))
}
