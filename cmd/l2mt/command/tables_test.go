package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/table"
	"l2mt/infer/report"
	"l2mt/infer/solve"
)

// write writes a file in a directory of the test.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	datatest.Check(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// fitOf is the report of a fit of a table.
func fitOf(t *testing.T, table string, flags ...string) (r report.Report) {
	t.Helper()
	out := mustL2mt(t, append([]string{"-q", "--json", "fit", write(t, "a.csv", table)}, flags...)...)
	datatest.Check(t, json.Unmarshal([]byte(out), &r))
	return r
}

func TestTooManyTasksAreOneLine(t *testing.T) {
	datatest.Long(t)
	var b strings.Builder
	b.WriteString("task,x,y\n")
	for i := range 5_000 {
		fmt.Fprintf(&b, "%d,1,2.5\n%d,2,3.5\n", i, i)
	}
	code, _, stderr := l2mt(t, "-q", "fit", write(t, "a.csv", b.String()), "--task", "task", "--out", "never")
	if code != exitFailed || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "5000 tasks: a fit keeps covariances of tasks x tasks, and takes 4096 at most") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}

// With more tasks than SPATS is made for, all models but that one are tried, and that is
// said.
func TestModelsAreLeftOutInWords(t *testing.T) {
	for tasks, all := range map[int]bool{20: true, 21: false} {
		c, read := &fitCmd{Model: modelBest}, &table.Table{Problem: &data.ProblemData{Tasks: make([]data.TaskData, tasks)}}
		candidates := c.few(datatest.Must(c.candidates())(t), read)
		tried := slices.ContainsFunc(candidates, func(c solve.Candidate) bool { return c.Name() == "spats" })
		if tried != all || (len(read.Notes) == 0) != all || !all && !strings.HasPrefix(read.Notes[0], "SPATS is left out: with more than 20 tasks it takes too long") {
			t.Errorf("%d tasks: SPATS tried: %t, notes %q", tasks, tried, read.Notes)
		}
	}
}

// The same seed makes the same bytes, with any number of workers, and a fault
// in the last of many rows leaves no predictions behind.
func TestTablesToPredictions(t *testing.T) {
	datatest.Long(t)
	var rows strings.Builder
	rows.WriteString("task,x,z,y\n")
	for i := range 60_000 {
		fmt.Fprintf(&rows, "%c,%d,%d,%v\n", 'a'+i%3, i%17, i%11, float64(i%17+i%3)+0.5*float64(i%7))
	}
	text := rows.String()
	train := write(t, "train.csv", strings.Join(strings.SplitAfter(text, "\n")[:100], ""))
	dir := t.TempDir()
	for _, workers := range []string{"1", "2"} {
		out := filepath.Join(dir, workers)
		mustL2mt(t, "-q", "fit", train, "--task", "task", "--target", "y", "--workers", workers, "--out", out)
		mustL2mt(t, "-q", "predict", "--model", out, write(t, "all.csv", text), "--workers", workers, "--out", filepath.Join(out, "p.csv"))
	}
	for _, name := range []string{"model.json", "weights.safetensors", "fit.json", "p.csv"} {
		one := datatest.Must(os.ReadFile(filepath.Join(dir, "1", name)))(t)
		two, err := os.ReadFile(filepath.Join(dir, "2", name))
		datatest.Holds(t, err == nil && bytes.Equal(one, two), "%s differs: %v", name, err)
		n := bytes.Count(one, []byte("\n"))
		datatest.Holds(t, name != "p.csv" || n == 60_001, "%d lines of predictions", n)
	}
	out := filepath.Join(dir, "never.csv")
	code, _, stderr := l2mt(t, "-q", "predict", "--model", filepath.Join(dir, "1"), write(t, "bad.csv", text+"a,1\n"), "--out", out)
	if _, err := os.Stat(out); code != exitFailed || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(stderr, "line 60002: it has 2 columns") {
		t.Errorf("exit code %d, stderr %q, %v", code, stderr, err)
	}
}

// Two targets of the same rows that nearly agree, and features that know nothing of
// them. A fold that held a row out of one task alone would find its label in the
// other, with more features than rows: R^2 was 0.5.
func TestTargetsOfTheSameRowsDoNotTellOnEachOther(t *testing.T) {
	datatest.Long(t)
	random := data.Stream(1, "leak")
	var b strings.Builder
	for j := range 60 {
		fmt.Fprintf(&b, "f%d,", j)
	}
	b.WriteString("t1,t2\n")
	for range 80 {
		for range 60 {
			fmt.Fprintf(&b, "%.3f,", random.NormFloat64())
		}
		z := random.NormFloat64()
		fmt.Fprintf(&b, "%.3f,%.3f\n", z, z+0.05*random.NormFloat64())
	}
	r := fitOf(t, b.String(), "--target", "t1,t2", "--model", "pooled")
	datatest.Holds(t, r.Mean.By[report.ByModel].R2 <= 0.1,
		"R^2 of rows held out is %v, of features that know nothing", r.Mean.By[report.ByModel].R2)
}

// Parts of the variance have the names of the table's columns, in what is printed, in JSON and on
// the page, and add up to all of it.
func TestPartsOfTheVarianceAreCalledAsColumns(t *testing.T) {
	datatest.Long(t)
	dir := t.TempDir()
	file := write(t, "alike.csv", alike())
	printed := mustL2mt(t, "-q", "fit", file, "--task", "task", "--target", "y", "--view", "curves", "--out", dir)
	mustL2mt(t, "-q", "report", dir)
	page := string(datatest.Must(os.ReadFile(filepath.Join(dir, reportFile)))(t))
	var r report.Report
	datatest.Check(t, json.Unmarshal(datatest.Must(os.ReadFile(filepath.Join(dir, "fit.json")))(t), &r))
	total := 0.0
	names := map[string]bool{}
	for _, s := range r.Shares {
		total += s.Common + s.Own
		names[s.Name] = true
	}
	datatest.Near(t, total, 1, 1e-9, "the parts")
	for _, name := range []string{"level", "straight a", "straight b", "noise"} {
		datatest.Holds(t, names[name], "no part is called %q: %v", name, r.Shares)
	}
	for _, name := range []string{"a", "b", "noise"} { // parts that y was made of
		datatest.Holds(t, strings.Contains(printed, " "+name+"\n") && strings.Contains(page, ">"+name+"<"),
			"%q is not printed, or not on the page: %s", name, printed)
	}
	names = map[string]bool{}
	for _, s := range fitOf(t, alike(), "--task", "task", "--target", "y", "--model", "kernel").Shares {
		names[s.Name] = true
	}
	datatest.Equal(t, names, map[string]bool{"level": true, "straight": true, "kernel": true, "noise": true}, "the parts of a kernel")
}

// Columns of two values are straight in a kernel too: they add something at both.
func TestShowOfAKernelOfColumnsOfTwoValues(t *testing.T) {
	datatest.Long(t)
	r := data.Stream(1, "two values", 0)
	text := "task,left,right,y\n"
	for i := range 120 {
		left := r.IntN(2)
		right := r.IntN(2)
		text += fmt.Sprintf("t%d,%d,%d,%v\n", i%3, left, right, float64(3*left-right)+0.1*r.NormFloat64())
	}
	out := filepath.Join(t.TempDir(), "model")
	fitOf(t, text, "--view", "kernel", "--out", out)
	printed := mustL2mt(t, "show", out)
	for _, column := range []string{"left", "right"} {
		datatest.Holds(t, strings.Contains(printed, column), "column %s is missing:\n%s", column, printed)
	}
}
