package command

import (
	"bytes"
	"encoding/json"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/infer/compare"
	"l2mt/model/multitask"
)

// The errors of the predictions are the errors reported, and their rows and
// labels are those of the problem.
func TestPredictionsHaveTheErrorsReported(t *testing.T) {
	network, test := tinyNetwork(t)
	dir := t.TempDir()
	mustL2mt(t, "infer", "--network", network, "--problem", test, "--name", "test-0002", "--out", dir)
	var result inferred
	if err := loadJSON(filepath.Join(dir, "result.json"), &result); err != nil {
		t.Fatal(err)
	}
	f, err := data.LoadProblems(test)
	if err != nil {
		t.Fatal(err)
	}
	p := f.Problems[1] // test-0002
	raw, err := os.ReadFile(filepath.Join(dir, "predictions.csv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")[1:]
	for i, task := range p.Tasks {
		wrong := 0
		for range task.Test {
			field := strings.Split(lines[0], ",")
			lines = lines[1:]
			if field[0] != task.Name || !slices.Contains([]string{task.Positive, task.Negative}, field[2]) || !slices.Contains([]string{task.Positive, task.Negative}, field[4]) {
				t.Fatalf("task %s: %v", task.Name, field)
			}
			if strings.HasPrefix(field[3], "-") != (field[2] == task.Negative) {
				t.Errorf("task %s: score %s is predicted %s", task.Name, field[3], field[2])
			}
			if field[2] != field[4] {
				wrong++
			}
		}
		if got, want := float64(wrong)/float64(len(task.Test)), result.Fit.Test.Task[i]; math.Abs(got-want) > 1e-12 {
			t.Errorf("task %s: the predictions have error %v, reported is %v", task.Name, got, want)
		}
	}
	if len(lines) > 0 {
		t.Errorf("there are %d predictions too many", len(lines))
	}
}

// Tasks with files of their own count rows in these, and regression predicts
// its score.
func TestPredictionsOfOwnFilesAndOfRegression(t *testing.T) {
	x, err := data.NewDense(2, 1, []float32{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	r := &inferred{
		problem: &data.ProblemData{Tasks: []data.TaskData{{
			Task:    &data.Task{Name: "t", Kind: data.Regression, Files: &data.TaskFiles{Test: "rows.csv"}},
			TestSet: data.Samples{X: x, Y: []float64{7, 8}},
		}}},
		result: &multitask.Result{W: mat.NewDense(1, 1, []float64{3}), B: []float64{0.5}},
	}
	want := [][]string{{"task", "row", "prediction", "score", "label"}, {"t", "0", "3.5", "3.5", "7"}, {"t", "1", "6.5", "6.5", "8"}}
	if got := r.predictions(); !slices.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Test rows change the errors reported and nothing else: neither covariance,
// nor Lambda1, nor the scores of other rows.
func TestInferDoesNotLeak(t *testing.T) {
	network, test := tinyNetwork(t)
	f, err := data.LoadProblems(test)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Problems {
		for _, task := range p.Tasks {
			task.Test = task.Test[:len(task.Test)/3]
		}
	}
	fewer := filepath.Join(t.TempDir(), "fewer.json")
	if err := f.Save(fewer); err != nil {
		t.Fatal(err)
	}
	var all, some []inferred
	for file, results := range map[string]*[]inferred{test: &all, fewer: &some} {
		if err := json.Unmarshal([]byte(mustL2mt(t, "--json", "infer", "--network", network, "--problem", file, "--name", "test-0001", "--select")), results); err != nil {
			t.Fatal(err)
		}
	}
	for i, a := range all {
		b := some[i]
		if a.Fit.Test.Mean == b.Fit.Test.Mean {
			t.Errorf("%s: other test rows have the same error", a.Problem)
		}
		if a.Fit.Lambda1 != b.Fit.Lambda1 || a.Used.Scale != b.Used.Scale || a.Used.Expected != b.Used.Expected || a.Fit.Validation.Mean != b.Fit.Validation.Mean {
			t.Errorf("%s: what is chosen depends on test rows", a.Problem)
		}
		for k, m := range a.Models {
			if n := b.Models[k]; m.Model != n.Model || m.Expected != n.Expected || m.Validation != n.Validation {
				t.Errorf("%s: the ranking of models depends on test rows", a.Problem)
			}
		}
		if len(a.Models) != 10 {
			t.Errorf("%s: %d models are ranked", a.Problem, len(a.Models))
		}
	}
}

func TestCovarianceOfRows(t *testing.T) {
	for _, rows := range [][][]float64{nil, {{1, 0}}, {{1, 0}, {0}}, {{1, 0.1}, {0.2, 1}}} {
		if a, err := covariance(rows); err == nil {
			t.Errorf("%v is taken for\n%v", rows, mat.Formatted(a))
		}
	}
	rows := [][]float64{{2, -1}, {-1, 3}}
	a, err := covariance(rows)
	if err != nil {
		t.Fatal(err)
	}
	if back := compare.Entries(a); !slices.EqualFunc(back, rows, slices.Equal[[]float64]) {
		t.Errorf("%v comes back as %v", rows, back)
	}
}

// Heat maps are drawn whatever the number and the names of the tasks, with -1
// blue and 1 red.
func TestHeatMaps(t *testing.T) {
	for _, m := range []int{1, 2, 13} {
		r := data.Stream(1, "heat map", uint64(m))
		v := &view{Scale: 1}
		var tasks []string
		for i := range m {
			tasks = append(tasks, strings.Repeat("long name ", i%4))
			row := make([]float64, m)
			for j := range row {
				row[j] = 2*r.Float64() - 1
			}
			v.Correlation = append(v.Correlation, row)
		}
		v.Correlation[0][0], v.Correlation[m-1][m-1] = 1, -1
		path := filepath.Join(t.TempDir(), "map.png")
		drawn, err := plotCorrelations(tasks, []*view{v, v})
		if err := savePicture(path, drawn, err); err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		picture, err := png.Decode(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		red, blue := 0, 0
		for x := range picture.Bounds().Dx() {
			for y := range picture.Bounds().Dy() {
				r, g, b, _ := picture.At(x, y).RGBA()
				switch {
				case r > 0xa000 && g < 0x3000 && b < 0x4000:
					red++
				case r < 0x5000 && g < 0x6000 && b > 0xa000:
					blue++
				}
			}
		}
		if (m > 1 && red == 0) || blue == 0 {
			t.Errorf("%d tasks: %d red and %d blue points", m, red, blue)
		}
	}
}
