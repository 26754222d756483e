package multitask

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/table"
)

// tableOf writes a table of three tasks with unlike scales and reads it.
func tableOf(t testing.TB, steps ...string) *table.Table {
	t.Helper()
	var text strings.Builder
	text.WriteString("task,small,large,none,y\n")
	random := data.Stream(1, "saved")
	for i := range 60 {
		a, b := random.NormFloat64(), 5000+300*random.NormFloat64()
		fmt.Fprintf(&text, "%s,%v,%v,7,%v\n", []string{"north", "south", "east"}[i%3], a, b, 3+a+b/100+0.1*random.NormFloat64())
	}
	path := filepath.Join(t.TempDir(), "towns.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return must(table.Read([]string{path}, table.Options{Task: "task", Steps: steps}))(t)
}

func savedOf(t testing.TB, tab *table.Table) (*Saved, *Result) {
	t.Helper()
	train := must(Training(tab.Problem, ""))(t)
	r := must(Fit(t.Context(), registry["mtrl"], train, Params{Lambda1: 0.01}, Options{}))(t)
	s := must(NewSaved(r, tab.Problem, tab.Recipe))(t)
	return s, r
}

// What is loaded predicts the same bits as what was saved, and rows of the table
// get the predictions of the fit on standardised rows, to the rounding of these to
// float32.
func TestSavedModelsPredictAsTheFit(t *testing.T) {
	tab, bare := tableOf(t), tableOf(t, table.None)
	saved, r := savedOf(t, tab)
	if saved.Scale == nil || len(saved.Recipe.Steps) != 0 {
		t.Fatalf("the standardisation is not in W: %+v", saved.Recipe)
	}
	dir := filepath.Join(t.TempDir(), "a", "model")
	for range 2 { // the second replaces the first
		if err := saved.Save(dir); err != nil {
			t.Fatal(err)
		}
	}
	loaded := must(Load(dir))(t)
	for i, task := range bare.Problem.Tasks {
		want := must(saved.Predict(task.Name, task.TrainSet.X))(t)
		got, err := loaded.Predict(task.Name, task.TrainSet.X)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("task %s: loaded %v, saved %v, %v", task.Name, got, want, err)
		}
		for j, f := range r.Scores(i, tab.Problem.Tasks[i].TrainSet.X) {
			near(t, fmt.Sprintf("task %s, row %d", task.Name, j), want[j], f, 1e-5)
		}
		one, err := loaded.Predict(task.Name, task.TrainSet.X.Take([]int{3}))
		if err != nil || one[0] != want[3] {
			t.Errorf("task %s, row 3 alone: %v, among others %v, %v", task.Name, one, want[3], err)
		}
	}
	if !mat.Equal(loaded.Omega, saved.Omega) || fmt.Sprint(loaded.Tasks) != fmt.Sprint(saved.Tasks) || !slices.Equal(loaded.Features, []string{"small", "large", "none"}) {
		t.Errorf("loaded %+v, saved %+v", loaded, saved)
	}
	mean := loaded.Linear(Average)
	near(t, "average b", mean.B[0], (saved.B[0]+saved.B[1]+saved.B[2])/3, 1e-12)
	near(t, "average w", mean.W[1], (saved.W.At(1, 0)+saved.W.At(1, 1)+saved.W.At(1, 2))/3, 1e-12)
	if mean.W[2] != 0 {
		t.Errorf("the weight of a constant feature is %v", mean.W[2])
	}
	if _, err := loaded.Predict("nroth", tab.Problem.Tasks[0].TrainSet.X); !errors.Is(err, ErrUnknownTask) || !strings.Contains(err.Error(), `"nroth"; the model has east, north, south`) {
		t.Error(err)
	}
	if _, err := loaded.Predict("north", tab.Problem.Tasks[0].TrainSet.X.Take(nil)); err != nil {
		t.Error("no rows: ", err)
	}
}

func TestNearNames(t *testing.T) {
	s := &Saved{}
	for i := range 40 {
		s.Tasks = append(s.Tasks, SavedTask{Name: "school " + strconv.Itoa(i)})
	}
	if _, err := s.Task("shool 31"); err == nil || !strings.Contains(err.Error(), "the model has school 31, ") || !strings.Contains(err.Error(), "(40 in all)") {
		t.Error(err)
	}
}

func TestSavedModelsThatAreDamaged(t *testing.T) {
	saved, _ := savedOf(t, tableOf(t))
	dir := t.TempDir()
	if err := saved.Save(dir); err != nil {
		t.Fatal(err)
	}
	check := func(what, want string) {
		t.Helper()
		_, err := Load(dir)
		if err == nil || !errors.Is(err, ErrSaved) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	for _, name := range []string{SavedFile, SavedWeightsFile} {
		path := filepath.Join(dir, name)
		whole := must(os.ReadFile(path))(t)
		for _, n := range []int{0, 1, 7, 8, 9, len(whole) / 2, len(whole) - 1} {
			if err := os.WriteFile(path, whole[:n], 0o644); err != nil {
				t.Fatal(err)
			}
			check(fmt.Sprintf("%s of %d bytes", name, n), "")
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		check(name+" missing", name)
		if err := os.WriteFile(path, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, SavedFile)
	whole, _ := os.ReadFile(path)
	for _, c := range []struct{ old, new, want string }{
		{`"schema":1`, `"schema":2`, "schema 2; this program reads schema 1"},
		{`"north"`, `"nord"`, "its weights are of another fit than model.json"},
	} {
		if err := os.WriteFile(path, bytes.Replace(whole, []byte(c.old), []byte(c.new), 1), 0o644); err != nil {
			t.Fatal(err)
		}
		check(c.old, c.want)
	}
	if _, err := Load(filepath.Join(dir, "nowhere")); !errors.Is(err, ErrSaved) || !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// A model.json of anything is refused or a sound model.
func FuzzSaved(f *testing.F) {
	saved, _ := savedOf(f, tableOf(f, table.None))
	dir := f.TempDir()
	if err := saved.Save(dir); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, SavedFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte(`{"schema":1,"omega":[[1]]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := parseSaved(b)
		if err != nil {
			return
		}
		s.W, s.B = saved.W, saved.B
		if s.validate() != nil {
			return
		}
		if _, err := s.Predict(s.Tasks[0].Name, &data.Stored{}); err == nil {
			t.Error("rows without columns are predicted")
		}
		if err := s.Save(t.TempDir()); err != nil {
			t.Error(err)
		}
	})
}

// Five lines of Python read a model with NumPy and the safetensors package:
//
//	import json, safetensors.numpy
//	model = json.load(open("model/model.json"))
//	weights = safetensors.numpy.load_file("model/weights.safetensors")
//	task = [t["name"] for t in model["tasks"]].index("north")
//	prediction = X @ weights["W"][:, task] + weights["b"][task]   # the columns of X are model["features"]
//
// The test does the same without packages, which may not be there.
func TestPythonReadsSavedModels(t *testing.T) {
	tab := tableOf(t)
	saved, _ := savedOf(t, tab)
	dir := t.TempDir()
	if err := saved.Save(dir); err != nil {
		t.Fatal(err)
	}
	said := python(t, dir, `
m = header["W"]["shape"][1]
task = [t["name"] for t in model["tasks"]].index("south")
x = dict(small=0.5, large=5100.0, none=7.0)
print(repr(b[task] + sum(x[name] * W[j * m + task] for j, name in enumerate(model["features"]))))
`)
	got := must(strconv.ParseFloat(said[0], 64))(t)
	x := must(data.NewDense(1, 3, []float32{0.5, 5100, 7}))(t)
	want, err := saved.Predict("south", x)
	if err != nil || !(math.Abs(got-want[0]) < 1e-9*math.Abs(want[0])) {
		t.Errorf("Python says %v, Go %v, %v", got, want, err)
	}
}

// python runs a program that has the model of a directory, W and b, and returns the
// words that it prints.
func python(t *testing.T, dir, program string) []string {
	t.Helper()
	const read = `
import array, json, math, struct
model = json.load(open("model.json"))
raw = open("weights.safetensors", "rb").read()
size = struct.unpack("<Q", raw[:8])[0]
header = json.loads(raw[8:8 + size])
def tensor(name):
    begin, end = header[name]["data_offsets"]
    return array.array("d", raw[8 + size + begin:8 + size + end])
W, b = tensor("W"), tensor("b")
`
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip(err)
	}
	command := exec.Command(path, "-c", read+program)
	command.Dir = dir
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.Fields(string(out))
}
