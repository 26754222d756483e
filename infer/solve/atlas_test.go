package solve

import (
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"l2mt/data"
	"l2mt/infer"
	"l2mt/model"
)

func atlas(t *testing.T, n *Finder, problems ...*data.ProblemData) *Atlas {
	t.Helper()
	a := must(NewAtlas(n, each(problems)))(t)
	return a
}

func nearest(t *testing.T, a *Atlas, p Embedded, k int) []Neighbour {
	t.Helper()
	near := must(a.Nearest(p, k))(t)
	return near
}

func tasksOf(t *testing.T, n *Finder, p *data.ProblemData) Embedded {
	t.Helper()
	embedded, ok := embed(t, n, p).Tasks()
	if !ok {
		t.Fatal("the problem is not embedded")
	}
	return embedded
}

// A network of pairs of tasks has no atlas.
func TestPairsOfTasksHaveNoAtlas(t *testing.T) {
	c := must(model.Preset("pairwise", 0))(t)
	of := must(model.NewNetwork(c, 1))(t)
	n := must(NewFinder(of))(t)
	p := made(1, "a", data.Classification, 3)
	if embedded, ok := embed(t, n, p).Tasks(); ok || n.EmbedsTasks() {
		t.Errorf("it is embedded as %v", embedded)
	}
	if _, err := NewAtlas(n, each([]*data.ProblemData{p})); !errors.Is(err, infer.ErrInvalid) || !strings.Contains(err.Error(), "pairs of tasks") {
		t.Errorf("the error is %v", err)
	}
}

// A problem is nearest to itself, at distance 0, labels exchanged or not.
func TestNearestIsTheProblemItself(t *testing.T) {
	n := random(t, 1, nil)
	var problems []*data.ProblemData
	for i, name := range []string{"a", "b", "c", "d"} {
		problems = append(problems, made(uint64(i), name, data.Classification, 3))
	}
	a := atlas(t, n, problems...)
	for _, p := range problems {
		for range 2 {
			near := nearest(t, a, tasksOf(t, n, p), 3)
			if len(near) != 3 || near[0].Name != p.Name || near[0].Distance > 1e-6 {
				t.Errorf("nearest to %s: %v", p.Name, near)
			}
			if !slices.IsSortedFunc(near, func(a, b Neighbour) int { return int(math.Copysign(1, a.Distance-b.Distance)) }) {
				t.Errorf("not nearest first: %v", near)
			}
			for i := range p.Tasks[1].TrainSet.Y {
				p.Tasks[1].TrainSet.Y[i] *= -1
			}
		}
	}
	if near := nearest(t, a, a.Problems[0], 9); len(near) != 4 {
		t.Errorf("9 of 4 problems are %v", near)
	}
}

// embedded is a problem with one embedding of length 2 for each task.
func embedded(name string, e map[string][2]float32) Embedded {
	p := Embedded{Name: name}
	for _, task := range []string{"s", "t", "u", "v"} {
		if x, ok := e[task]; ok {
			p.Tasks, p.E = append(p.Tasks, task), append(p.E, x[:])
		}
	}
	return p
}

// The distance is the mean over the tasks of that to the nearest task or its
// opposite, and can leave out the same tasks.
func TestDistanceByHand(t *testing.T) {
	a := embedded("a", map[string][2]float32{"s": {1, 0}, "t": {0, 2}})
	b := embedded("b", map[string][2]float32{"s": {-1, 0}, "u": {0, 3}, "v": {4, 4}})
	if got := distance(a, b, false); got != 0.5 { // s: 0, to the opposite; t: 1, to u
		t.Errorf("distance %v, want 0.5", got)
	}
	want := (math.Sqrt(1+9) + 1) / 2 // s: to u
	if got := distance(a, b, true); math.Abs(got-want) > 1e-12 {
		t.Errorf("distance to other tasks %v, want %v", got, want)
	}
	if got := distance(embedded("c", map[string][2]float32{"s": {1, 1}}), embedded("d", map[string][2]float32{"s": {1, 1}}), true); !math.IsInf(got, 1) {
		t.Errorf("distance of problems without other tasks %v, want infinity", got)
	}
}

// A problem made again with the same tasks does not make the radius small.
func TestRadiusIsThatOfOtherTasks(t *testing.T) {
	n := random(t, 1, nil)
	p, q := made(1, "a", data.Classification, 3), made(2, "b", data.Classification, 3)
	distinct := atlas(t, n, p, q)
	if twice := atlas(t, n, p, p); twice.Radius != distance(twice.Problems[0], twice.Problems[1], true) || twice.Radius == 0 {
		t.Errorf("the radius of a problem twice is %v", twice.Radius)
	}
	if want := max(distance(distinct.Problems[0], distinct.Problems[1], true), distance(distinct.Problems[1], distinct.Problems[0], true)); distinct.Radius != want {
		t.Errorf("the radius of two problems is %v, want %v", distinct.Radius, want)
	}
	if !distinct.Outside(2*distinct.Radius) || distinct.Outside(distinct.Radius) {
		t.Error("twice the radius is inside, or the radius outside")
	}
	if one := atlas(t, n, p); one.Radius != 0 || one.Outside(3) {
		t.Errorf("one problem has the radius %v", one.Radius)
	}
}

func TestAtlasComesBackAsSaved(t *testing.T) {
	n := random(t, 1, nil)
	want := atlas(t, n, made(1, "a", data.Classification, 3), made(2, "b", data.Classification, 2))
	dir := t.TempDir()
	if err := want.Save(dir); err != nil {
		t.Fatal(err)
	}
	got := must(LoadAtlas(dir))(t)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestBrokenAtlasIsRefused(t *testing.T) {
	dir := t.TempDir()
	if _, err := LoadAtlas(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no atlas: %v", err)
	}
	good := Atlas{Radius: 1, Problems: []Embedded{{Name: "a", Tasks: []string{"s", "t"}, E: [][]float32{{1, 2}, {3, 4}}}, {Name: "b", Tasks: []string{"s"}, E: [][]float32{{5, 6}}}}}
	for _, c := range []struct {
		name, want string
		spoil      func(a *Atlas)
	}{
		{"another width", `problem 1 ("b")`, func(a *Atlas) { a.Problems[1].E[0] = []float32{1, 2, 3} }},
		{"a task without embedding", `problem 0 ("a")`, func(a *Atlas) { a.Problems[0].E = a.Problems[0].E[:1] }},
		{"no tasks", `problem 1 ("b")`, func(a *Atlas) { a.Problems[1].Tasks, a.Problems[1].E = nil, nil }},
	} {
		raw := must(json.Marshal(good))(t)
		var a Atlas
		if err := json.Unmarshal(raw, &a); err != nil {
			t.Fatal(err)
		}
		c.spoil(&a)
		if err := a.Save(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadAtlas(dir); !errors.Is(err, infer.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, AtlasFile), []byte(`{"problems": [`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadAtlas(dir); !errors.Is(err, infer.ErrInvalid) {
		t.Errorf("half a file: %v", err)
	}
	n := random(t, 1, func(c *model.Config) { c.Hidden++ })
	other := atlas(t, random(t, 1, nil), made(1, "a", data.Classification, 2))
	if _, err := other.Nearest(tasksOf(t, n, made(2, "b", data.Classification, 2)), 1); !errors.Is(err, infer.ErrInvalid) {
		t.Errorf("the atlas of another network: %v", err)
	}
}

// Whatever the file, it is refused or holds problems that can be compared.
func FuzzAtlas(f *testing.F) {
	f.Add([]byte(`{"problems":[{"name":"a","tasks":["s"],"e":[[1,2]]},{"name":"b","tasks":["s","t"],"e":[[1,2],[3,4]]}],"radius":1}`))
	f.Add([]byte(`{"problems":[{"name":"a","tasks":["s"],"e":[null]}]}`))
	f.Add([]byte(`{"problems":[{"name":"a","tasks":["s"],"e":[[1]]},{"tasks":["s"],"e":[[1,2]]}]}`))
	f.Add([]byte(`{"problems":null}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, AtlasFile), raw, 0o644); err != nil {
			t.Fatal(err)
		}
		a, err := LoadAtlas(dir)
		if err != nil {
			return
		}
		for _, p := range a.Problems {
			if near := nearest(t, a, p, 1); len(near) != 1 {
				t.Errorf("nearest to %q: %v", p.Name, near)
			}
		}
	})
}

// each gives problems that are in memory one at a time.
func each(problems []*data.ProblemData) iter.Seq2[*data.ProblemData, error] {
	return func(yield func(*data.ProblemData, error) bool) {
		for _, p := range problems {
			if !yield(p, nil) {
				return
			}
		}
	}
}
