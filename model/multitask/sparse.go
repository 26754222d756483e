package multitask

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// sparseStep minimises
//
//	l1/2 tr(S Omega^-1) + l2 ||Omega||_1 subject to tr(Omega) = 1.
//
// Given M, the minimum of l1/2 tr(S Omega^-1) + <M, Omega> over all Omega is
// sqrt(2 l1) tr (F'M F)^(1/2) for S = F F', at
// Omega = sqrt(l1/2) F (F'M F)^(-1/2) F'. The dual is therefore
//
//	maximise sqrt(2 l1) tr (F'M F)^(1/2) - nu + l2 with M = U + nu I
//	over nu and |U_ij| <= l2, U_ii = 0,
//
// a smooth concave function in a box. A projected Newton method maximises it
// until its value meets that of Omega, scaled to trace 1.
func sparseStep(s *mat.SymDense, l1, l2 float64) (*Covariance, error) {
	const iterations = 200
	m := s.SymmetricDim()
	e, err := Eigen(s)
	if err != nil {
		return nil, err
	}
	top := e.Values[m-1]
	if top <= 0 {
		return &Covariance{Omega: identity(m, 1/float64(m))}, nil
	}
	// With S/top and the penalties by l1 top the numbers are of order one. A
	// floor keeps Omega definite where S is singular.
	f, bound := mat.NewDense(m, m, nil), l2/(l1*top)
	root, rank := 0.0, 0
	for k, v := range e.Values {
		if v > 1e-14*top {
			rank++
		}
		q := math.Sqrt(max(v/top, sparseFloor))
		root += q
		for i := range m {
			f.Set(i, k, e.Vectors.At(i, k)*q)
		}
	}
	dual := &boxed{free: true, bound: func(int, int) float64 { return bound }}
	dual.at = func(m *mat.SymDense) (*boxedPoint, error) { return fidelity(f, m) }
	if inside, err := dual.place(mat.NewSymDense(m, nil), root*root/2); err != nil || !inside {
		return nil, fmt.Errorf("multitask: sparse Omega step: %w: W'W is too close to singular", ErrInvalidOmega)
	}
	var scaled mat.SymDense
	scaled.ScaleSym(1/top, s)
	used := f.Slice(0, m, m-rank, m).(*mat.Dense) // the range of S
	best, gap := (*mat.SymDense)(nil), math.Inf(1)
	for range iterations {
		omega, value, err := sparsePrimal(normalised(dual.gradient), &scaled, bound)
		if err != nil {
			return nil, err
		}
		lower, err := fidelity(used, shifted(dual.u, dual.nu))
		if err != nil {
			return nil, err
		}
		if lower != nil && value-(lower.value-dual.nu+bound) < gap {
			best, gap = omega, value-(lower.value-dual.nu+bound)
		}
		if gap <= 1e-14*value {
			break
		}
		if moved, err := dual.advance(); err != nil {
			return nil, err
		} else if !moved {
			break
		}
	}
	c := &Covariance{Omega: best, Gap: math.Max(gap, 0) * l1 * top, multiplier: mat.NewSymDense(m, nil)}
	c.multiplier.ScaleSym(l1*top, dual.u)
	return c, nil
}

// sparseFloor is the least eigenvalue of S, relative to the largest, that the
// dual works with.
const sparseFloor = 1e-12

// sparsePrimal returns an Omega of trace 1 and the objective of the step there.
// Directions that only the floor keeps in Omega are left out if that is better.
func sparsePrimal(omega, s *mat.SymDense, bound float64) (*mat.SymDense, float64, error) {
	e, err := Eigen(omega)
	if err != nil {
		return nil, 0, err
	}
	value := traceInverse(s, e)/2 + bound*norm1(omega)
	if e.Values[0] > 1e2*math.Sqrt(sparseFloor) {
		return omega, value, nil
	}
	for k, mu := range e.Values {
		if mu <= 1e2*math.Sqrt(sparseFloor) {
			e.Values[k] = 0
		}
	}
	cut := normalised(e.Rebuild(e.Values))
	if e, err = Eigen(cut); err != nil {
		return nil, 0, err
	}
	if v := traceInverse(s, e)/2 + bound*norm1(cut); v < value {
		return cut, v, nil
	}
	return omega, value, nil
}

// fidelity is sqrt(2) tr (F'M F)^(1/2) as a function of M, positive definite.
// Its gradient is sqrt(1/2) F (F'M F)^(-1/2) F'.
func fidelity(f *mat.Dense, m *mat.SymDense) (*boxedPoint, error) {
	_, n := f.Dims()
	var mf, fmf mat.Dense
	mf.Mul(m, f)
	fmf.Mul(f.T(), &mf)
	inside := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			inside.SetSym(i, j, (fmf.At(i, j)+fmf.At(j, i))/2)
		}
	}
	e, err := Eigen(inside)
	if err != nil || e.Values[0] <= 0 {
		return nil, err
	}
	p := &boxedPoint{}
	roots, inverse := make([]float64, n), make([]float64, n)
	for i, v := range e.Values {
		roots[i] = math.Sqrt(v)
		inverse[i] = math.Sqrt(0.5) / roots[i]
		p.value += math.Sqrt(2) * roots[i]
	}
	var image mat.Dense
	image.Mul(f, e.Vectors)
	p.gradient = (&Spectrum{Vectors: &image}).Rebuild(inverse)
	p.change = func(dm *mat.SymDense) *mat.Dense {
		var t, k mat.Dense
		t.Mul(dm, &image)
		k.Mul(image.T(), &t)
		for i, a := range roots {
			for j, b := range roots {
				k.Set(i, j, -math.Sqrt(0.5)*k.At(i, j)/(a*b*(a+b)))
			}
		}
		t.Mul(&image, &k)
		k.Mul(&t, image.T())
		return &k
	}
	return p, nil
}
