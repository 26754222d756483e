package multitask

import (
	"testing"

	"l2mt/data"

	"gonum.org/v1/gonum/mat"
)

// TestThinIsExactAtLowRank: where all eigenvalues but a few are those of the
// floor, the thin Newton matrix is the whole one.
func TestThinIsExactAtLowRank(t *testing.T) {
	const rank = 5
	s := shape{wide + 6, wide + 8, 8, Logistic, true}
	problem := mustProblem(t, s.loss, samples(s, 11))
	for _, name := range []string{"snr1", "snr2", "mtrl", "ssnr2"} {
		p, err := Complete(registry[name], batteryParams(registry[name]))
		if err != nil {
			t.Fatal(err)
		}
		solver := newSolver(problem, registry[name], p, 1)
		random := data.Stream(12, "thin")
		rotate(solver.w, mat.NewDense(s.m, rank, normals(random, s.m*rank)), normals(random, rank*s.d), s.d)
		solver.moveTo(&solver.point)
		solver.floor = 1e-3
		if err := solver.relate(); err != nil {
			t.Fatal(err)
		}
		n := solver.newThin()
		if n == nil || n.k != rank {
			t.Fatalf("%s: there is no thin matrix of rank %d: %+v", name, rank, n)
		}
		z, v := normals(random, s.m*s.d), make([]float64, s.m*s.d)
		n.rotate(v, z)
		// Both products are of the Hessian in W' with v, times Omega^(1/2).
		thin, whole := make([]float64, len(v)), make([]float64, len(v))
		solver.thin = n
		solver.gradient()
		solver.multiply(thin, z, nil, nil)
		solver.thin = nil
		solver.follow = solver.rel.curve()
		x, hx := make([]float64, len(v)), make([]float64, len(v))
		rotate(solver.z, solver.rel.inverse, solver.w, s.d)
		rotate(x, solver.rel.inverse, v, s.d)
		solver.multiply(hx, x, solver.rel.root, mat.DenseCopyOf(solver.rel.root.T()))
		rotate(x, mat.DenseCopyOf(solver.rel.inverse.T()), hx, s.d)
		n.rotate(whole, x)
		nearMatrix(t, name, mat.NewVecDense(len(thin), thin), mat.NewVecDense(len(whole), whole), 1e-5)
	}
}

// TestWideFits certifies a fit that uses it.
func TestWideFits(t *testing.T) {
	s := shape{wide + 6, wide + 8, 8, Logistic, true}
	problem := mustProblem(t, s.loss, samples(s, 13))
	r := mustFit(t, registry["snr2"], problem, batteryParams(registry["snr2"]), Options{Tolerance: 1e-6})
	if r.Status != Converged {
		t.Errorf("%s with gap %g of %g after %d iterations", r.Status, r.Gap, r.Objective, r.Iterations)
	}
}
