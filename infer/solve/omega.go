package solve

import (
	"gonum.org/v1/gonum/mat"

	"l2mt/infer"
	"l2mt/layers/linalg"
)

// manyTasks is the number of tasks from which gonum's eigendecomposition takes more than
// twice the time of package linalg's: about 10 times for 512.
const manyTasks = 200

// Omega is infer.Omega, with the eigendecomposition of package linalg where there are many
// tasks.
func Omega(phi *mat.SymDense, rho float64) (*infer.Solution, error) {
	if phi.SymmetricDim() >= manyTasks {
		t := linalg.Tridiagonalise(phi)
		kappa, ok := t.Values()
		if ok {
			s, err := infer.FromSpectrum(kappa, rho,
				func(k int) (mat.Matrix, bool) {
					v, ok := t.Lowest(kappa, k)
					return v.T(), ok
				})
			if err == nil {
				return s, nil
			}
		}
	}
	return infer.Omega(phi, rho)
}
