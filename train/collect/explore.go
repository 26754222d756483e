package collect

// Random covariances of trace 1.

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// exploration is a way to draw covariances for m tasks.
type exploration struct {
	name string
	draw func(r *rand.Rand, m int) *mat.SymDense
}

var explorations = []exploration{
	// All tasks alike, up to signs.
	{"rank-one", func(r *rand.Rand, m int) *mat.SymDense { return outer(signs(r, m)) }},
	{"low-rank", func(r *rand.Rand, m int) *mat.SymDense { return outer(normals(r, m, 1+m/3)) }},
	{"wishart", func(r *rand.Rand, m int) *mat.SymDense { return outer(normals(r, m, m)) }},
	// Anywhere between all tasks alike and each on its own.
	{"ridge", func(r *rand.Rand, m int) *mat.SymDense {
		omega, t := outer(signs(r, m)), r.Float64()
		omega.ScaleSym(1-t, omega)
		for i := range m {
			omega.SetSym(i, i, omega.At(i, i)+t/float64(m))
		}
		return omega
	}},
}

// outer returns A A' divided by its trace.
func outer(a *mat.Dense) *mat.SymDense {
	var omega mat.SymDense
	omega.SymOuterK(1, a)
	omega.ScaleSym(1/mat.Trace(&omega), &omega)
	return &omega
}

func signs(r *rand.Rand, m int) *mat.Dense {
	return drawn(m, 1, func() float64 { return float64(2*r.IntN(2) - 1) })
}

func normals(r *rand.Rand, m, k int) *mat.Dense { return drawn(m, k, r.NormFloat64) }

// drawn is a matrix of drawn entries, row by row.
func drawn(m, k int, entry func() float64) *mat.Dense {
	a := mat.NewDense(m, k, nil)
	a.Apply(func(int, int, float64) float64 { return entry() }, a)
	return a
}
