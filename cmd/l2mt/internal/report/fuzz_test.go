package report

import (
	"encoding/json"
	"math"
	"path/filepath"
	"testing"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/cmd/l2mt/internal/run"
	"l2mt/cmd/l2mt/internal/sweep"
	"l2mt/infer/compare"
	"l2mt/train"
)

// Whatever stands in the files that pictures and the report are drawn from, they
// are refused or drawn.
func FuzzPictures(f *testing.F) {
	const metrics, table, swept, kinds = 0, 1, 2, 3
	encoded := func(v any) []byte {
		raw, err := json.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		return raw
	}
	line := encoded(train.Metrics{Loss: 1, Residual: 0.5, Deviation: 1e-3, Scalars: map[string][]float64{"alpha": {1, 2}}})
	f.Add(metrics, append(append(line, '\n'), encoded(train.Metrics{Epoch: 1, Loss: 0.1, Scalars: map[string][]float64{"alpha": {1, 2}}})...))
	f.Add(metrics, append(append(line, '\n'), `{"epoch":1e15,"loss":1e308,"scalars":{"alpha":[1]}}`...))
	f.Add(table, encoded(compare.Table{Problems: []string{"p"}, Best: "a", Rows: []compare.Row{{Title: "a", Model: "l2mt", PerProblem: 0.9}, {Title: "b", PerProblem: 1, StandardError: compare.Float(math.NaN())}}}))
	f.Add(table, []byte(`{"rows":[{"per_problem":"+Inf"}]}`))
	f.Add(table, []byte(`{"rows":[{"per_problem":1e308},{"per_problem":-1e308,"standard_error":1e300}]}`))
	f.Add(swept, encoded(sweep.Result{Title: "t",
		Picture:      plot.Relative{Axis: "x", Names: []string{"1", "2"}, At: []float64{1, 2}, Methods: []*plot.Method{{Title: "a", Strong: true, Errors: []compare.Float{0.9, 0.8}, Deviations: []compare.Float{0.1, 0}}}},
		Correlations: []plot.Correlation{{Title: "c", Tasks: []string{"a"}, Correlation: [][]float64{{1}}}}}))
	for _, text := range []string{
		`{"picture":{"names":["0","1","1e9"],"at":[0,1,1e9],"methods":[{"errors":[0.9,0.8,0.7],"deviations":[0,0,0]}]}}`,
		`{"picture":{"names":["1","20","1e300"],"at":[1,20,1e300],"methods":[{"errors":[9,1,0.1],"deviations":["+Inf",1e300,0]}]}}`,
		`{"picture":{"names":["a"],"methods":[{"errors":[1],"deviations":[]},null]}}`,
		`{"picture":{"names":["a"],"at":[],"methods":[{"errors":[1],"deviations":[0]}]}}`,
		`{"correlations":[{"tasks":["a"],"correlation":[[1]]},{"tasks":["a","b"],"correlation":[[1,0],[0,1]]}]}`,
		`{}`,
		`{"picture":{"names":["a",""],"methods":[{"errors":[1,1e308],"deviations":[0,0]}]}}`,
	} {
		f.Add(swept, []byte(text))
	}
	f.Fuzz(func(t *testing.T, kind int, raw []byte) {
		path := filepath.Join(t.TempDir(), "picture.svg")
		var drawn *plot.Picture
		var err error
		switch uint(kind) % kinds {
		case metrics:
			var m []train.Metrics
			if m, err = run.ParseMetrics(raw); err == nil {
				drawn, err = plot.Training(m)
			}
		case table:
			var table compare.Table
			if err = run.ParseJSON(raw, &table); err == nil {
				drawn, err = plot.Table(&table)
			}
		case swept:
			var r sweep.Result
			if err = run.ParseJSON(raw, &r); err == nil {
				drawn, err = r.Picture.Draw()
			}
			if err == nil {
				maps, err := plot.Correlations(r.Correlations)
				_ = plot.Save(path, maps, err)
			}
		}
		_ = plot.Save(path, drawn, err) // an error is as good as a picture
	})
}
