package multitask

import (
	"math"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"

	"gonum.org/v1/gonum/mat"
)

// TestAMTLStepAgainstSupports compares the step with the least value over all
// patterns of zeros and signs, on singular W'W: fewer features than tasks, and
// columns that repeat. A minimum with independent columns always exists.
func TestAMTLStepAgainstSupports(t *testing.T) {
	datatest.Long(t)
	check := func(what string, w *mat.Dense, p Params) {
		t.Helper()
		d, m := w.Dims()
		p = datatest.Must(Complete(registry["amtl"], p))(t)
		s := gram(rowsOf(w), m)
		c := datatest.Must(registry["amtl"].Step(s, d, p, Hint{}))(t)
		got, want := p.Lambda2*norm1(c.A), 0.0
		var rest mat.Dense
		rest.Mul(w, c.A)
		rest.Sub(w, &rest)
		got += p.Lambda1 / 2 * math.Pow(mat.Norm(&rest, 2), 2)
		for j := range m {
			want += leastLasso(s, j, p)
		}
		near(t, what, got, want, 1e-9)
	}
	check("W = [1 2 3]", mat.NewDense(1, 3, []float64{1, 2, 3}), Params{Lambda1: 1, Lambda2: 1e-4})
	random := data.Stream(1, "lasso")
	for range 100 {
		m := 2 + random.IntN(3)
		d := 1 + random.IntN(m)
		w := mat.NewDense(d, m, normals(random, d*m))
		w.SetCol(random.IntN(m), mat.Col(nil, random.IntN(m), w))
		check("a random singular step", w, Params{Lambda1: 1, Lambda2: math.Pow(10, -6*random.Float64())})
	}
}

// leastLasso is the least of Lambda1/2 ||w_j - W a||^2 + Lambda2 ||a||_1 over the
// solutions of the stationary equations for every pattern of zeros and signs.
func leastLasso(s *mat.SymDense, j int, p Params) float64 {
	m := s.SymmetricDim()
	least := p.Lambda1 / 2 * s.At(j, j)
	for pattern := range int(math.Pow(3, float64(m))) {
		sign := make([]float64, m)
		for i, left := 0, pattern; i < m; i, left = i+1, left/3 {
			sign[i] = float64(left%3 - 1)
		}
		var active []int
		for i, v := range sign {
			if v != 0 {
				active = append(active, i)
			}
		}
		if sign[j] != 0 || len(active) == 0 {
			continue
		}
		sub := mat.NewSymDense(len(active), nil)
		for a, i := range active {
			for b, k := range active[:a+1] {
				sub.SetSym(a, b, s.At(i, k))
			}
		}
		var chol mat.Cholesky
		if !chol.Factorize(sub) || chol.Cond() > 1e12 {
			continue
		}
		right := mat.NewVecDense(len(active), nil)
		for k, i := range active {
			right.SetVec(k, s.At(i, j)-p.Lambda2/p.Lambda1*sign[i])
		}
		if err := chol.SolveVecTo(right, right); err != nil {
			continue
		}
		a := mat.NewVecDense(m, nil)
		for k, i := range active {
			a.SetVec(i, right.AtVec(k))
		}
		norm := mat.Norm(a, 1)
		a.ScaleVec(-1, a)
		a.SetVec(j, 1)
		least = min(least, p.Lambda1/2*mat.Inner(a, s, a)+p.Lambda2*norm)
	}
	return least
}
