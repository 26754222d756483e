package report

import (
	"fmt"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/model/multitask"
)

// Tasks of a group stand together, in whatever order they come.
func TestGroupsStandTogether(t *testing.T) {
	const n = 12
	m := &multitask.Saved{Omega: mat.NewSymDense(n, nil)}
	group := func(i int) int { return i * 5 % n / 4 }
	for i := range n {
		m.Tasks = append(m.Tasks, multitask.SavedTask{Name: fmt.Sprint(group(i))})
		for j := range i + 1 {
			switch {
			case i == j:
				m.Omega.SetSym(i, j, 1.1)
			case group(i) == group(j):
				m.Omega.SetSym(i, j, 1)
			default:
				m.Omega.SetSym(i, j, -0.2)
			}
		}
	}
	c := grouped(m)
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	if got := slices.Compact(slices.Clone(c.Tasks)); len(got) != 3 || c.Correlation[0][1] < 0.9 {
		t.Errorf("the groups stand as %v", c.Tasks)
	}
}
