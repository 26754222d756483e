package command

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

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
	var result fitReport
	must(0, loadJSON(filepath.Join(dir, fitFile), &result))(t)
	f := must(data.LoadProblems(test))(t)
	p := f.Problems[1] // test-0002
	rows := csvRows(t, must(os.Open(filepath.Join(dir, "predictions.csv")))(t))
	for i, task := range p.Tasks {
		wrong := 0
		for _, number := range task.Test {
			row, label, of, predicted, positive := rows[0][0], rows[0][1], rows[0][2], rows[0][3], must(strconv.ParseFloat(rows[0][4], 64))(t)
			rows = rows[1:]
			classes := []string{task.Negative, task.Positive}
			if row != strconv.Itoa(number) || of != task.Name || !slices.Contains(classes, label) || positive > 0.5 != (predicted == task.Positive) {
				t.Fatalf("task %s, row %d: row %s of task %s, labelled %s, is predicted %s with the probability %v of %s", task.Name, number, row, of, label, predicted, positive, task.Positive)
			}
			if predicted != label {
				wrong++
			}
		}
		if got, want := float64(wrong)/float64(len(task.Test)), result.Test.Fit.Task[i]; math.Abs(got-want) > 1e-12 {
			t.Errorf("task %s: the predictions have error %v, reported is %v", task.Name, got, want)
		}
	}
	if len(rows) > 0 {
		t.Errorf("there are %d predictions too many", len(rows))
	}
}

// What infer saves predicts the rows to come as infer itself predicts test rows: of two
// classes, of several, and of a regression.
func TestPredictWithWhatInferSaves(t *testing.T) {
	t.Parallel()
	labels := map[string]func(v float64) string{
		"classification": func(v float64) string { return []string{"no", "yes"}[min(1, int(v))] },
		"several":        func(v float64) string { return []string{"ant", "bee", "cat"}[int(v)] },
		"regression":     func(v float64) string { return rounded(7*v, -1) },
	}
	for name, label := range labels {
		random := data.Stream(3, name)
		dir := t.TempDir()
		var rows []string
		save := func(name string, rows []string) {
			must(0, os.WriteFile(filepath.Join(dir, name), []byte("a,b,label\n"+strings.Join(rows, "")), 0o644))(t)
		}
		draw := func(n int) (numbers []int) {
			for i := range n {
				v := 1.5 * (1 + math.Sin(float64(i))) // below 3
				numbers = append(numbers, len(rows))
				rows = append(rows, fmt.Sprintf("%v,%v,%s\n", v+random.NormFloat64()/2, random.NormFloat64(), label(v)))
			}
			return numbers
		}
		p := &data.Problem{Name: "p"}
		task := func(name string, kind data.Kind, n int) {
			task := &data.Task{Name: name, Kind: kind, Train: draw(n), Test: draw(n)}
			if kind == data.Classification && p.Classes == nil {
				task.Positive, task.Negative = "yes", "no"
			}
			p.Tasks = append(p.Tasks, task)
			save(name+"test.csv", rows[len(rows)-n:])
		}
		kind := data.Classification
		if name == "regression" {
			kind = data.Regression
		} else if name == "several" {
			p.Classes = []string{"ant", "bee", "cat"}
		}
		task("north", kind, 12)
		task("south", kind, 9)
		save("all.csv", rows)
		problems := filepath.Join(dir, "p.json")
		file := data.ProblemFile{Schema: data.ProblemSchema, Dataset: &data.DatasetRef{Path: "all.csv"}, Problems: []*data.Problem{p}}
		must(0, file.Save(problems))(t)
		mustL2mt(t, "-q", "infer", "--problems", problems, "--out", filepath.Join(dir, "m"))
		var want, got [][]string
		for _, row := range csvRows(t, must(os.Open(filepath.Join(dir, "m", "predictions.csv")))(t)) {
			want = append(want, row[2:])
		}
		for _, task := range []string{"north", "south"} {
			out := mustL2mt(t, "-q", "predict", filepath.Join(dir, task+"test.csv"), "--model", filepath.Join(dir, "m"), "--task", task)
			got = append(got, csvRows(t, strings.NewReader(out))...)
		}
		for _, row := range got {
			if v, err := strconv.ParseFloat(row[2], 64); err != nil || !(v > 0) {
				t.Errorf("%s: %q does not have how sure it is", name, row)
			}
		}
		if len(want) != 21 || !slices.EqualFunc(got, want, slices.Equal[[]string]) {
			t.Errorf("%s: predict writes %v, infer %v", name, got, want)
		}
	}
}
