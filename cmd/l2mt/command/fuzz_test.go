package command

import (
	"encoding/json"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/cmd/l2mt/internal/run"
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

// Whatever stands where eval wrote down what its results depend on,
// it is refused or can be written again.
func FuzzMarks(f *testing.F) {
	for _, v := range []any{evaluation{Network: "a", Points: 4, Versions: run.CurrentVersions()}} {
		raw, err := json.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(`{"points":"4"}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, v := range []any{new(evaluation)} {
			if err := run.ParseJSON(raw, v); err != nil {
				continue
			}
			if _, err := json.Marshal(v); err != nil {
				t.Errorf("%q is read as %+v, which cannot be written: %v", raw, v, err)
			}
		}
	})
}
