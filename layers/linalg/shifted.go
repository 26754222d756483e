package linalg

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Shifted returns the eigenvalues of A that are not the one c which it has most of, and
// their vectors as rows:
//
//	A = c I + V' diag(values - c) V
//
// Covariances of many tasks are of this kind: what tasks have of their own, and a few
// directions that they share. It returns false if there are more than most such values;
// with few it takes as many products of A and a vector, after Lanczos.
//
// A vector and its images under A span a space that A leaves alone, with every
// eigenvalue once. So another vector begins where one ends, orthogonal to all before,
// until one is an eigenvector itself: then A is c I in all that is left.
func Shifted(a *mat.SymDense, most int) (c float64, values []float64, v *mat.Dense, ok bool) {
	n := a.SymmetricDim()
	most = min(most, n-1)
	negligible := 1e-13 * mat.Norm(a, 2) // that of the entries, no less than any eigenvalue
	random := rand.New(rand.NewPCG(uint64(n), uint64(most)))
	var basis [][]float64
	var diagonal, beside []float64 // of A in the basis
	for {
		x := make([]float64, n)
		for i := range x {
			x[i] = random.NormFloat64()
		}
		for first := true; ; first = false {
			floats.Scale(1/orthogonalise(x, basis), x)
			y := make([]float64, n)
			mat.NewVecDense(n, y).MulVec(a, mat.NewVecDense(n, x))
			here := floats.Dot(x, y)
			basis, diagonal = append(basis, x), append(diagonal, here)
			length := orthogonalise(y, basis)
			if first && length <= negligible {
				k := len(basis) - 1
				values, v, ok = ritz(basis[:k], diagonal[:k], beside)
				values, v = without(values, v, here, negligible)
				return here, values, v, ok
			}
			if len(basis) > most {
				return 0, nil, nil, false
			}
			if length <= negligible {
				beside = append(beside, 0)
				break
			}
			beside = append(beside, length)
			x = y
		}
	}
}

// orthogonalise takes from x its parts along a basis, and returns its length. Twice is
// enough.
func orthogonalise(x []float64, basis [][]float64) float64 {
	for range 2 {
		for _, b := range basis {
			floats.AddScaled(x, -floats.Dot(x, b), b)
		}
	}
	return floats.Norm(x, 2)
}

// ritz returns the eigenvalues and vectors of a matrix that is tridiagonal in a basis.
func ritz(basis [][]float64, diagonal, beside []float64) ([]float64, *mat.Dense, bool) {
	k := len(basis)
	if k == 0 {
		return nil, nil, true
	}
	rows := mat.NewDense(k, len(basis[0]), nil)
	for i, x := range basis {
		rows.SetRow(i, x)
	}
	t := &Tridiagonal{d: diagonal, e: beside[:k-1], u: mat.NewDense(k, k, nil)} // Q = I
	values, inBasis, ok := t.All()
	if !ok {
		return nil, nil, false
	}
	var v mat.Dense
	v.Mul(inBasis, rows)
	return values, &v, true
}

// without leaves out the values that are c up to a tolerance, with their vectors.
func without(values []float64, v *mat.Dense, c, tolerance float64) (left []float64, of *mat.Dense) {
	var rows []float64
	for i, value := range values {
		if math.Abs(value-c) > tolerance {
			left, rows = append(left, value), append(rows, v.RawRowView(i)...)
		}
	}
	if len(left) > 0 {
		of = mat.NewDense(len(left), len(rows)/len(left), rows)
	}
	return left, of
}
