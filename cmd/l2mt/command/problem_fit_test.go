package command

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/infer/report"
)

// What the fit of a problem saves predicts test rows with the errors that fit reports: of two classes, of
// several, and of a regression.
func TestPredictWithWhatAFitOfAProblemSaves(t *testing.T) {
	datatest.Long(t)
	t.Parallel()
	for name, label := range map[string]func(v float64) string{
		"classification": func(v float64) string { return []string{"no", "yes"}[min(1, int(v))] },
		"several":        func(v float64) string { return []string{"ant", "bee", "cat"}[int(v)] },
		"regression":     func(v float64) string { return strconv.FormatFloat(7*v, 'g', -1, 64) },
	} {
		random := data.Stream(3, name)
		dir := t.TempDir()
		path := func(name string) string { return filepath.Join(dir, name) }
		var rows []string
		save := func(name string, rows []string) {
			datatest.Check(t, os.WriteFile(path(name), []byte("a,b,label\n"+strings.Join(rows, "")), 0o644))
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
		kind := data.Kind(data.Classification)
		switch name {
		case "regression":
			kind = data.Regression
		case "several":
			p.Classes = []string{"ant", "bee", "cat"}
		}
		for i, place := range []string{"north", "south"} {
			n := 12 - 3*i
			task := &data.Task{Name: place, Kind: kind, Train: draw(n), Test: draw(n)}
			if name == "classification" {
				task.Positive, task.Negative = "yes", "no"
			}
			p.Tasks = append(p.Tasks, task)
			save(place+"test.csv", rows[len(rows)-n:])
		}
		save("all.csv", rows)
		file := data.ProblemFile{Schema: data.ProblemSchema, Dataset: &data.DatasetRef{Path: "all.csv"}, Problems: []*data.Problem{p}}
		datatest.Check(t, file.Save(path("p.json")))
		var r report.Report
		datatest.Check(t, json.Unmarshal([]byte(mustL2mt(t, "-q", "--json", "fit", "--problems", path("p.json"), "--out", path("m"))), &r))
		for i, task := range p.Tasks {
			out := mustL2mt(t, "-q", "predict", path(task.Name+"test.csv"), "--model", path("m"), "--task", task.Name)
			var y []float64
			loss := 0.0
			for j, row := range csvRows(t, strings.NewReader(out)) {
				of := rows[task.Test[j]]
				label := strings.TrimSpace(of[strings.LastIndex(of, ",")+1:])
				v, err := strconv.ParseFloat(row[2], 64)
				datatest.Holds(t, err == nil && v > 0, "%s: %q does not have how sure it is", name, row)
				if kind == data.Regression {
					want, got := datatest.Must(strconv.ParseFloat(label, 64))(t), datatest.Must(strconv.ParseFloat(row[1], 64))(t)
					y, loss = append(y, want), loss+(got-want)*(got-want)
				} else if row[1] != label {
					loss++
				}
			}
			loss /= float64(len(task.Test))
			if kind == data.Regression {
				loss /= stat.PopVariance(y, nil)
			}
			datatest.Near(t, loss, r.Test.Fit.Task[i], 1e-6, "%s, task %s: predict errs by", name, task.Name)
		}
	}
}

// Numbers out of bounds are drawn and written within them: a ratio to an error of zero was +Inf.
func TestSharesAndMarksAreNumbers(t *testing.T) {
	for _, v := range []float64{math.MaxFloat64, -math.MaxFloat64, math.Inf(1)} {
		said := percent(v) + decimals(v) + string(dot("x", v, 1e-9))
		datatest.Holds(t, !undefined.MatchString(said), "%v is %s", v, said)
	}
}
