package table

import (
	"io"
	"math"
	"strings"
	"testing"

	"l2mt/data/format"
)

// Whatever the table to be predicted is, its rows become finite features or an
// error.
func FuzzFeatures(f *testing.F) {
	for _, seed := range []string{"x,c\n1,red\n", "c,x\nblue,\n?,2\n", "x\n1\n", "x,c\n1e40,red\n", "x,c,c\n1,2,3\n", "1,2\n", "x,c\nNaN,NaN\n0x1p3,\"re\nd\"\n"} {
		f.Add(seed)
	}
	recipe := Recipe{Columns: []Column{{Name: "x", Mean: []float64{7}}, {Name: "c", Levels: []string{"blue", "red"}, Mean: []float64{0.5, 0.5}}}}
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := format.NewRows(io.NopCloser(strings.NewReader(text)), "fuzz", format.Options{})
		if err != nil || rows.Width == 0 {
			return
		}
		at, err := recipe.Bind(rows.Names, rows.Width, true)
		if err != nil {
			return
		}
		columns := recipe.ColumnsAt(at)
		lines, err := rows.Read(columns)
		if err != nil {
			return
		}
		x, _, err := recipe.Make(columns, len(lines), Unseen{})
		if err != nil {
			return
		}
		for _, v := range x {
			if v := float64(v); math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%q makes %v", text, x)
			}
		}
	})
}
