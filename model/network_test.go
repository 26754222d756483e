package model_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/safetensors"
	"l2mt/layers"
	"l2mt/model"
	"l2mt/model/modeltest"
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
		if got.Config != n.Config || got.Provenance["experience"] != "digits" {
			t.Errorf("loaded %+v, saved %+v", got, n)
		}
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
		if err != nil || len(files) != 2 {
			t.Errorf("the directory holds %v (%v); it must hold two files", files, err)
		}
	}
}

// Every kind of damage is refused, with the file and the tensor or field.
func TestLoadNamesEveryMismatch(t *testing.T) {
	c := config(t, "default", 3)
	file := func(change func(p model.Params, metadata map[string]string) model.Params) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, model.WeightsFile)
			tensors, metadata, err := safetensors.Read(path, nil)
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
		{"an unknown choice", text(`"affine-kernel"`, `"even-kernel"`), model.ErrConfig, []string{model.WeightsFile + `: metadata "network": estimator "even-kernel" is not in this binary; import the package that registers it`}},
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
			if err == nil || tc.is != nil && !errors.Is(err, tc.is) {
				t.Fatalf("the error is %v, want one of %v", err, tc.is)
			}
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
	datatest.Must(datatest.Must(model.NewForward(n))(t).Estimate(payload))(t)
	for objective, want := range map[model.Objective]string{n.Config.Objective: "import the package that registers it", "": "one of found, paper, scaled"} {
		c.Objective = objective
		datatest.Refused(model.NewTrainingGraph(c, []float64{1, 2}))(t, model.ErrConfig, want)
	}
}

// A file system brings the same network as its directory, but no head.
func TestAFileSystemBringsTheNetworkOfItsDirectory(t *testing.T) {
	dir := t.TempDir()
	datatest.Check(t, network(t, config(t, "default", 3), 1).Save(dir))
	want := datatest.Must(model.Load(dir))(t)
	datatest.Equal(t, datatest.Must(model.LoadFS(os.DirFS(dir)))(t), want, "the network")
	datatest.Refused(model.LoadFS(fstest.MapFS{}))(t, fs.ErrNotExist)
	datatest.Check(t, headed(t, 1, randomHead(data.Stream(4, "embedded head"), 5, 4, 3)).Save(dir))
	datatest.Refused(model.LoadFS(os.DirFS(dir)))(t, model.ErrConfig, "head")
}

func TestAConfigurationSurvivesJSON(t *testing.T) {
	want := config(t, "default", 3)
	want.Free = true
	b := datatest.Must(json.Marshal(want))(t)
	var got model.Config
	if err := json.Unmarshal(b, &got); err != nil || got != want {
		t.Errorf("%s became %+v (%v)", b, got, err)
	}
}
