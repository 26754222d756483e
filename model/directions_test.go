package model_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/safetensors"
	"l2mt/model"
	"l2mt/model/modeltest"
)

// Directions come back with the network, and are for the features that they are of. A
// network without leaves none of another.
func TestDirectionsAreSavedWithTheNetwork(t *testing.T) {
	p := modeltest.Problem(data.Stream(1, "directions"), 3, 6, 5)
	n := network(t, config(t, "default", 3), 1)
	n.Directions = &model.Directions{M: mat.NewDense(3, 2, []float64{1, 2, -3, 0.5, 0, 8}), Signal: 1.0 / 3}
	dir := t.TempDir()
	for _, names := range [][]string{nil, {"a", "b", "c"}} {
		p.Features = names
		n.Directions.Features = names
		if err := n.Save(dir); err != nil {
			t.Fatal(err)
		}
		got := must(model.Load(dir))(t)
		if m := got.DirectionsOf(p); m == nil || !mat.Equal(m, n.Directions.M) || got.Directions.Signal != n.Directions.Signal {
			t.Errorf("the directions of %q are %v, want those saved", names, m)
		}
		other := *p
		for _, features := range [][]string{{"c", "b", "d"}, {"c", "b", "b"}} {
			if other.Features = features; got.DirectionsOf(&other) != nil {
				t.Errorf("features %q have the directions of %q", features, names)
			}
		}
		other.Features = []string{"c", "a", "b"}
		m := got.DirectionsOf(&other)
		if names == nil && m != nil {
			t.Error("features with names have the directions of some without")
		}
		if want := mat.NewDense(3, 2, []float64{0, 8, 1, 2, -3, 0.5}); names != nil && (m == nil || !mat.Equal(m, want)) {
			t.Errorf("in another order the directions are %v, want %v", m, want)
		}
		wider := modeltest.Problem(data.Stream(1, "directions"), 4, 6, 5)
		if wider.Features = names; got.DirectionsOf(wider) != nil {
			t.Error("more features have the same directions")
		}
	}
	n.Directions = nil
	if err := n.Save(dir); err != nil {
		t.Fatal(err)
	}
	if got, err := model.Load(dir); err != nil || got.Directions != nil || got.DirectionsOf(p) != nil {
		t.Errorf("the directions of another network are left (%v)", err)
	}
}

func TestDamagedDirectionsAreRefused(t *testing.T) {
	n := network(t, config(t, "default", 3), 1)
	dir := t.TempDir()
	if err := n.Save(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, model.DirectionsFile)
	tensor := func(name string, shape []int, value ...float64) safetensors.Tensor {
		return safetensors.Tensor{Name: name, Shape: shape, DType: safetensors.F64, Value: value}
	}
	m, signal := tensor("M", []int{2, 1}, 1, 2), tensor("signal", []int{1}, 3)
	for _, c := range []struct {
		what    string
		tensors []safetensors.Tensor
	}{
		{"features x directions", []safetensors.Tensor{tensor("M", []int{2}, 1, 2), signal}},
		{`the tensors "M"`, []safetensors.Tensor{tensor("K", []int{2, 1}, 1, 2), signal}},
		{`"signal", a number`, []safetensors.Tensor{m}},
		{"it must be finite", []safetensors.Tensor{tensor("M", []int{2, 1}, 1, math.Inf(1)), signal}},
		{"it must be finite", []safetensors.Tensor{m, tensor("signal", []int{1}, math.NaN())}},
	} {
		what := c.what
		if err := safetensors.Write(path, c.tensors, nil); err != nil {
			t.Fatal(err)
		}
		_, err := model.Load(dir)
		if !errors.Is(err, model.ErrMismatch) || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), path) {
			t.Errorf("error %v, want one of %s with %q", err, path, what)
		}
	}
	if err := os.WriteFile(path, []byte("no tensors"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := model.Load(dir); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want one of %s", err, path)
	}
}
