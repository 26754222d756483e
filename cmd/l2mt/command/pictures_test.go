package command

import (
	"encoding/json"
	"math"
	"path/filepath"
	"testing"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/data/datatest"
	"l2mt/infer/compare"
	"l2mt/train"
)

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
