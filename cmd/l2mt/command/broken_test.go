package command

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/files"
	"l2mt/infer/report"
)

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

var notANumber = regexp.MustCompile(`\bNaN\b`)

// Tables in which something cannot be measured, or numbers lie far from zero, go all the way: no
// panic, nothing that is NaN, and a whole model. They were found from outside.
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
			printed := mustL2mt(t, fit...) + mustL2mt(t, append(fit, "--json")...)
			printed += mustL2mt(t, "-q", "predict", "--model", model, path)
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
			at := notANumber.FindStringIndex(printed)
			datatest.Holds(t, at == nil, "something is NaN: %q", printed[max(0, at[0]-80):at[1]])
		})
	}
}

// Unix times tell as much as the same times less their start, on rows held out and as they are
// predicted from a file.
func TestTimesTellAsMuchAsSeconds(t *testing.T) {
	datatest.Long(t)
	var held, fresh [2]files.Float
	for i, name := range []string{"ts", "ts0"} {
		path, model := filepath.Join("testdata", "faults", name+".csv"), filepath.Join(t.TempDir(), "model")
		var r report.Report
		out := mustL2mt(t, "-q", "--json", "fit", path, "--task", "sensor", "--target", "y", "--out", model)
		datatest.Check(t, json.Unmarshal([]byte(out), &r))
		held[i] = r.Mean.By[report.ByModel].R2
		var s report.Scores
		out = mustL2mt(t, "-q", "--json", "predict", "--model", model, path, "--out", filepath.Join(model, "p.csv"))
		datatest.Check(t, json.Unmarshal([]byte(out), &s))
		fresh[i] = s.Mean.By[report.ByModel].R2
	}
	datatest.Holds(t, math.Abs(float64(held[0]-held[1])) <= 1e-3 && math.Abs(float64(fresh[0]-fresh[1])) <= 1e-3,
		"R^2 of unix times and of seconds: held out %.4f, predicted %.4f", held, fresh)
}

// What no error can be measured by, or is no number, is said with its line and without a
// function's name.
func TestSmallFaultsAreSentences(t *testing.T) {
	table := "task,x,y\n"
	tiny := table
	for i := range 24 {
		tiny += fmt.Sprintf("%c,%d,%de-200\n", 'a'+i%2, i*i%7, i)
	}
	for _, c := range []struct{ text, omega, want string }{
		{tiny, "", "targets differ by so little that their squares are zero"},
		{strings.ReplaceAll(tiny, "e-200", ""), "1,0\n0,one\n", `omega.csv: row 2, column 2: "one" is not a number`},
	} {
		args := []string{"-q", "fit", write(t, "a.csv", c.text), "--task", "task"}
		if c.omega != "" {
			args = append(args, "--omega", write(t, "omega.csv", c.omega))
		}
		code, _, stderr := l2mt(t, args...)
		if code != exitFailed || !strings.Contains(stderr, c.want) || strings.Contains(stderr, "strconv") {
			t.Errorf("exit code %d, stderr %q, want %q", code, stderr, c.want)
		}
	}
}

// Tasks of one row each are fitted by what they have in common: held-out rows are predicted with
// less than half of the error of their mean.
func TestTasksOfOneRowAreFitted(t *testing.T) {
	datatest.Long(t)
	var text strings.Builder
	text.WriteString("task,x,y\n")
	random := data.Stream(1, "one row")
	for i := range 24 {
		x := random.NormFloat64()
		fmt.Fprintf(&text, "t%d,%.4f,%.4f\n", i, x, 2*x+0.2*random.NormFloat64())
	}
	r := fitOf(t, text.String(), "--task", "task", "--target", "y")
	model := r.Mean.By[report.ByModel].Error
	mean := r.Mean.By[report.ByMean].Error
	datatest.Holds(t, model < mean/2, "the error is %v, of the mean %v", model, mean)
}
