package multitask

import (
	"fmt"
	"testing"

	"l2mt/data"

	"gonum.org/v1/gonum/mat"
)

// TestPattern puts what relax and follow return into the equations that they solve, by
// either system.
func TestPattern(t *testing.T) {
	const m = 7
	random := data.Stream(1, "pattern")
	omega := gramOf(normals(random, m*2*m), m, 2*m)
	inverse, err := invert(omega)
	if err != nil {
		t.Fatal(err)
	}
	p, right := inverse.Omega, gramOf(normals(random, m*m), m, m)
	for _, every := range []int{1, 2, 5, 100} { // from all of them loose to nearly none
		e := newPattern(omega, p, func(i, j int) bool { return (i*m+j)%every == 0 })
		if !e.factorize() {
			t.Fatalf("every %d: singular", every)
		}
		u, v := e.relax(right), e.follow(right)
		pup, ovo := sandwich(p, u), sandwich(omega, v)
		for i := range m {
			for j := range i + 1 {
				at := fmt.Sprintf("every %d: (%d, %d)", every, i, j)
				if i != j && (i*m+j)%every == 0 {
					near(t, at+" of P U P", pup.At(i, j), right.At(i, j), 1e-8)
					near(t, at+" of V", v.At(i, j), 0, 1e-8)
				} else {
					near(t, at+" of Omega V Omega", ovo.At(i, j), right.At(i, j), 1e-8)
					near(t, at+" of U", u.At(i, j), 0, 1e-8)
				}
			}
		}
	}
}

// TestGraphicalLassoOfManyTasks has more unknowns than it solves for directly: the
// certificate is that of any other.
func TestGraphicalLassoOfManyTasks(t *testing.T) {
	const m = 70
	c := gramOf(normals(data.Stream(2, "pattern"), m*200), m, 200)
	c.ScaleSym(1.0/200, c)
	omega, precision, gap, err := graphicalLasso(c, 0.06, hint{})
	if err != nil {
		t.Fatal(err)
	}
	zeros := 0
	for i := range m {
		for j := range i {
			if diff := omega.At(i, j) - c.At(i, j); diff > -0.05999 && diff < 0.05999 {
				zeros++
			}
		}
	}
	if pairs := m * (m + 1) / 2; min(zeros, pairs-zeros) <= largestSupport || gap > 1e-10*m {
		t.Errorf("%d of %d entries are zero, gap %g", zeros, pairs, gap)
	}
	var product mat.Dense
	product.Mul(omega, precision)
	nearMatrix(t, "Omega P", &product, identity(m, 1), 1e-8)
}
