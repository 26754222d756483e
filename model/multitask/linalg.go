package multitask

import (
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/layers/linalg"
)

// The vectors of the solver are m x d matrices in row-major order, so that the
// weights of a task are contiguous.

// add adds a x to y.
func add(a float64, x, y []float64) {
	floats.AddScaled(y, a, x)
}

// gemm sets C to A B, with A or B transposed.
func gemm(tA, tB blas.Transpose, a, b, c blas64.General) {
	k := a.Cols
	if tA == blas.Trans {
		k = a.Rows
	}
	linalg.Gemm(linalg.Default(), tA, tB, c.Rows, c.Cols, k, 1,
		a.Data, a.Stride, b.Data, b.Stride, 0, c.Data, c.Stride)
}

// general views a vector as a matrix of so many rows.
func general(rows int, x []float64) blas64.General {
	cols := len(x) / rows
	return blas64.General{
		Rows:   rows,
		Cols:   cols,
		Stride: cols,
		Data:   x,
	}
}

// factor returns Omega to multiply vectors by. Single-task learning has a diagonal Omega for
// any number of tasks.
func factor(omega *mat.SymDense) mat.Matrix {
	if norm1(omega) != mat.Trace(omega) {
		return mat.DenseCopyOf(omega)
	}
	diagonal := mat.NewDiagDense(omega.SymmetricDim(), nil)
	diagonal.DiagFrom(omega)
	return diagonal
}

// multiply sets dst to Omega X.
func multiply(dst []float64, omega mat.Matrix, x []float64) {
	m, _ := omega.Dims()
	full, ok := omega.(*mat.Dense)
	if ok {
		gemm(blas.NoTrans, blas.NoTrans, full.RawMatrix(),
			general(m, x), general(m, dst))
		return
	}
	d := len(x) / m
	for i := range m {
		row := x[i*d:][:d]
		floats.ScaleTo(dst[i*d:][:d], omega.At(i, i), row)
	}
}

// sandwich returns A B A.
func sandwich(a, b *mat.SymDense) *mat.SymDense {
	var c mat.Dense
	c.Product(a, b, a)
	return linalg.Symmetrised(&c, 1)
}

// products returns X Y' for two m x d matrices.
func products(x, y []float64, m int) *mat.Dense {
	p := mat.NewDense(m, m, nil)
	gemm(blas.NoTrans, blas.Trans, general(m, x), general(m, y), p.RawMatrix())
	return p
}

// rowsOf returns W' (m x d, row-major), in which the weights of a task are
// contiguous.
func rowsOf(w *mat.Dense) []float64 {
	return mat.DenseCopyOf(w.T()).RawMatrix().Data
}

// gram returns W'W from the rows of W'.
func gram(rows []float64, m int) *mat.SymDense {
	return linalg.Symmetrised(products(rows, rows, m), 1)
}

// dot returns <A, B> of symmetric matrices.
func dot(a, b *mat.SymDense) float64 {
	var products mat.Dense
	products.MulElem(a, b)
	return mat.Sum(&products)
}

// addSym adds c b to a.
func addSym(a *mat.SymDense, c float64, b *mat.SymDense) {
	for i := range a.SymmetricDim() {
		for j := range i + 1 {
			a.SetSym(i, j, a.At(i, j)+c*b.At(i, j))
		}
	}
}

// identity returns c I.
func identity(m int, c float64) *mat.SymDense {
	return shifted(mat.NewSymDense(m, nil), c)
}

// shifted returns A + c I.
func shifted(a *mat.SymDense, c float64) *mat.SymDense {
	s := mat.NewSymDense(a.SymmetricDim(), slices.Clone(a.RawSymmetric().Data))
	for i := range a.SymmetricDim() {
		s.SetSym(i, i, a.At(i, i)+c)
	}
	return s
}

// norm1 is the sum of the absolute values of all entries.
func norm1(a mat.Matrix) float64 {
	return floats.Norm(mat.DenseCopyOf(a).RawMatrix().Data, 1)
}

// inverted returns the inverse of a positive definite matrix and the logarithm of its
// determinant.
func inverted(a *mat.SymDense) (inverse *mat.SymDense, logDet float64, err error) {
	var c mat.Cholesky
	if !c.Factorize(a) {
		return nil, 0, ErrInvalidOmega.Errorf("a matrix of size %d has no inverse; it must be positive definite",
			a.SymmetricDim())
	}
	inverse = new(mat.SymDense)
	c.InverseTo(inverse) // of an ill-conditioned one nearly
	return inverse, c.LogDet(), nil
}
