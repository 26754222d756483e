package model_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/safetensors"
	"l2mt/layers"
	"l2mt/model"
	"l2mt/model/modeltest"
	"l2mt/train"
)

func TestASavedNetworkComesBack(t *testing.T) {
	for _, dtype := range []layers.DType{layers.Float32, layers.Float64} {
		c := config(t, "default", 3)
		c.DType, c.Layers, c.Free = dtype, 3, true
		n := network(t, c, 1)
		n.Provenance = map[string]string{"experience": "digits", "seed": "1"}
		dir := filepath.Join(t.TempDir(), "made", "anew")
		for range 2 { // onto nothing, and onto itself
			datatest.Check(t, n.Save(dir))
		}
		got := datatest.Must(model.Load(dir))(t)
		datatest.Holds(t, got.Config == n.Config && got.Provenance["experience"] == "digits",
			"loaded %+v, saved %+v", got, n)
		for i, p := range n.Params {
			for j, v := range p.Value {
				if dtype == layers.Float32 {
					v = float64(float32(v))
				}
				datatest.Equal(t, got.Params[i].Value[j], v, "%s %s[%d]: after loading", dtype, p.Name, j)
			}
		}
		p := modeltest.Problem(data.Stream(1, "saved"), 3, 6, 5)
		if a, b := estimate(t, n, p), estimate(t, got, p); !slices.Equal(a.E, b.E) || !slices.Equal(a.Phi, b.Phi) {
			t.Errorf("%s: the loaded network embeds differently", dtype)
		}
		files, err := os.ReadDir(dir)
		datatest.Holds(t, err == nil && len(files) == 2,
			"the directory holds %v (%v); it must hold two files", files, err)
	}
}

// Every kind of damage is refused, with the file and the tensor or field.
func TestLoadNamesEveryMismatch(t *testing.T) {
	c := config(t, "default", 3)
	file := func(change func(p model.Params, metadata map[string]string) model.Params) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, model.WeightsFile)
			tensors, metadata, err := safetensors.Read(path)
			datatest.Check(t, err)
			datatest.Check(t, safetensors.Write(path, change(tensors, metadata), metadata))
		}
	}
	weights := func(change func(p model.Params) model.Params) func(t *testing.T, dir string) {
		return file(func(p model.Params, _ map[string]string) model.Params { return change(p) })
	}
	text := func(old, new string) func(t *testing.T, dir string) {
		return file(func(p model.Params, metadata map[string]string) model.Params {
			metadata["network"] = strings.Replace(metadata["network"], old, new, 1)
			return p
		})
	}
	bytesOf := func(change func(b []byte) []byte) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, model.WeightsFile)
			b := datatest.Must(os.ReadFile(path))(t)
			datatest.Check(t, os.WriteFile(path, change(b), 0o644))
		}
	}
	for _, tc := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		is     error
		says   []string
	}{
		{"a missing tensor", weights(func(p model.Params) model.Params { return p[1:] }), model.ErrMismatch, []string{model.WeightsFile, `no tensor "L1"`}},
		{"a left-over tensor", weights(func(p model.Params) model.Params {
			return append(p, model.Tensor{Name: "delta", DType: safetensors.F64, Value: []float64{1}})
		}), model.ErrMismatch, []string{`a tensor "delta"`}},
		{"another shape", weights(func(p model.Params) model.Params {
			p[0].Shape = []int{4, 3}
			return p
		}), model.ErrMismatch, []string{`"L1" has shape [4 3]; it must have [3 4]`}},
		{"another precision", weights(func(p model.Params) model.Params {
			p[1].DType = safetensors.F32
			return p
		}), model.ErrMismatch, []string{`"b1" has dtype F32; it must have F64`}},
		{"a number that is none", weights(func(p model.Params) model.Params {
			p[0].Value[5] = math.NaN()
			return p
		}), model.ErrMismatch, []string{`"L1" has NaN at entry 5`}},
		{"a changed byte", bytesOf(func(b []byte) []byte { b[len(b)-3] ^= 1; return b }), safetensors.ErrFormat, []string{model.WeightsFile, "SHA-256"}},
		{"a torn file", bytesOf(func(b []byte) []byte { return b[:len(b)-1] }), safetensors.ErrFormat, []string{model.WeightsFile}},
		{"an empty file", bytesOf(func([]byte) []byte { return nil }), safetensors.ErrFormat, []string{model.WeightsFile}},
		{"an unknown choice", text(`"affine-kernel"`, `"even-kernel"`), model.ErrConfig, []string{model.WeightsFile + `: metadata "network": model.estimator is "even-kernel"; it must be one of affine-kernel`}},
		{"an unknown field", text(`"hidden"`, `"hiden"`), nil, []string{model.WeightsFile, "hiden"}},
		{"another schema", text(`"schema": 2`, `"schema": 1`), model.ErrConfig, []string{model.WeightsFile, "schema 1"}},
		{"no configuration", file(func(p model.Params, metadata map[string]string) model.Params {
			delete(metadata, "network")
			return p
		}), model.ErrConfig, []string{`metadata "network"`}},
		{"no file", func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, model.WeightsFile)) }, os.ErrNotExist, []string{model.WeightsFile}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			datatest.Check(t, network(t, c, 1).Save(dir))
			tc.damage(t, dir)
			_, err := model.Load(dir)
			datatest.Need(t, err != nil && (tc.is == nil || errors.Is(err, tc.is)),
				"the error is %v, want one of %v", err, tc.is)
			for _, part := range tc.says {
				datatest.Says(t, err, nil, part)
			}
		})
	}
}

// A network that was trained with an objective of another program's serves here, but is not
// trained on.
func TestTheObjectiveIsForTrainingAlone(t *testing.T) {
	c := config(t, "default", 3)
	c.Objective = "another-program's"
	dir := t.TempDir()
	datatest.Check(t, network(t, c, 1).Save(dir))
	n := datatest.Must(model.Load(dir))(t)
	payload := datatest.Must(model.Prepare(n.Config, modeltest.Problem(data.Stream(9, "objective"), 3, 5, 6)))(t)
	datatest.Must(model.NewForward(n).Estimate(payload))(t)
	for objective, want := range map[model.Objective]string{n.Config.Objective: "import the package that registers it", "": "one of found, paper, scaled"} {
		c.Objective = objective
		datatest.Refused(model.NewTrainingGraph(c, []float64{1, 2}))(t, model.ErrConfig, want)
	}
}

// A file system brings the same network as its directory.
func TestAFileSystemBringsTheNetworkOfItsDirectory(t *testing.T) {
	dir := t.TempDir()
	datatest.Check(t, network(t, config(t, "default", 3), 1).Save(dir))
	want := datatest.Must(model.Load(dir))(t)
	datatest.Equal(t, datatest.Must(model.LoadFS(os.DirFS(dir)))(t), want, "the network")
	datatest.Refused(model.LoadFS(fstest.MapFS{}))(t, fs.ErrNotExist)
}

// Gorgonia's machine on the graph of a step, and its solvers, come to the parameters that our
// run of the graph and our optimisers come to.
func TestStepsAreThoseOfGorgoniasMachineAndSolver(t *testing.T) {
	solvers := map[string]func(...gorgonia.SolverOpt) gorgonia.Solver{
		"adam":     func(o ...gorgonia.SolverOpt) gorgonia.Solver { return gorgonia.NewAdamSolver(o...) },
		"momentum": func(o ...gorgonia.SolverOpt) gorgonia.Solver { return gorgonia.NewMomentum(o...) },
		"rmsprop":  func(o ...gorgonia.SolverOpt) gorgonia.Solver { return gorgonia.NewRMSPropSolver(o...) },
		"adagrad":  func(o ...gorgonia.SolverOpt) gorgonia.Solver { return gorgonia.NewAdaGradSolver(o...) },
	}
	for _, test := range [][2]string{{"paper", "adam"}, {"default", "adam"}, {"pairs", "adam"}, {"paper", "momentum"}, {"paper", "rmsprop"}, {"paper", "adagrad"}} {
		optimiser := test[1]
		c := pairs(t)
		if test[0] != "pairs" {
			c = config(t, test[0], 3)
		}
		t.Run(test[0]+" "+optimiser, func(t *testing.T) {
			const steps, rate = 15, 0.001 // Gorgonia's AdaGrad has no other
			c.DType = layers.Float64
			if test[0] == "pairs" { // its covariance found multiplies the last digits
				c.Objective = model.Scaled
			}
			r := data.Stream(1, "Gorgonia's solver")
			payload := datatest.Must(model.Prepare(c, modeltest.Problem(r, 3, 6, 7, 5)))(t)
			tuples := []model.Tuple{{Omega: modeltest.Covariance(r, 3), O: 0.8}, {Omega: modeltest.Covariance(r, 3), O: 1.2}}
			graph := datatest.Must(model.NewTrainingGraph(c, []float64{0.8, 1.2}))(t)
			graph.Measure = func(omega *mat.SymDense) (float64, *mat.SymDense, error) {
				slope := mat.NewSymDense(3, []float64{1, 0.5, 0, 0.5, 2, 0, 0, 0, 3})
				return mat.Trace(slope), slope, nil
			}
			params := model.NewParams(c, 1)
			e := datatest.Must(graph.Express(params, payload, tuples))(t)

			machine := gorgonia.NewTapeMachine(e.Graph, gorgonia.BindDualValues(e.Params...))
			defer machine.Close()
			solver := solvers[optimiser](gorgonia.WithLearnRate(rate))
			for range steps {
				datatest.Check(t, machine.RunAll())
				datatest.Check(t, solver.Step(gorgonia.NodesToValueGrads(e.Params)))
				for _, p := range e.Params { // AdaGrad's step leaves its own in the gradient
					datatest.Must(p.Grad())(t).(*tensor.Dense).Zero()
				}
				machine.Reset()
			}

			ours := train.NewOptimiser(optimiser, params)
			for range steps {
				step := datatest.Must(graph.Step(params, payload, tuples))(t)
				ours.Step(params, step.Gradient, slices.Repeat([]float64{rate}, len(params)))
			}
			for i, p := range params {
				near(t, p.Name, e.Params[i].Value().Data().([]float64), p.Value, 1e-12)
			}
		})
	}
}

// Whatever the weights of a network and the configuration in them, they are refused, or
// are a network that says something about a problem and survives being saved.
func FuzzLoad(f *testing.F) {
	problem := modeltest.Problem(data.Stream(1, "fuzz"), 3, 5, 4)
	for _, preset := range []string{"default", "paper"} {
		c := config(f, preset, 3)
		c.Hidden = 2
		dir := f.TempDir()
		datatest.Check(f, network(f, c, 1).Save(dir))
		text, weights := read(f, filepath.Join(dir, model.ConfigFile)), read(f, filepath.Join(dir, model.WeightsFile))
		f.Add(text, weights)
		for _, change := range [][2]string{
			{`"schema": 2`, `"schema": 7, "new": 0`}, {`"hidden": 2`, `"hidden": 1000000000000`}, {`"layers": 2`, `"layers": 1000000000, "free": true`},
			{`"k": 6`, `"k": 9223372036854775807`}, {`"features": 3`, `"features": -1`}, {`"lambda":`, `"lambda": 1e400, "x":`},
		} {
			f.Add(bytes.Replace(text, []byte(change[0]), []byte(change[1]), 1), weights)
		}
	}
	f.Fuzz(func(t *testing.T, text, weights []byte) {
		dir := t.TempDir()
		path := filepath.Join(dir, model.WeightsFile)
		datatest.Check(t, os.WriteFile(path, weights, 0o644))
		if tensors, _, err := safetensors.Decode(weights); err == nil {
			if err = safetensors.Write(path, tensors, map[string]string{"network": string(text)}); err != nil {
				return
			}
		}
		n, err := model.Load(dir)
		if err != nil {
			datatest.Says(t, err, nil, dir)
			return
		}
		if n.Config.Features == problem.Cols() {
			estimate(t, n, problem)
		}
		datatest.Check(t, n.Save(dir))
		_, err = model.Load(dir)
		datatest.Holds(t, err == nil, "a network that was loaded and saved is refused: %v", err)
	})
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	return datatest.Must(os.ReadFile(path))(t)
}
