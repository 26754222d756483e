package command

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/format"
)

// The classic datasets as people would have them: School as one table with a
// column that names the task, Landmine with a column for every task, Parkinsons as
// a file for every task, each with its columns in another order. What is fitted
// and predicted is that of the npz files.
func TestClassicsAsTables(t *testing.T) {
	datatest.Long(t)
	for _, c := range []struct {
		name, model string
		write       func(t *testing.T, d *data.Dataset) (args []string)
	}{
		{"school", "stl", longTable},
		{"landmine", "pooled", wideTable},
		{"parkinsons", "stl", taskTables},
	} {
		t.Run(c.name, func(t *testing.T) {
			npz := datatest.Path(t, "classics", c.name+".npz")
			o := format.Options{}
			if c.name != "landmine" {
				o.Kind = data.Regression
			}
			d := must(format.Read(npz, o))(t)
			args := c.write(t, d)
			dir := t.TempDir()
			fit := func(args ...string) (r fitReport) {
				args = append([]string{"-q", "--json", "fit", "--model", c.model, "--step", "standardise", "--lambda1", "0.01"}, args...)
				code, stdout, stderr := l2mt(t, args...)
				if code != exitDone {
					t.Fatal(stderr)
				}
				if err := json.Unmarshal([]byte(stdout), &r); err != nil {
					t.Fatal(err)
				}
				return r
			}
			want, got := fit(npz), fit(append(args, "--out", dir)...)
			if len(got.Tasks) != len(d.Groups) || got.Rows != d.X.Rows() || math.Abs(float64(got.Mean.By[byModel].Error-want.Mean.By[byModel].Error)) > 1e-6 {
				t.Errorf("%d tasks, %d rows, mean error %v; of the npz file %d, %d, %v", len(got.Tasks), got.Rows, got.Mean.By[byModel].Error, len(want.Tasks), want.Rows, want.Mean.By[byModel].Error)
			}
			code, stdout, stderr := l2mt(t, "-q", "predict", "--model", dir, args[0], "--task", d.Groups[0])
			if n := strings.Count(stdout, "\n"); code != exitDone || n < 2 {
				t.Errorf("%d lines of predictions, %s", n, stderr)
			}
		})
	}
}

// writeRows writes a table: a header, and a line for every row.
func writeRows(t *testing.T, path string, header []string, n int, cells func(i int) []string) {
	t.Helper()
	var b strings.Builder
	b.WriteString(strings.Join(header, ",") + "\r\n")
	for i := range n {
		b.WriteString(strings.Join(cells(i), ",") + "\r\n")
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// features are the names of the features, or the cells of a row.
func features(d *data.Dataset, row int) (cells []string) {
	for j := range d.X.Cols() {
		if row < 0 {
			cells = append(cells, fmt.Sprintf("x%02d", j))
		} else {
			cells = append(cells, fmt.Sprint(d.X.Row(row).Value[j]))
		}
	}
	return cells
}

func longTable(t *testing.T, d *data.Dataset) []string {
	path := filepath.Join(t.TempDir(), "school.csv")
	writeRows(t, path, append([]string{"school", "score"}, features(d, -1)...), d.X.Rows(), func(i int) []string {
		return append([]string{d.Groups[d.Group[i]], fmt.Sprint(d.Target[i])}, features(d, i)...)
	})
	return []string{path, "--task", "school", "--target", "score"}
}

func wideTable(t *testing.T, d *data.Dataset) []string {
	path := filepath.Join(t.TempDir(), "landmine.csv")
	writeRows(t, path, append(features(d, -1), d.Groups...), d.X.Rows(), func(i int) []string {
		labels := make([]string, len(d.Groups))
		labels[d.Group[i]] = d.Classes[d.Label[i]]
		return append(features(d, i), labels...)
	})
	return []string{path, "--header", "yes", "--target", strings.Join(d.Groups, ",")}
}

func taskTables(t *testing.T, d *data.Dataset) (args []string) {
	dir := t.TempDir()
	for g, name := range d.Groups {
		var rows []int
		for i, of := range d.Group {
			if int(of) == g {
				rows = append(rows, i)
			}
		}
		turn := func(cells []string) []string { return append(cells[g%len(cells):], cells[:g%len(cells)]...) }
		path := filepath.Join(dir, name+".csv")
		writeRows(t, path, turn(append(features(d, -1), "motor")), len(rows), func(i int) []string {
			return turn(append(features(d, rows[i]), fmt.Sprint(d.Target[rows[i]])))
		})
		args = append(args, path)
	}
	return append(args, "--target", "motor")
}
