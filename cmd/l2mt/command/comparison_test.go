package command

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/data/datatest"
	"l2mt/infer/compare"
	"l2mt/model/evidence"
	"l2mt/train"
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
		datatest.Holds(t, !strings.Contains(text.String(), "NaN") && strings.Contains(text.String(), " -"),
			"%s:\n%s", c.name, &text)
		err := saveTable(dir, table)
		datatest.Need(t, err == nil, "%s: %v", c.name, err)
		back := datatest.Must(loadTable(dir))(t)
		if got, want := float64(back.Rows[0].StandardError), float64(table.Rows[0].StandardError); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("%s: the standard error %v comes back as %v", c.name, want, got)
		}
		raw := datatest.Must(os.ReadFile(filepath.Join(dir, tableFile)))(t)
		datatest.Holds(t, !strings.Contains(string(raw), "NaN"), "%s:\n%s", c.name, raw)
		_, err = os.Stat(filepath.Join(dir, "table.png"))
		datatest.Holds(t, (err == nil) == c.drawn, "%s: the chart: %v", c.name, err)
	}
}

// Columns stand over each other: every row ends in as many fields as the head.
func TestTableHasItsColumns(t *testing.T) {
	var text strings.Builder
	writeTable(&text, tableOf(t, []float64{0.2, 0.3, 0.1}, []float64{0.1, 0.3, 0.2}))
	_, rows, ok := strings.Cut(text.String(), "method\n")
	datatest.Need(t, ok, "no head:\n%s", &text)
	want := map[string]string{
		"STL": "1.0000 0.0000 0.2000 - - - - - - STL",
		// The errors less those of STL are -0.1, 0 and 0.1, over a mean of 0.2: 0.5/sqrt(3).
		"L2MT": "1.0000 0.2887 0.2000 +0.0000 1 1/1/1 +0.0000 1 1/1/1 L2MT",
	}
	for line := range strings.Lines(rows) {
		fields := strings.Fields(line)
		name := fields[len(fields)-1]
		got := strings.Join(fields, " ")
		datatest.Holds(t, got == want[name], "%q, want %q", got, want[name])
		delete(want, name)
	}
	datatest.Holds(t, len(want) <= 0, "missing rows: %v", want)
}

// Whatever stands in the files that pictures and the report are drawn from, they
// are refused or drawn.
func FuzzPictures(f *testing.F) {
	const metrics, table, sweep, kinds = 0, 1, 2, 3
	encoded := func(v any) []byte {
		raw := datatest.Must(json.Marshal(v))(f)
		return raw
	}
	scalars := map[string][]float64{"alpha": {1, 2}}
	f.Add(metrics, encoded([]train.Metrics{{Loss: 1, Residual: 0.5, Deviation: 1e-3, Scalars: scalars}, {Epoch: 1, Loss: 0.1, Scalars: scalars}}))
	f.Add(metrics, []byte(`[{"scalars":{"alpha":[1]}},{"epoch":1e15,"loss":1e308,"scalars":{"alpha":[1]}}]`))
	f.Add(metrics, []byte(`[{"scalars":{"alpha":[1,2]}},{"epoch":1,"scalars":{"alpha":[1]}}]`))
	f.Add(metrics, []byte(`[]`))
	f.Add(table, encoded(compare.Table{Problems: []string{"p"}, Best: "a", Rows: []compare.Row{{Title: "a", Method: compare.Method{Model: "l2mt"}, Relative: 0.9}, {Title: "b", Relative: 1, StandardError: compare.Float(math.NaN())}}}))
	f.Add(table, []byte(`{"rows":[{"relative":"+Inf"}]}`))
	f.Add(table, []byte(`{"rows":[{"relative":1e308},{"relative":-1e308,"standard_error":1e300}]}`))
	f.Add(sweep, encoded(swept{Title: "t", Axis: "x",
		Points:       []plot.Point{{Name: "1", Rows: []compare.Row{{Title: "a", Method: compare.Method{Model: compare.L2MT}, Relative: 0.9, StandardError: 0.1}}}, {Name: "2", Rows: []compare.Row{{Title: "a", Relative: 0.8}}}},
		Correlations: []plot.Correlation{{Title: "c", Tasks: []string{"a"}, Correlation: [][]float64{{1}}}}}))
	for _, text := range []string{
		`{"points":[{"name":"0","rows":[{"relative":0.9}]},{"name":"1","rows":[{"relative":0.8}]},{"name":"1e9","rows":[{"relative":0.7}]}]}`,
		`{"points":[{"name":"1","rows":[{"relative":9,"standard_error":"+Inf"}]},{"name":"20","rows":[{"relative":1,"standard_error":1e300}]},{"name":"1e300","rows":[{"relative":0.1}]}]}`,
		`{"points":[{"name":"a","rows":[{"title":"a","relative":1},{"title":"b"}]},{"name":"b"}]}`,
		`{"points":[{"name":"a","rows":[{"relative":1}]},{"name":"","rows":[{"relative":1e308}]}]}`,
		`{"correlations":[{"tasks":["a"],"correlation":[[1]]},{"tasks":["a","b"],"correlation":[[1,0],[0,1]]}]}`,
		`{}`,
	} {
		f.Add(sweep, []byte(text))
	}
	f.Fuzz(func(t *testing.T, kind int, raw []byte) {
		path := filepath.Join(t.TempDir(), "picture.svg")
		var drawn *plot.Picture
		switch uint(kind) % kinds {
		case metrics:
			var m []train.Metrics
			if json.Unmarshal(raw, &m) == nil {
				drawn = plot.Training(m)
			}
		case table:
			var table compare.Table
			if json.Unmarshal(raw, &table) == nil {
				drawn = plot.Table(&table)
			}
		case sweep:
			var r swept
			if json.Unmarshal(raw, &r) == nil {
				drawn = r.picture()
				_ = plot.Correlations(r.Correlations).Save(path)
			}
		}
		_ = drawn.Save(path) // an error is as good as a picture
	})
}
