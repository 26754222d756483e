package command

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"l2mt/data/datatest"
	"l2mt/infer/compare"
	"l2mt/model/evidence"
)

// tableOf makes a table of STL and L2MT from their test errors.
func tableOf(t *testing.T, stl, ours []float64) *compare.Table {
	t.Helper()
	var outcomes []compare.Outcome
	for i := range stl {
		for model, e := range map[string]float64{compare.STL: stl[i], compare.L2MT: ours[i]} {
			o := compare.Outcome{Problem: string(rune('p' + i)), Method: compare.Method{Model: model}, Test: evidence.Errors{Mean: e}}
			if model == compare.STL {
				o.Variant = compare.Labelled
			}
			outcomes = append(outcomes, o)
		}
	}
	return datatest.Must(compare.Summarise(outcomes))(t)
}

// Whatever is undefined is a dash in print, empty in CSV, null in JSON, and not
// drawn.
func TestTablesWithUndefinedNumbers(t *testing.T) {
	datatest.Long(t)
	for _, c := range []struct {
		name      string
		stl, ours []float64
		drawn     bool
	}{
		{"one problem", []float64{0.2}, []float64{0.1}, true},
		{"no errors of STL on one", []float64{0.2, 0}, []float64{0.1, 0.1}, true},
		{"no errors of STL", []float64{0, 0}, []float64{0.1, 0}, false},
		{"no errors", []float64{0}, []float64{0}, false},
	} {
		table, dir := tableOf(t, c.stl, c.ours), t.TempDir()
		var text strings.Builder
		writeTable(&text, table)
		if strings.Contains(text.String(), "NaN") || !strings.Contains(text.String(), " -") {
			t.Errorf("%s:\n%s", c.name, &text)
		}
		if err := saveTable(dir, table); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		back := datatest.Must(loadTable(dir))(t)
		if got, want := float64(back.Rows[0].StandardError), float64(table.Rows[0].StandardError); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("%s: the standard error %v comes back as %v", c.name, want, got)
		}
		raw := datatest.Must(os.ReadFile(filepath.Join(dir, tableFile)))(t)
		if strings.Contains(string(raw), "NaN") {
			t.Errorf("%s:\n%s", c.name, raw)
		}
		if _, err := os.Stat(filepath.Join(dir, "table.png")); (err == nil) != c.drawn {
			t.Errorf("%s: the chart: %v", c.name, err)
		}
	}
}

// Columns stand over each other: every row ends in as many fields as the head.
func TestTableHasItsColumns(t *testing.T) {
	var text strings.Builder
	writeTable(&text, tableOf(t, []float64{0.2, 0.3, 0.1}, []float64{0.1, 0.3, 0.2}))
	_, rows, ok := strings.Cut(text.String(), "method\n")
	if !ok {
		t.Fatalf("no head:\n%s", &text)
	}
	want := map[string]string{
		"STL": "1.0000 0.0000 0.2000 - - - - - - STL",
		// The errors less those of STL are -0.1, 0 and 0.1, over a mean of 0.2: 0.5/sqrt(3).
		"L2MT": "1.0000 0.2887 0.2000 +0.0000 1 1/1/1 +0.0000 1 1/1/1 L2MT",
	}
	for line := range strings.Lines(rows) {
		fields := strings.Fields(line)
		name := fields[len(fields)-1]
		if got := strings.Join(fields, " "); got != want[name] {
			t.Errorf("%q, want %q", got, want[name])
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("missing rows: %v", want)
	}
}
