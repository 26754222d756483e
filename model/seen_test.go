package model_test

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"l2mt/data"
	"l2mt/model"
	"l2mt/model/modeltest"
)

// seen is what two problems of three and four tasks of ten to twenty rows are like.
func seen(t *testing.T) *model.Seen {
	t.Helper()
	s := &model.Seen{}
	for _, rows := range [][]int{{10, 20, 20}, {10, 12, 14, 16}} {
		if err := s.Add(modeltest.Problem(data.Stream(1, "seen", uint64(len(rows))), 6, rows...), "made"); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// What can be counted by hand is what was counted.
func TestSeenHasTheRangesOfItsProblems(t *testing.T) {
	s := seen(t)
	if s.Problems != 2 || !reflect.DeepEqual(s.Labels, []string{"two classes"}) || !reflect.DeepEqual(s.Datasets, []string{"made"}) {
		t.Errorf("it has seen %d problems of %v from %v", s.Problems, s.Labels, s.Datasets)
	}
	ranges := map[string]model.Range{}
	for _, r := range s.Ranges {
		ranges[r.Trait] = r
	}
	for name, want := range map[string][2]float64{
		"tasks":       {3, 4},
		"rows a task": {math.Pow(10*12*14*16, 1./4), math.Pow(10*20*20, 1./3)},
	} {
		if r := ranges[name]; math.Abs(r.Low/want[0]-1) > 1e-3 || math.Abs(r.High/want[1]-1) > 1e-3 {
			t.Errorf("%s: %v to %v, want %v", name, r.Low, r.High, want)
		}
	}
	for name, r := range ranges {
		if !(r.Low <= r.High) || math.IsInf(r.High, 0) {
			t.Errorf("%s: %v to %v", name, r.Low, r.High)
		}
	}
}

// A problem that was seen is like itself; others are named by what is beyond.
func TestUnlike(t *testing.T) {
	s := seen(t)
	problem := func(rows ...int) *data.ProblemData {
		return modeltest.Problem(data.Stream(1, "seen", uint64(len(rows))), 6, rows...)
	}
	regression := changed(t, problem(10, 20, 20), same, kept)
	for i := range regression.Tasks {
		regression.Tasks[i].Kind = data.Regression
	}
	for _, c := range []struct {
		name   string
		p      *data.ProblemData
		labels string
		want   map[string]bool // whether it is beyond
	}{
		{"as it was", problem(10, 20, 20), "", map[string]bool{"tasks": false, "rows a task": false, "effective dimensions": false, "likeness of tasks": false}},
		{"more tasks", problem(14, 14, 14, 14, 14), "", map[string]bool{"tasks": true, "rows a task": false}},
		{"more rows", problem(40, 50, 60), "", map[string]bool{"tasks": false, "rows a task": true}},
		{"targets", regression, "regression", map[string]bool{"tasks": false}},
	} {
		labels, strange, err := s.Unlike(c.p)
		if err != nil || labels != c.labels {
			t.Errorf("%s: labels %q, %v", c.name, labels, err)
		}
		beyond := map[string]bool{}
		for _, v := range strange {
			beyond[v.Trait] = true
			if v.Value >= v.Low && v.Value <= v.High {
				t.Errorf("%s: %+v is not beyond", c.name, v)
			}
		}
		for trait, want := range c.want {
			if beyond[trait] != want {
				t.Errorf("%s: beyond is %v", c.name, strange)
			}
		}
	}
}

func TestSeenIsKeptBesideTheNetwork(t *testing.T) {
	dir, s := t.TempDir(), seen(t)
	if _, err := model.LoadSeen(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of an empty directory: %v", err)
	}
	if err := s.Save(dir); err != nil {
		t.Fatal(err)
	}
	got, err := model.LoadSeen(dir)
	if err != nil || !reflect.DeepEqual(got, s) {
		t.Errorf("saved %+v, read %+v, %v", s, got, err)
	}
	path := filepath.Join(dir, model.SeenFile)
	raw := must(os.ReadFile(path))(t)
	if err := os.WriteFile(path, raw[:len(raw)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := model.LoadSeen(dir); err == nil || !strings.Contains(err.Error(), model.SeenFile) {
		t.Errorf("cut short: %v", err)
	}
}
