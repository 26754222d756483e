package command

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
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

// Test rows change the errors reported and nothing else: neither covariance,
// nor Lambda1, nor the scores of other rows.
func TestInferDoesNotLeak(t *testing.T) {
	datatest.Long(t)
	t.Parallel()
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
		if a.Fit.Lambda1 != b.Fit.Lambda1 || a.Used.Step != b.Used.Step || a.Used.Expected != b.Used.Expected || a.Fit.Validation.Mean != b.Fit.Validation.Mean {
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
