package command

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"l2mt/cmd/l2mt/internal/run"
	"l2mt/data"
	"l2mt/data/datatest"
)

// The errors of the predictions are the errors reported, and their rows and
// labels are those of the problem.
func TestPredictionsHaveTheErrorsReported(t *testing.T) {
	datatest.Long(t)
	t.Parallel()
	network, test := tinyNetwork(t)
	dir := t.TempDir()
	mustL2mt(t, "infer", "--network", network, "--problems", test, "--name", "test-0002", "--out", dir)
	var result run.Inference
	if err := run.LoadJSON(filepath.Join(dir, "result.json"), &result); err != nil {
		t.Fatal(err)
	}
	f := must(data.LoadProblems(test))(t)
	p := f.Problems[1] // test-0002
	raw := must(os.ReadFile(filepath.Join(dir, "predictions.csv")))(t)
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

// Test rows change the errors reported and nothing else: neither covariance,
// nor Lambda1, nor the scores of other rows.
func TestInferDoesNotLeak(t *testing.T) {
	datatest.Long(t)
	t.Parallel()
	network, test := tinyNetwork(t)
	f := must(data.LoadProblems(test))(t)
	for _, p := range f.Problems {
		for _, task := range p.Tasks {
			task.Test = task.Test[:len(task.Test)/3]
		}
	}
	fewer := filepath.Join(t.TempDir(), "fewer.json")
	if err := f.Save(fewer); err != nil {
		t.Fatal(err)
	}
	var all, some []run.Inference
	for file, results := range map[string]*[]run.Inference{test: &all, fewer: &some} {
		if err := json.Unmarshal([]byte(mustL2mt(t, "--json", "infer", "--network", network, "--problems", file, "--name", "test-0001", "--select")), results); err != nil {
			t.Fatal(err)
		}
	}
	for i, a := range all {
		b := some[i]
		if a.Fit.Test.Mean == b.Fit.Test.Mean {
			t.Errorf("%s: other test rows have the same error", a.Problem)
		}
		if a.Fit.Lambda1 != b.Fit.Lambda1 || a.Used.Candidate != b.Used.Candidate || a.Used.Expected != b.Used.Expected || a.Fit.Validation.Mean != b.Fit.Validation.Mean {
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

// What infer saves predicts the rows to come as infer itself predicts test rows: of two
// classes, of several, and of a regression.
func TestPredictWithWhatInferSaves(t *testing.T) {
	t.Parallel()
	labels := map[string]func(v float64) string{
		"classification": func(v float64) string { return []string{"no", "yes"}[min(1, int(v))] },
		"several":        func(v float64) string { return []string{"ant", "bee", "cat"}[int(v)] },
		"regression":     func(v float64) string { return run.Full(7 * v) },
	}
	for name, label := range labels {
		random := data.Stream(3, name)
		dir := t.TempDir()
		task := func(name string, n int) {
			for _, part := range []string{"train", "test"} {
				writeRows(t, filepath.Join(dir, name+part+".csv"), []string{"a", "b", "label"}, n, func(i int) []string {
					v := 1.5 * (1 + math.Sin(float64(i))) // below 3
					return []string{run.Full(v + random.NormFloat64()/2), run.Full(random.NormFloat64()), label(v)}
				})
			}
		}
		task("north", 12)
		task("south", 9)
		kind, classes := "classification", ""
		if name == "regression" {
			kind = name
		} else if name == "several" {
			classes = `"classes": ["ant", "bee", "cat"], `
		}
		entry := func(name string) string {
			return fmt.Sprintf(`{"name": %q, "kind": %q, "files": {"train": "%strain.csv", "test": "%[1]stest.csv"}}`, name, kind, name)
		}
		problems := filepath.Join(dir, "p.json")
		text := fmt.Sprintf(`{"schema": 1, "problems": [{"name": "p", %s"tasks": [%s, %s]}]}`, classes, entry("north"), entry("south"))
		if err := os.WriteFile(problems, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		mustL2mt(t, "-q", "infer", "--problems", problems, "--out", filepath.Join(dir, "m"))
		raw := must(os.ReadFile(filepath.Join(dir, "m", "predictions.csv")))(t)
		var want, got []string
		for _, line := range strings.Split(strings.TrimSpace(string(raw)), "\n")[1:] {
			f := strings.Split(line, ",")
			want = append(want, f[0]+","+f[2])
		}
		for _, task := range []string{"north", "south"} {
			out := mustL2mt(t, "-q", "predict", filepath.Join(dir, task+"test.csv"), "--model", filepath.Join(dir, "m"), "--task", task)
			for _, line := range strings.Split(strings.TrimSpace(out), "\n")[1:] {
				f := strings.Split(line, ",")
				got = append(got, f[0]+","+f[1])
				if v, err := strconv.ParseFloat(f[2], 64); err != nil || !(v > 0) {
					t.Errorf("%s: %q does not say how sure it is", name, line)
				}
			}
		}
		if len(want) != 21 || !slices.Equal(got, want) {
			t.Errorf("%s: predict says %v, infer %v", name, got, want)
		}
	}
}
