package solve

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/infer"
)

// phiOf is that of m tasks of which the last two are alike, so that the lowest eigenvalue
// may be that of several vectors.
func phiOf(m int, random bool) *mat.SymDense {
	r, phi := data.Stream(1, "phi"), mat.NewSymDense(m, nil)
	for i := range m {
		for j := range i + 1 {
			if random {
				phi.SetSym(i, j, r.NormFloat64()/float64(m))
			} else if i == j && i >= m-2 {
				phi.SetSym(i, j, -1)
			}
		}
	}
	return phi
}

// With many tasks another routine finds the eigenvectors, and the covariance is the same.
func TestOmegaOfManyTasks(t *testing.T) {
	datatest.Long(t)
	for _, m := range []int{manyTasks - 1, manyTasks} {
		for _, random := range []bool{true, false} {
			for _, rho := range []float64{-1, 0, 1e-3, 1} {
				phi := phiOf(m, random)
				got := datatest.Must(Omega(phi, rho))(t)
				want := datatest.Must(infer.Omega(phi, rho))(t)
				var d mat.Dense
				d.Sub(got.Omega, want.Omega)
				if r := mat.Norm(&d, 2); !(r <= 1e-10) || got.Multiplicity != want.Multiplicity || math.Abs(got.Objective-want.Objective) > 1e-12 {
					t.Errorf("m = %d, random %v, rho %v: Omega is %.3g away, multiplicity %d and %d, objective %v and %v",
						m, random, rho, r, got.Multiplicity, want.Multiplicity, got.Objective, want.Objective)
				}
			}
		}
	}
	phi := phiOf(manyTasks, true)
	phi.SetSym(3, 5, math.NaN())
	datatest.Refused(Omega(phi, 1))(t, infer.ErrInvalid)
}
