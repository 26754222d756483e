package multitask

import (
	"context"
	"fmt"
	"testing"

	"l2mt/data"

	"gonum.org/v1/gonum/mat"
)

// TestBothSidesOfWAgree fits problems with more tasks than features on either
// side of W: there are two proofs that neither is above the minimum.
func TestBothSidesOfWAgree(t *testing.T) {
	opt := Options{Tolerance: 1e-9, MaxIterations: 500}
	for seed, s := range []shape{{9, 4, 12, Logistic, false}, {7, 3, 20, Square, true}} {
		problem := mustProblem(t, s.loss, samples(s, uint64(seed)))
		for _, name := range []string{"snr", "snr1", "snr2", "mtrl", "ssnr2", "cmtl"} {
			p, err := Complete(registry[name], batteryParams(registry[name]))
			if err != nil {
				t.Fatal(err)
			}
			across := newSolver(problem, registry[name], p, 1)
			along := newSolver(problem, registry[name], p, 1)
			along.across = false
			for _, q := range []*point{&along.point, &along.trial, &along.step} {
				q.s = mat.NewSymDense(s.m, nil)
			}
			if !across.across {
				t.Fatalf("%s, %v: the side of the tasks is taken", name, s)
			}
			a, err := across.run(context.Background(), opt)
			if err != nil {
				t.Fatal(err)
			}
			b, err := along.run(context.Background(), opt)
			if err != nil {
				t.Fatal(err)
			}
			near(t, fmt.Sprintf("%s, %v: objective", name, s), a.Objective, b.Objective, 2e-9)
			nearMatrix(t, fmt.Sprintf("%s, %v: W", name, s), a.W, b.W, 1e-3)
			nearMatrix(t, fmt.Sprintf("%s, %v: Omega", name, s), a.Omega, b.Omega, 1e-3)
		}
	}
}

// TestBlocksInvertTheNewtonMatrix: the preconditioner is the inverse while Psi is
// held, and without a floor, where Psi follows and every pair is one of those it
// has, all the same.
func TestBlocksInvertTheNewtonMatrix(t *testing.T) {
	s := shape{9, 4, 12, Logistic, false}
	solver := newSolver(mustProblem(t, s.loss, samples(s, 2)), registry["snr1"], Params{Lambda1: 1e-2, Lambda2: 1e-2}, 1)
	random := data.Stream(2, "blocks")
	copy(solver.w, normals(random, s.m*s.d))
	solver.moveTo(&solver.point)
	solver.gradient()
	if err := solver.relate(); err != nil {
		t.Fatal(err)
	}
	root, rootT := solver.rel.root, mat.DenseCopyOf(solver.rel.root.T())
	solver.rotate(solver.z, solver.rel.inverse, solver.w)
	v, hv, back := normals(random, s.m*s.d), make([]float64, s.m*s.d), make([]float64, s.m*s.d)
	for _, pairs := range []int{0, s.d * (s.d + 1) / 2} {
		n := solver.newBlocks(rootT)
		if pairs > 0 {
			solver.follow = solver.rel.curve()
			n.takeAway()
		}
		if len(n.pairs) != pairs {
			t.Fatalf("there are %d pairs, not %d", len(n.pairs), pairs)
		}
		solver.multiply(hv, v, root, rootT)
		n.solve(back, hv)
		nearMatrix(t, fmt.Sprintf("back with %d pairs", pairs), mat.NewVecDense(len(back), back), mat.NewVecDense(len(v), v), 1e-9)
	}
}
