package model_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/safetensors"
	"l2mt/model"
	"l2mt/model/modeltest"
)

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
		if tensors, _, err := safetensors.Decode(weights); err == nil {
			if weights, err = safetensors.Encode(tensors, map[string]string{"network": string(text)}); err != nil {
				return
			}
		}
		datatest.Check(t, os.WriteFile(filepath.Join(dir, model.WeightsFile), weights, 0o644))
		n, err := model.Load(dir)
		if err != nil {
			datatest.Says(t, err, nil, dir)
			return
		}
		if n.Config.Features == problem.Cols() {
			estimate(t, n, problem)
		}
		datatest.Check(t, n.Save(dir))
		if _, err := model.Load(dir); err != nil {
			t.Errorf("a network that was loaded and saved is refused: %v", err)
		}
	})
}

// Whatever the file of weights, with the names of either kind, it is refused, or is a head whose layers fit each other.
func FuzzReadHead(f *testing.F) {
	array := func(name string, shape ...int) safetensors.Tensor {
		size := 1
		for _, n := range shape {
			size *= n
		}
		return safetensors.Tensor{Name: name, DType: safetensors.F32, Shape: shape, Value: make([]float64, size)}
	}
	for _, tensors := range [][]safetensors.Tensor{
		{array("W0", 2, 3), array("b0", 3), array("W1", 3, 1), array("b1", 1)},
		{array("W", 2, 3), array("b", 3)},
		{array("classifier.0.weight", 3, 2), array("classifier.0.bias", 3), array("features.0.weight", 1)},
		{array("W0", 2, 3), array("W00", 3), array("b0", 3), array("b99999999999999999999", 1)},
		{array("W0", 0, 3), array("b0", 3)},
	} {
		content := datatest.Must(safetensors.Encode(tensors, nil))(f)
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "head.safetensors")
		datatest.Check(t, os.WriteFile(path, content, 0o644))
		head, err := model.ReadHead(path)
		if err != nil {
			return
		}
		datatest.Check(t, head.Validate())
		for i, l := range head {
			if len(l.W) != l.In*l.Out || len(l.B) != l.Out || i > 0 && l.In != head[i-1].Out {
				t.Errorf("layer %d: %d x %d with %d weights and %d biases", i, l.In, l.Out, len(l.W), len(l.B))
			}
		}
	})
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	return datatest.Must(os.ReadFile(path))(t)
}
