package command

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/infer/report"
)

// opaque are words that only readers of the paper or of the code know.
var opaque = regexp.MustCompile(`(?i)\b(STL|nMSE|pooled|lambda1|metric|drawn|judged|judging|ridge|curves-|kernel|view|views|temperature|Omega|common metric)\b`)

// flags are what a remark says to type.
var flags = regexp.MustCompile(`--\w+ \S+`)

// What fit, predict and show print fits a terminal and takes no glossary, for numbers, classes,
// logarithms, times, several targets, one task, many tasks and tasks of one row.
func TestOutputIsPlain(t *testing.T) {
	datatest.Long(t)
	for name, table := range plainTables() {
		path := write(t, "a.csv", table)
		model := filepath.Join(t.TempDir(), "model")
		args := cmp.Or(map[string]string{"targets": "--target y*", "single": "--target y", "times": "--task task --target y --time when"}[name], "--task task --target y")
		for _, args := range [][]string{
			append([]string{"fit", path, "--structures", "--out", model}, strings.Fields(args)...),
			{"show", model},
			{"predict", "--model", model, path, "--out", filepath.Join(t.TempDir(), "p.csv")},
		} {
			var printed bytes.Buffer
			code := runHere(t.Context(), args, &printed, &printed)
			datatest.Need(t, code == exitDone, "%s of %s: %s", args[0], name, &printed)
			for line := range strings.Lines(printed.String()) {
				line = strings.TrimSuffix(line, "\n")
				n := utf8.RuneCountInString(strings.TrimRight(line, " "))
				datatest.Holds(t, n <= lineWidth, "%s of %s: %d characters in %q", args[0], name, n, line)
				word := opaque.FindString(flags.ReplaceAllString(line, ""))
				datatest.Holds(t, word == "", "%s of %s: %q in %q", args[0], name, word, line)
			}
		}
	}
}

// A fit in little time is of fewer structures, and says so; with enough time it is the same fit.
func TestTimeLimit(t *testing.T) {
	datatest.Long(t)
	args := []string{"--task", "task", "--target", "y"}
	free := fitOf(t, alike(), args...)
	long := fitOf(t, alike(), append(args, "--time-limit", "1h")...)
	want, got := float64(free.All.By[report.ByModel].Error), float64(long.All.By[report.ByModel].Error)
	datatest.Holds(t, long.Model == free.Model && math.Abs(got-want) < 1e-9*want && len(long.Notes) == len(free.Notes),
		"with an hour's limit %s errs by %v, %q; without one %s by %v", long.Model, got, long.Notes, free.Model, want)
	model := filepath.Join(t.TempDir(), "model")
	short := fitOf(t, alike(), append(args, "--time-limit", "1ns", "--out", model)...)
	note := strings.Join(short.Notes, " ")
	for _, left := range []string{"6 ways to fit were left out", "compare with every task on its own", "compare with one model"} {
		datatest.Holds(t, strings.Contains(note, left), "without time notes are %q, without %q", note, left)
	}
	datatest.Holds(t, len(short.Structures) == 1 && len(short.Rivals) == 1 && len(short.Tasks[0].By) == 2,
		"without time %v were weighed, beside %v", short.Structures, short.Rivals)
	page := datatest.Must(os.ReadFile(strings.TrimSpace(mustL2mt(t, "report", model))))(t)
	datatest.Holds(t, !strings.Contains(string(page), "The columns do not help"),
		"the page says that columns do not help, which were not tried")
	if strings.Contains(string(page), `class="stl" style`) || !strings.Contains(string(page), `class="ours" style`) {
		t.Error("the page draws tasks on their own, which were not measured, or not the model")
	}
}

// plainTables are one of every kind.
func plainTables() map[string]string {
	heads := map[string]string{
		"numbers": "task,a,b,a column that has a rather long name,y", "classes": "task,a,b,c,y", "words": "task,a,b,c,y",
		"wide": "task,a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,y", "targets": "a,b,c,y1,y2,y3",
		"logs": "task,a,b,c,y", "times": "task,when,a,b,y", "single": "a,b,y",
	}
	tables := map[string]string{}
	for name, head := range heads {
		random := data.Stream(1, name)
		columns := strings.Split(head, ",")
		text := head + "\n"
		for row := range 100 {
			task := row % 14
			if row == 99 {
				task = 14 // of a single row
			}
			sum := 0.0
			for j, column := range columns {
				x := random.NormFloat64()
				end := ","
				if j == len(columns)-1 {
					end = "\n"
				}
				switch {
				case column == "task":
					text += fmt.Sprintf("a task of a really long name: %d", task)
				case column[0] == 'y' && name == "classes" || column == "y" && name == "wide":
					text += []string{"no", "yes"}[btoi(sum+x > 0)]
				case column[0] == 'y' && name == "words":
					text += []string{"ant", "bee", "cat"}[btoi(sum+x > 0)+btoi(sum+x > 1)]
				case column == "when":
					text += fmt.Sprintf("2024-%02d-%02d", 1+row/28, 1+row%28)
				case column == "y" && name == "logs":
					text += fmt.Sprintf("%.3f", math.Exp(sum+0.3*x))
				case column[0] == 'y':
					text += fmt.Sprintf("%.3f", 1e5*(sum+0.3*x))
				default:
					text += fmt.Sprintf("%.3f", x)
					sum += x
				}
				text += end
			}
		}
		tables[name] = text
	}
	return tables
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
