package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"l2mt/data/datatest"
	"l2mt/infer/report"
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
		datatest.Holds(t, strings.Contains(printed, "\n  "+name+" ") && strings.Contains(page, ">"+name+"<"),
			"%q is not printed, or not on the page: %s", name, printed)
	}
	names = map[string]bool{}
	for _, s := range fitOf(t, alike(), "--task", "task", "--target", "y", "--model", "kernel").Shares {
		names[s.Name] = true
	}
	datatest.Equal(t, names, map[string]bool{"level": true, "straight": true, "kernel": true, "noise": true}, "the parts of a kernel")
}

// rare is a table of many patients with few rows each, of which most have one outcome alone and
// none has two rows of each.
func rare(seed uint64) string {
	random := rand.New(rand.NewPCG(seed, 0))
	var b strings.Builder
	b.WriteString("patient,treatment,time,outcome\n")
	for i := range 50 {
		severe := -1
		if random.IntN(3) == 0 {
			severe = random.IntN(3)
		}
		for j := range 3 {
			outcome := "mild"
			if j == severe {
				outcome = "severe"
			}
			fmt.Fprintf(&b, "p%d,%c,%.1f,%s\n", i, "ab"[i%2], float64(random.IntN(140))/10, outcome)
		}
	}
	return b.String()
}

// Tables in which something cannot be measured, or numbers lie far from zero, go all the way: no
// panic, nothing that is no number, and a whole model. They were found from outside.
func TestTablesThatBrokeThings(t *testing.T) {
	datatest.Long(t)
	t.Parallel()
	const seed = 7
	t.Logf("the patients are of seed %d", seed)
	for name, columns := range map[string][]string{
		"panic": {"task", "y"}, "a1b29": {"task", "y"}, "a1b0": {"task", "y"}, "id": {"t", "y"},
		"ts": {"sensor", "y"}, "patients": {"patient", "outcome"},
		"panic by group": {"task", "y", "--group", "task"}, "a1b0 by group": {"task", "y", "--group", "task"},
	} {
		t.Run(name, func(t *testing.T) {
			file, _, _ := strings.Cut(name, " ")
			path, model := filepath.Join("testdata", "faults", file+".csv"), filepath.Join(t.TempDir(), "model")
			if name == "patients" {
				path = write(t, "patients.csv", rare(seed))
			}
			fit := append([]string{"fit", path, "--out", model, "-q", "--task", columns[0], "--target"}, columns[1:]...)
			printed := mustL2mt(t, fit...)
			printed += mustL2mt(t, "-q", "predict", "--model", model, path, "--out", filepath.Join(model, "p.csv"))
			printed += mustL2mt(t, "-q", "show", model)
			mustL2mt(t, "-q", "report", model)
			datatest.Check(t, filepath.WalkDir(model, func(file string, entry fs.DirEntry, err error) error {
				switch filepath.Ext(file) {
				case ".json", ".html", ".csv":
					text, err := os.ReadFile(file)
					printed += string(text)
					return err
				}
				return err
			}))
			if at := undefined.FindStringIndex(printed); at != nil {
				t.Errorf("something is no number: %q", printed[max(0, at[0]-80):at[1]])
			}
		})
	}
}
