package command

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/cmd/l2mt/internal/run"
	"l2mt/data"
)

// Whatever the configuration file of train, it is refused or makes a
// configuration that is valid.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{"", "[model]\nhidden = 3\nunit = true\n[train]\nembedding_rate = 1e-4", "model.estimator = 'kernel'", "[model]\nestimator = 3", "train.seed = -1",
		"model.layers = [1, 2]", "train.rate = nan", "config = 'other.toml'", "[train]\nmodel.hidden = 3", "train = 1", "train.update = 1979-05-27", "train.epochs = {a = 1}", "train.rate = '\\u0000'", "train.head = 'last'"} {
		f.Add(s)
	}
	dir := f.TempDir()
	path := filepath.Join(dir, "config.toml")
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		var c cli
		parser, err := newParser(&c, io.Discard, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if fault := recover(); fault != nil {
				if _, ok := fault.(exit); !ok {
					panic(fault)
				}
			}
		}()
		if _, err := parser.Parse([]string{"train", "--experience", dir, "--out", dir, "--config", path}); err != nil {
			return
		}
		if _, err := c.Train.config(5); err != nil {
			t.Errorf("a configuration that was accepted is not valid: %v", err)
		}
	})
}

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
