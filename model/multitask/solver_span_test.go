package multitask

import (
	"testing"

	"l2mt/data"

	"gonum.org/v1/gonum/mat"
)

// TestSpanInvertsTheNewtonMatrix: the preconditioner undoes the Newton matrix on
// the span of W, as far as it stays there, and Lambda1 beside it.
func TestSpanInvertsTheNewtonMatrix(t *testing.T) {
	tried := 0
	for seed, s := range shapes {
		problem := mustProblem(t, s.loss, samples(s, uint64(seed)))
		for _, name := range Names() {
			p, err := Complete(registry[name], batteryParams(registry[name]))
			if err != nil {
				t.Fatal(err)
			}
			solver := newSolver(problem, registry[name], p, 1)
			random := data.Stream(uint64(seed), "span")
			copy(solver.w, normals(random, s.m*s.d))
			solver.moveTo(&solver.point)
			solver.gradient()
			solver.floor = 1e-2
			if err := solver.relate(); err != nil {
				t.Fatal(err)
			}
			if solver.across || solver.rel.curve == nil {
				continue
			}
			rotate(solver.z, solver.rel.inverse, solver.w, s.d)
			if solver.follow = solver.rel.curve(); solver.follow == nil {
				continue
			}
			n, convex := solver.newSpan()
			if !convex {
				continue
			}
			if r := min(s.m, s.d); n.k != s.m || n.r != r {
				t.Fatalf("%s, %s: the span has %d x %d directions, not %d x %d", name, s, n.k, n.r, s.m, r)
			}
			tried++
			z, hz, back := make([]float64, s.m*s.d), make([]float64, s.m*s.d), make([]float64, s.m*s.d)
			c := mat.NewDense(n.k, n.r, normals(random, n.k*n.r))
			rotate(z, c, n.q, s.d)
			solver.multiply(hz, z, solver.rel.root, mat.DenseCopyOf(solver.rel.root.T()))
			n.solve(back, hz)
			nearMatrix(t, name+" on the span", coordinates(n, back), c, 1e-7)

			v, whole := normals(random, s.m*s.d), make([]float64, s.m*s.d)
			n.solve(whole, v)
			rotate(z, coordinates(n, v), n.q, s.d)
			n.solve(back, z)
			add(1/p.Lambda1, v, back)
			add(-1/p.Lambda1, z, back)
			nearMatrix(t, name+" beside the span", mat.NewVecDense(len(back), whole), mat.NewVecDense(len(back), back), 1e-9)
		}
	}
	if tried < 20 {
		t.Errorf("only %d Newton matrices were definite", tried)
	}
}

// coordinates returns the coordinates of the part of z in the span.
func coordinates(n *span, z []float64) *mat.Dense {
	c := mat.NewDense(n.k, n.r, nil)
	for i := range n.k {
		for a := range n.r {
			c.Set(i, a, inner(z[i*n.d:][:n.d], n.q[a*n.d:][:n.d]))
		}
	}
	return c
}
