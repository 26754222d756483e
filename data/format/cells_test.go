package format

import (
	"io"
	"slices"
	"strings"
	"testing"

	"l2mt/data/datatest"
)

// Cells and numbers are found as people write them.
func TestCellsAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string][]float64{
		"x,y\n1,2.5\n":                       {1, 2.5},
		"x;y\n1,5;2\n":                       {1.5, 2},
		"1,5;2,25\n3,5;1,5\n":                {1.5, 2.25, 3.5, 1.5},
		"x\ty\n1,5\t-2\n":                    {1.5, -2},
		"x|y\n1.5|2e3\n":                     {1.5, 2000},
		"x,y\n\"1,5\",2\n\"3,25\",4\n":       {1.5, 2, 3.25, 4},
		"x,y\n\"1,500\",2.5\n":               {1500, 2.5},
		"x,y\n\"0,500\",\"1,250\"\n":         {0.5, 1.25}, // no thousands begin with a zero
		"x,y\n\"1,234,567\",2\n":             {1234567, 2},
		"x;y\n1.234,5;2\n":                   {1234.5, 2},
		"x;y\n1,234;2\n":                     {1.234, 2},
		"x,y\n12%,3 %\n":                     {12, 3},
		"x,y\n1'234.5,\"1 234\"\n":           {1234.5, 1234},
		"x,y\n$12,-$3.5\n":                   {12, -3.5},
		"x,y\n\"$1,234.50\",£ 7\n":           {1234.5, 7},
		"x;y\n€ 1.234,50;1,5 €\n":            {1234.5, 1.5},
		"x\ty, in words\n1\t2\n":             {1, 2},
		"x;\"y, in words\"\n1,5;2\n3,25;4\n": {1.5, 2, 3.25, 4},
		"x,y\r1,2\r3,4\r":                    {1, 2, 3, 4},
		"\ufeffx;y\r\n1;2\r\n":               {1, 2},
	} {
		o := Options{}
		if strings.Contains(text, "in words\n1\t") {
			o.Format = TSV
		}
		r, err := NewRows(io.NopCloser(strings.NewReader(text)), "a", o)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		var columns []*Column
		for j := range r.Width {
			columns = append(columns, &Column{At: j})
		}
		lines, err := r.Read(columns)
		var got []float64
		for i := range lines {
			for _, c := range columns {
				got = append(got, c.Numbers[i])
			}
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestCellsAsAskedFor(t *testing.T) {
	r := datatest.Must(NewRows(io.NopCloser(strings.NewReader("x#y#z\n1.234#No#NO\n")), "a", Options{Separator: "#", Decimal: ","}))(t)
	columns := []*Column{{At: 0}, {At: 1}, {At: 2, AsText: true}}
	if _, err := r.Read(columns); err != nil || columns[0].Numbers[0] != 1234 || columns[2].Texts[0] != "NO" {
		t.Errorf("%v %q, %v", columns[0].Numbers, columns[2].Texts, err)
	}
}
