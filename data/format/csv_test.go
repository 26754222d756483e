package format

import (
	"l2mt/data"
	"slices"
	"strings"
	"testing"
)

func TestColumnsOfTables(t *testing.T) {
	named := "id,Class,x,task,z\n7,a,1,north,2\n8,b,3,south,4\n"
	bare := "7,a,1,north,2\n8,b,3,south,4\n"
	for _, c := range []struct {
		name, text string
		o          Options
		features   []string
		classes    []string
		groups     []string
		x          []float32 // of the second row
	}{
		{"usual names", named, Options{}, []string{"id", "x", "z"}, []string{"a", "b"}, []string{"north", "south"}, []float32{8, 3, 4}},
		{"asked by name", named, Options{Label: "task", Group: "z", Ignore: []string{"Class"}}, []string{"id", "x"}, []string{"north", "south"}, []string{"2", "4"}, []float32{8, 3}},
		{"asked by number", named, Options{Label: "3", Ignore: []string{"0", "1"}}, []string{"x", "z"}, []string{"north", "south"}, nil, []float32{3, 4}},
		{"no header, last column", bare, Options{Ignore: []string{"1", "3"}}, nil, []string{"2", "4"}, nil, []float32{8, 3}},
		{"no header, numbers", bare, Options{Label: "1", Group: "3"}, nil, []string{"a", "b"}, []string{"north", "south"}, []float32{8, 3, 4}},
		{"header of numbers", "1,2\n5,6\n7,8\n", Options{Header: HeaderYes}, []string{"1"}, []string{"6", "8"}, nil, []float32{7}},
		{"header that counts", "0,1,2\n5,6,1.5\n7,8,2.5\n", Options{}, []string{"0", "1"}, nil, nil, []float32{7, 8}},
		{"number as a name", "1,0\n5,6\n7,8\n", Options{Header: HeaderYes, Label: "1"}, []string{"0"}, []string{"5", "7"}, nil, []float32{8}},
		{"spreadsheet's mark, quotes and spaces", "\ufeff\"x, y\",\"la\"\"bel\"\r\n\" 1.5 \",a\r\n 2 , b\r\n", Options{}, []string{"x, y"}, []string{"a", "b"}, nil, []float32{2}},
		{"lines that end in a CR alone", "x,y\r1,\"a\rb\"\r2,c\r", Options{}, []string{"x"}, []string{"a\nb", "c"}, nil, []float32{2}},
		{"label before class", "class,label,x\na,b,1\na,c,2\n", Options{Ignore: []string{"class"}}, []string{"x"}, []string{"b", "c"}, nil, []float32{2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "asked by number" {
				c.o.Group = "3"
				c.groups = []string{"north", "south"}
			}
			d := mustRead(t, inFile(t, "a.csv", c.text), c.o)
			if !slices.Equal(d.Features, c.features) || !slices.Equal(d.Classes, c.classes) || !slices.Equal(d.Groups, c.groups) {
				t.Errorf("features %q, classes %q, groups %q", d.Features, d.Classes, d.Groups)
			}
			if got := d.X.Row(1).Value; !slices.Equal(got, c.x) {
				t.Errorf("second row %v, want %v", got, c.x)
			}
		})
	}
}

func TestTargetsOfTables(t *testing.T) {
	d := mustRead(t, inFile(t, "a.tsv", "x\ty\n1\t2\n2\t-0.25\n"), Options{})
	if want := []float64{2, -0.25}; !slices.Equal(d.Target, want) {
		t.Errorf("targets %v, want %v", d.Target, want)
	}
	d = mustRead(t, inFile(t, "a.csv", "1,2\n2,3\n"), Options{Kind: data.Regression})
	if want := []float64{2, 3}; !slices.Equal(d.Target, want) {
		t.Errorf("targets %v, want %v", d.Target, want)
	}
	d = mustRead(t, inFile(t, "a.csv", "1,2.5\n2,3\n"), Options{Kind: data.Classification})
	if want := []string{"2.5", "3"}; !slices.Equal(d.Classes, want) {
		t.Errorf("classes %q, want %q", d.Classes, want)
	}
}

func TestCSVRefusesBadTables(t *testing.T) {
	head := "x,z,class\n1,2,a\n"
	checkRefusals(t, ".csv", []refusal{
		{name: "no text", content: "PK\x03\x04\x00\x00,x\n1,2\n", is: data.ErrFormat, want: "it has zero bytes, which no text has"},
		{name: "UTF-16", content: "\xff\xfex\x00,\x00y\x00\n\x00", is: data.ErrFormat, want: "it is UTF-16; save it as UTF-8"},
		{name: "nothing", content: "", is: data.ErrInvalid, want: "it has 0 columns; it needs features and a label"},
		{name: "header alone", content: "x,z,class\n", is: data.ErrInvalid, want: "no rows"},
		{name: "one column", content: "1\n2\n", is: data.ErrInvalid, want: "line 1: it has 1 columns;"},
		{name: "no features", content: "1,2\n3,4\n", options: Options{Group: "0"}, is: data.ErrInvalid, want: "no features"},
		{name: "more columns than the header", content: head + "1,2,3,a\n", is: data.ErrFormat, want: "line 3: it has 4 columns but the first line has 3"},
		{name: "fewer columns", content: head + "\"1\n\",2,a\n2,a\n", is: data.ErrFormat, want: "line 5: it has 2 columns"},
		{name: "quote in a field", content: head + "1,2\"3,a\n", is: data.ErrFormat, want: "line 3, byte 4: bare"},
		{name: "open quote", content: head + "1,\"2,a\n3,4,b\n", is: data.ErrFormat, want: "extraneous or missing"},
		{name: "NaN", content: head + "1,NaN,b\n", is: data.ErrInvalid, want: "line 3: column \"z\": the feature is NaN"},
		{name: "infinite", content: "1,2,3\n-inf,2,3\n", is: data.ErrInvalid, want: "line 2: column \"0\": the feature is -inf"},
		{name: "empty feature", content: head + "1,,b\n", is: data.ErrFormat, want: `line 3: column "z": the feature "" is not a number`},
		{name: "word as feature", content: head + "one,2,b\n", is: data.ErrFormat, want: `line 3: column "x": the feature "one"`},
		{name: "empty label", content: head + "1,2,\n", is: data.ErrInvalid, want: "line 3: column \"class\", the label: it is empty"},
		{name: "NaN label", content: "x,y\n1,2\n1,nan\n", is: data.ErrInvalid, want: "line 3: column \"y\", the label: it is nan"},
		{name: "word as target", content: head, options: Options{Kind: data.Regression}, is: data.ErrFormat, want: `line 2: column "class", the label: "a" is not a number`},
		{name: "empty group", content: "x,task,y\n1,,2\n", is: data.ErrInvalid, want: "line 2: column \"task\", the group: it is empty"},
		{name: "no such label", content: head, options: Options{Label: "w"}, is: data.ErrInvalid, want: `label: there is no column "w"; there are x, z, class`},
		{name: "no such group", content: head, options: Options{Group: "3"}, is: data.ErrInvalid, want: `group: there is no column "3"`},
		{name: "nothing to ignore", content: "1,2\n", options: Options{Ignore: []string{"x"}}, is: data.ErrInvalid, want: `ignore: there is no column "x"; there are 0, 1`},
	})
}

func FuzzCSV(f *testing.F) {
	addSeeds(f, ".csv")
	for _, seed := range []string{"", "x,class\n1,a\n2,b\n", "1,2.5\n3,4\n", "\ufeffx,group,y\n\"1\",a,1e3\n", "1,2\n3\n", strings.Repeat("1,", 50) + "2"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if d, err := fromBytes("fuzz.csv", text, Options{}); err == nil {
			fuzzed(t, d)
		}
	})
}
