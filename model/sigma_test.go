package model_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/safetensors"
	"l2mt/model"
	"l2mt/model/modeltest"
)

// A network's metric comes back, square or of low rank, and damage to it is named.
func TestASavedMetricComesBack(t *testing.T) {
	for _, rows := range []int{12, 3} { // more than columns, and fewer
		p := modeltest.Problem(data.Stream(1, "rows"), 9, rows, rows)
		p.Features = []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"}
		n := network(t, config(t, "pairwise", 9), 1)
		n.Sigma = &model.Sigma{Metric: data.NewMetric(p, 0.5), Names: model.NamesOf(p)}
		dir := t.TempDir()
		if err := n.Save(dir); err != nil {
			t.Fatal(err)
		}
		got := must(model.Load(dir))(t)
		if got.Sigma == nil || !got.Sigma.Fits(p) {
			t.Fatalf("%d rows: the metric that comes back is %v", rows, got.Sigma)
		}
		v := mat.NewDense(9, 1, []float64{1, 2, 3, 4, 5, 6, -1, -2, 0})
		if !mat.EqualApprox(got.Sigma.Restore(v), n.Sigma.Restore(v), 1e-5) {
			t.Errorf("%d rows: the metric that comes back is another", rows)
		}
		p.Features[5] = "z"
		if got.Sigma.Fits(p) {
			t.Error("it is for other columns, and fits")
		}
		path := filepath.Join(dir, model.WeightsFile)
		tensors, metadata, err := safetensors.Read(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, tensor := range tensors {
			if !strings.HasPrefix(tensor.Name, "sigma.") {
				continue
			}
			one := slices.Delete(slices.Clone(tensors), i, i+1)
			short := slices.Clone(tensors)
			short[i].Shape, short[i].Value = []int{1, 2}, []float64{1, 2}
			for _, damaged := range [][]safetensors.Tensor{one, short} {
				if err := safetensors.Write(path, damaged, metadata); err != nil {
					t.Fatal(err)
				}
				n, err := model.Load(dir)
				low := rows == 3 && len(damaged) < len(tensors) && tensor.Name != "sigma.scale"
				if err == nil && !low || err != nil && !strings.Contains(err.Error(), "metric") && !strings.Contains(err.Error(), "sigma") {
					t.Errorf("%d rows, %s damaged: %v, %v", rows, tensor.Name, n, err)
				}
			}
		}
	}
}
