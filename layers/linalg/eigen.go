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
	d, e, tau []float64  // its diagonal, the entries beside it, and the sizes of reflections
	q         *mat.Dense // the reflections that make up Q, as LAPACK keeps them
}

// Tridiagonalise returns T of A, whose entries must be finite.
func Tridiagonalise(a *mat.SymDense) *Tridiagonal {
	n := a.SymmetricDim()
	t := &Tridiagonal{make([]float64, n), make([]float64, n-1),
		make([]float64, n-1), mat.DenseCopyOf(a)}
	work := make([]float64, 64*n)
	lapack.Implementation{}.Dsytrd(blas.Lower, n, t.q.RawMatrix().Data, n,
		t.d, t.e, t.tau, work, len(work))
	return t
}

// Values are the eigenvalues, ascending. It returns false where they do not converge.
func (t *Tridiagonal) Values() ([]float64, bool) {
	kappa := slices.Clone(t.d)
	e := slices.Clone(t.e)
	largest := math.Inf(1)
	size := max(floats.Norm(kappa, largest), floats.Norm(e, largest))
	if size == 0 {
		return kappa, true
	}
	if math.IsNaN(size) || math.IsInf(size, 0) {
		return nil, false // gonum may not return
	}
	floats.Scale(1/size, kappa) // because gonum panics where it would scale
	floats.Scale(1/size, e)
	ok := lapack.Implementation{}.Dsterf(len(kappa), kappa, e)
	floats.Scale(size, kappa)
	return kappa, ok
}

// Lowest returns the vectors of the k lowest of the eigenvalues kappa, as rows. It
// returns false where they do not converge.
//
// Inverse iteration finds them: each x becomes (T - kappa I)^-1 x, and then all are
// made orthonormal, so that vectors of equal eigenvalues part. It takes a step or two.
func (t *Tridiagonal) Lowest(kappa []float64, k int) (*mat.Dense, bool) {
	const steps = 8
	ker := Default()
	ker.Threads = runtime.GOMAXPROCS(0)
	n := len(kappa)
	scale := max(-kappa[0], kappa[n-1])
	random := rand.New(rand.NewPCG(uint64(n), uint64(k)))
	v := mat.NewDense(k, n, nil)
	v.Apply(func(_, _ int, _ float64) float64 {
		return random.Float64() - 0.5
	}, v)
	residuals := make([]float64, k)
	for step := range steps {
		shift := float64(step) * 0x1p-52 * scale
		for j := range k {
			t.solve(kappa[j]+shift, v.RawRowView(j))
		}
		if step == 0 {
			continue // one is hardly ever enough
		}
		if !orthonormalise(ker, v) {
			break
		}
		for j := range k {
			residuals[j] = t.residual(v.RawRowView(j), kappa[j])
		}
		if floats.Max(residuals) <= 4e-15*float64(n)*scale {
			t.back(v)
			return v, true
		}
	}
	return nil, false
}

// solve makes x the unit vector along (T - kappa I)^-1 x, unless that is singular.
func (t *Tridiagonal) solve(kappa float64, x []float64) {
	diagonal := slices.Clone(t.d)
	floats.AddConst(-kappa, diagonal)
	var y mat.VecDense
	shifted := mat.NewTridiag(len(x), t.e, diagonal, t.e)
	if shifted.SolveVecTo(&y, false, mat.NewVecDense(len(x), x)) == nil {
		copy(x, y.RawVector().Data)
	}
	floats.Scale(1/floats.Norm(x, math.Inf(1)), x)
	floats.Scale(1/floats.Norm(x, 2), x)
}

// residual is ||T x - kappa x||.
func (t *Tridiagonal) residual(x []float64, kappa float64) float64 {
	var r mat.VecDense
	v := mat.NewVecDense(len(x), x)
	mat.NewTridiag(len(x), t.e, t.d, t.e).
		MulVecTo(&r, false, v)
	r.AddScaledVec(&r, -kappa, v)
	return mat.Norm(&r, 2)
}

// orthonormalise replaces the rows V by L^-1 V, where V V' = L L': each by its part beyond the
// rows before it. Twice is enough. It returns false if rows are dependent.
func orthonormalise(ker Kernels, v *mat.Dense) bool {
	k, n := v.Dims()
	x := v.RawMatrix().Data
	l := make([]float64, k*k)
	y := make([]float64, k*n)
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
	q := t.q.RawMatrix().Data
	rows := v.RawMatrix().Data
	lapack.Implementation{}.Dormqr(blas.Right, blas.Trans, k, n-1, n-1,
		q[n:], n, t.tau, rows[1:], n, work, len(work))
}
