package command

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data/experience"
	"l2mt/infer/compare"
	"l2mt/train"
)

// Whatever the experiment, it is refused or all its runs can be set up.
func FuzzExperiment(f *testing.F) {
	for _, name := range experimentNames() {
		x, err := readExperiment(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(x.text)
	}
	for _, s := range []string{"", "seeds = [-1]", "[training]\nhelp = true", "[training]\n\"\" = 1", "[experience]\ndraws = [[1], {a = 2}]",
		"[[vary]]\nsetting = 'problems.train'\nvalues = [1, 1]", "[[vary]]\nsetting = 'training.lr'\nvalues = [nan, inf, 1979-05-27]\nlog = true",
		"[[vary]]\n[[vary.case]]\nname = 'a'\n[vary.case.training]\nseed = 2", "[case]\nshared = '1'", "[problems]\nmin_tasks = 9\nmin-tasks = 3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, err := parseExperiment("fuzz", text)
		if err != nil {
			return
		}
		for _, at := range x.points() {
			for _, seed := range x.Seeds {
				if _, err := x.setup(at, seed); err != nil {
					t.Errorf("an experiment that was accepted cannot be set up: %v", err)
				}
			}
		}
	})
}

// Whatever the configuration file of train, it is refused or makes a
// configuration that is valid.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{"", "hidden = 3\nlr_embed = 1e-4\nunit = true", "estimator = 'kernel'", "estimator = 3", "seed = -1", "layers = [1, 2]",
		"lr = nan", "config = 'other.toml'", "experience = '/'", "help = true", "json = true", "[train]\nlr = 1", "batch = 1979-05-27", "epochs = {a = 1}", "lr = '\\u0000'"} {
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
			omega, err := covariance(g.Omega)
			if err != nil {
				continue
			}
			if omega.SymmetricDim() != len(g.Omega) || math.IsNaN(mat.Norm(omega, 1)) {
				t.Errorf("%v became %v", g.Omega, omega)
			}
		}
	})
}

// Whatever stands in the files that pictures and the report are drawn from, they
// are refused or drawn.
func FuzzPictures(f *testing.F) {
	const metrics, table, result, swept, kinds = 0, 1, 2, 3, 4
	encoded := func(v any) []byte {
		raw, err := json.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		return raw
	}
	line := encoded(train.Metrics{Loss: 1, Residual: 0.5, Spread: 1e-3, Scalars: map[string][]float64{"alpha": {1, 2}}})
	f.Add(metrics, append(append(line, '\n'), encoded(train.Metrics{Epoch: 1, Loss: 0.1, Scalars: map[string][]float64{"alpha": {1, 2}}})...))
	f.Add(metrics, append(append(line, '\n'), `{"epoch":1e15,"loss":1e308,"scalars":{"alpha":[1]}}`...))
	f.Add(table, encoded(compare.Table{Problems: []string{"p"}, Best: "a", Rows: []compare.Row{{Title: "a", Model: "l2mt", PerProblem: 0.9}, {Title: "b", PerProblem: 1, StandardError: compare.Float(math.NaN())}}}))
	f.Add(table, []byte(`{"rows":[{"per_problem":"+Inf"}]}`))
	f.Add(table, []byte(`{"rows":[{"per_problem":1e308},{"per_problem":-1e308,"standard_error":1e300}]}`))
	f.Add(result, encoded(inferred{Problem: "p", Tasks: []string{"a", "b"}, Found: &view{Correlation: [][]float64{{1, -0.5}, {-0.5, 1}}, Scale: 1}}))
	f.Add(result, []byte(`{"tasks":["a"],"found":null,"used":{"correlation":[[1,2]]}}`))
	f.Add(swept, encoded(sweepResult{Title: "t", Seeds: []uint64{1, 2}, Axes: []sweepAxis{{Label: "x", Numeric: true, Log: true, Fit: true}},
		Rows:         []sweepRow{{At: []string{"1"}, X: 1, Title: "a", Model: "l2mt", Relative: 0.9, Deviation: 0.1}, {At: []string{"2"}, X: 2, Title: "a", Model: "l2mt", Relative: 0.8}},
		Correlations: []sweepCorrelation{{Title: "c", Tasks: []string{"a"}, Correlation: [][]float64{{1}}}}}))
	f.Add(swept, []byte(`{"axes":[{"numeric":true,"log":true,"fit":true}],"rows":[{"at":["0"],"x":0,"model":"l2mt","relative":0.9},{"at":["1"],"x":1,"model":"l2mt","relative":0.8},{"at":["2"],"x":2,"model":"l2mt","relative":0.7}]}`))
	// Errors far apart, with a fit that falls below zero.
	f.Add(swept, []byte(`{"axes":[{"numeric":true,"fit":true}],"rows":[{"at":["1"],"x":1,"model":"l2mt","relative":9},{"at":["2"],"x":2,"model":"l2mt","relative":1},{"at":["9"],"x":9,"model":"l2mt","relative":0.1}]}`))
	f.Add(swept, []byte(`{}`))
	f.Add(swept, []byte(`{"axes":[{"label":"x"},{"label":"y"}],"rows":[{"at":["a","b"],"title":"m","relative":1},{"at":[],"relative":1e308}],"show":["x"]}`))
	f.Fuzz(func(t *testing.T, kind int, raw []byte) {
		path := filepath.Join(t.TempDir(), "picture.svg")
		var drawn *picture
		var err error
		switch uint(kind) % kinds {
		case metrics:
			var m []train.Metrics
			if m, err = parseMetrics(raw); err == nil {
				drawn, err = plotTraining(m)
			}
		case table:
			var table compare.Table
			if err = parseJSON(raw, &table); err == nil {
				drawn, err = plotTable(&table)
			}
		case result:
			var r inferred
			if err = parseJSON(raw, &r); err == nil {
				drawn, err = plotCorrelations(r.Tasks, r.views())
			}
		case swept:
			var r sweepResult
			if err = parseJSON(raw, &r); err == nil {
				drawn, err = plotSweep(&r)
			}
			if err == nil && len(r.Correlations) > 0 {
				correlations, err := plotCase(&r)
				_ = savePicture(path, correlations, err)
			}
		}
		_ = savePicture(path, drawn, err) // an error is as good as a picture
	})
}

// Whatever stands where eval and sweep wrote down what their results depend on,
// it is refused or can be written again.
func FuzzMarks(f *testing.F) {
	for _, v := range []any{evaluation{Network: "a", Points: 4, Versions: currentVersions()}, mark{Of: experience.Manifest{}, Versions: currentVersions()}} {
		raw, err := json.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(`{"points":"4"}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, v := range []any{new(evaluation), new(mark)} {
			if err := parseJSON(raw, v); err != nil {
				continue
			}
			if _, err := json.Marshal(v); err != nil {
				t.Errorf("%q is read as %+v, which cannot be written: %v", raw, v, err)
			}
		}
	})
}
