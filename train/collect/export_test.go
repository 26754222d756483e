package collect

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"l2mt/model/multitask"
)

// For the tests, which are in a package of their own.

// Exploration is a kind of random covariances by its name.
func Exploration(name string) func(r *rand.Rand, m int) *mat.SymDense {
	return func(r *rand.Rand, m int) *mat.SymDense { return explore(name, r, m) }
}

// Explorations is the number of kinds.
var Explorations = len(explorations)

var (
	DrawParams = drawParams
	FitOptions = multitask.Options{Tolerance: fitTolerance, MaxIterations: fitIterations}
)
