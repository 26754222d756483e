package command

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

// Whatever the file for infer --score, it is refused or holds covariances.
func FuzzCovariances(f *testing.F) {
	for _, s := range []string{"", "[]", "null", `[{"name":"a","omega":[[0.5,0.1],[0.1,0.5]]}]`, `[{"omega":[]}]`, `[{"omega":[[1,2],[3]]}]`,
		`[{"omega":[[1,0],[0,-1]]}]`, `[{"omega":[[1e308,1e308],[1e308,1e308]]}]`, `[{"omega":[[0]]}]`, `[{"omega":[[1]],"new":1}]`, `[{"omega":[[1]]}] x`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		given, err := parseCovariances(raw)
		if err != nil {
			return
		}
		for _, g := range given {
			omega, err := data.NewCovariance(g.Omega)
			if err != nil {
				continue
			}
			if omega.SymmetricDim() != len(g.Omega) || math.IsNaN(mat.Norm(omega, 1)) {
				t.Errorf("%v became %v", g.Omega, omega)
			}
		}
	})
}
