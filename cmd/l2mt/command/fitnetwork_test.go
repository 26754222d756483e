package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/cmd/l2mt/internal/run"
	"l2mt/data"
	"l2mt/infer/solve"
	"l2mt/model"
	"l2mt/model/multitask"
	"l2mt/model/pretrained"
)

// columns are those of the tables below: the tasks differ in the first three.
func columns() (names []string) {
	for j := range 20 {
		names = append(names, fmt.Sprint("f", j))
	}
	return names
}

// directed saves the shipped network with directions of three columns from the first.
func directed(t *testing.T, first int) string {
	t.Helper()
	n := must(pretrained.Load())(t)
	m := mat.NewDense(20, 3, nil)
	for j := range 3 {
		m.Set(first+j, j, 1)
	}
	n.Directions = &model.Directions{M: m, Signal: 20.0 / 3, Features: columns()}
	dir := filepath.Join(t.TempDir(), "n")
	if err := n.Save(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// fields writes a table of four tasks, with its columns in some order.
func fields(t *testing.T, order []string) string {
	t.Helper()
	path, r := filepath.Join(t.TempDir(), "fields.csv"), data.Stream(2, "fields")
	var w [4][3]float64
	for i := range w {
		for j := range w[i] {
			w[i][j] = r.NormFloat64()
		}
	}
	writeRows(t, path, append(order, "task", "y"), 48, func(i int) []string {
		y, cell := float64(i/4%2*2-1), map[string]string{}
		for j, name := range columns() {
			v := r.NormFloat64()
			if j < 3 {
				v += y * w[i%4][j]
			}
			cell[name] = run.Full(v)
		}
		var cells []string
		for _, name := range order {
			cells = append(cells, cmp.Or(cell[name], "1"))
		}
		return append(cells, fmt.Sprint("task ", i%4), fmt.Sprint(y))
	})
	return path
}

// A network of one's own brings its directions to tables of the same columns, and what
// held-out rows do not bear out is left.
func TestTablesAlongDirections(t *testing.T) {
	t.Parallel()
	table := fields(t, columns())
	fit := func(args ...string) (r fitReport, stderr string) {
		t.Helper()
		code, stdout, stderr := l2mt(t, append([]string{"--json", "fit", "--task", "task", "--target", "y", "--kind", "classification"}, args...)...)
		if code != exitDone {
			t.Fatal(stderr)
		}
		if err := json.Unmarshal([]byte(stdout), &r); err != nil {
			t.Fatal(err)
		}
		return r, stderr
	}
	asked := func(r fitReport) bool {
		return slices.ContainsFunc(r.Candidates, func(c solve.Tried) bool { return c.Directed })
	}
	dir := filepath.Join(t.TempDir(), "m")
	right, _ := fit(table, "--network", directed(t, 0), "--out", dir)
	if !right.Network.Directed || !strings.Contains(right.Model, "-directed") {
		t.Errorf("along the right directions the model is %s", right.Model)
	}
	saved := must(multitask.Load(dir))(t)
	for i := range saved.Tasks {
		w := mat.Col(nil, i, saved.W)
		if in, all := mat.Norm(mat.NewVecDense(3, w[:3]), 2), mat.Norm(mat.NewVecDense(20, w), 2); in < 0.8*all {
			t.Errorf("task %d: weights of %v have a part of %v along the directions", i, all, in)
		}
	}
	wrong, _ := fit(table, "--network", directed(t, 10))
	if wrong.Network.Directed || !asked(wrong) {
		t.Errorf("along the wrong directions (asked %t) the model is %s", asked(wrong), wrong.Model)
	}
	turned := columns()
	slices.Reverse(turned)
	if r, _ := fit(fields(t, turned), "--network", directed(t, 0)); r.Model != right.Model || math.Abs(float64(r.Network.Signal/right.Network.Signal)-1) > 1e-3 {
		t.Errorf("with columns in another order the model is %s with signal %v, was %s with %v", r.Model, r.Network.Signal, right.Model, right.Network.Signal)
	}
	turned[0] = "other"
	other, stderr := fit(fields(t, turned), "--network", directed(t, 0))
	if asked(other) || !strings.Contains(stderr, "are of other features, and are left out") {
		t.Errorf("of other features directions are asked: %t\n%s", asked(other), stderr)
	}
	if none, _ := fit(table, "--step", "none"); none.Model != wrong.Model || asked(none) {
		t.Errorf("with the shipped network the model is %s, with directions that are left %s", none.Model, wrong.Model)
	}
}
