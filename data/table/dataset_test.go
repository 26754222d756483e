package table

import (
	"bytes"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/format"
)

// datasetOf reads a dataset from the text of a file with that name.
func datasetOf(t testing.TB, name, text string, o Options) (*data.Dataset, error) {
	t.Helper()
	return Dataset(inFiles(t, name, text)[0], o)
}

func mustDataset(t testing.TB, name, text string, o Options) *data.Dataset {
	t.Helper()
	return datatest.Must(datasetOf(t, name, text, o))(t)
}

// The same content is the same dataset in every format.
func TestTablesAreDatasets(t *testing.T) {
	const formats = "../../testdata/formats/"
	want := datatest.Must(Dataset(formats+"table.npz", Options{Kind: data.Classification}))(t)
	for _, name := range []string{"table.csv", "table.csv.gz", "table.tsv", "table.svmlight"} {
		d, err := Dataset(formats+name, Options{Kind: data.Classification})
		datatest.Holds(t, err == nil && d.Fingerprint() == want.Fingerprint() && d.Name == formats+name,
			"%s: a different dataset, %v", name, err)
	}
	d, err := Dataset(datatest.Path(t, "digits", "digits.csv.gz"), Options{Kind: data.Classification})
	datatest.Holds(t, err == nil && d.X.Rows() == 1797 && d.X.Cols() == 64 && len(d.Classes) == 10,
		"digits are something else: %v", err)
}

// A dataset has the kind, the features and the labels that fit takes the table for, in every format.
func TestDatasetsAndFitsSeeTheSame(t *testing.T) {
	for name, text := range map[string]string{
		"whole.svmlight": "3 1:1\n4 1:2\n5 1:3\n4 1:4\n",
		"pairs.svmlight": "3 1:1\n4 1:2\n3 1:3\n4 1:4\n",
		"words.svmlight": "b 1:1\na 1:2\nc 1:3\na 1:4\n",
		"whole numbers":  "x,y\n1,3\n2,4\n3,5\n4,4\n",
		"pairs":          "x,y\n1,3\n2,4\n3,3\n4,4\n",
		"words":          "x,y\n1,b\n2,a\n3,c\n4,a\n",
		"gaps and words": "x,c,y\n1,red,0.5\n,blue,4\n3,red,1\n4,Red,2\n",
		"dates":          "when,y\n2024-01-31,0.5\n2024-02-28,4\n2024-03-15,1\n",
		"decimal commas": "x;y\n1,5;2\n2,5;3\n1;7\n",
	} {
		file := "a.csv"
		if filepath.Ext(name) != "" {
			file = name
		}
		d := mustDataset(t, file, text, Options{})
		r, err := Read(inFiles(t, file, text), Options{Steps: []string{None}})
		datatest.Need(t, err == nil, "%s: %v", name, err)
		p := r.Problem
		datatest.Holds(t, d.Regression() == (p.Kind() == data.Regression) && slices.Equal(d.Features, p.Features),
			"%s: %d classes of features %q; fit has a %s of %q", name, len(d.Classes), d.Features, p.Kind(), p.Features)
		for i := range d.X.Rows() {
			datatest.Equal(t, d.X.Row(i).Value, p.Tasks[0].TrainSet.X.Row(i).Value, "%s: row %d", name, i)
		}
	}
}

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
		{"asked by name", named, Options{Ignore: []string{"Class"}, Task: "z", Format: format.Options{Label: "task"}}, []string{"id", "x"}, []string{"north", "south"}, []string{"2", "4"}, []float32{8, 3}},
		{"asked by number", named, Options{Ignore: []string{"0", "1"}, Format: format.Options{Label: "3"}}, []string{"x", "z"}, []string{"north", "south"}, nil, []float32{3, 4}},
		{"no header, last column", bare, Options{Ignore: []string{"1", "3"}}, nil, []string{"2", "4"}, nil, []float32{8, 3}},
		{"no header, numbers", bare, Options{Task: "3", Format: format.Options{Label: "1"}}, nil, []string{"a", "b"}, []string{"north", "south"}, []float32{8, 3, 4}},
		{"header of numbers", "1,2\n5,6\n7,8\n", Options{Format: format.Options{Header: format.HeaderYes}}, []string{"1"}, []string{"6", "8"}, nil, []float32{7}},
		{"header that counts", "0,1,2\n5,6,1.5\n7,8,2.5\n", Options{}, []string{"0", "1"}, []string{"1.5", "2.5"}, nil, []float32{7, 8}},
		{"number as a name", "1,0\n5,6\n7,8\n", Options{Format: format.Options{Header: format.HeaderYes, Label: "1"}}, []string{"0"}, []string{"5", "7"}, nil, []float32{8}},
		{"spreadsheet's mark, quotes and spaces", "\ufeff\"x, y\",\"la\"\"bel\"\r\n\" 1.5 \",a\r\n 2 , b\r\n", Options{}, []string{"x, y"}, []string{"a", "b"}, nil, []float32{2}},
		{"lines that end in a CR alone", "x,y\r1,\"a\rb\"\r2,c\r", Options{}, []string{"x"}, []string{"a\nb", "c"}, nil, []float32{2}},
		{"label before class", "class,label,x\na,b,1\na,c,2\n", Options{Ignore: []string{"class"}}, []string{"x"}, []string{"b", "c"}, nil, []float32{2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := mustDataset(t, "a.csv", c.text, c.o)
			datatest.Holds(t, slices.Equal(d.Features, c.features) && slices.Equal(d.Classes, c.classes) && slices.Equal(d.Groups, c.groups),
				"features %q, classes %q, groups %q", d.Features, d.Classes, d.Groups)
			datatest.Equal(t, d.X.Row(1).Value, c.x, "second row")
		})
	}
}

func TestTargetsOfTables(t *testing.T) {
	d := mustDataset(t, "a.tsv", "x\ty\n1\t2\n2\t-0.25\n3\t1\n", Options{})
	datatest.Equal(t, d.Target, []float64{2, -0.25, 1}, "targets")
	d = mustDataset(t, "a.csv", "1,2\n2,3\n", Options{Kind: data.Regression})
	datatest.Equal(t, d.Target, []float64{2, 3}, "targets")
	d = mustDataset(t, "a.csv", "1,2.5\n2,3\n", Options{Kind: data.Classification})
	datatest.Equal(t, d.Classes, []string{"2.5", "3"}, "classes")
}

func TestCSVRefusesBadTables(t *testing.T) {
	head := "x,z,class\n1,2,a\n"
	for _, c := range []struct {
		name, content string
		options       Options
		is            error
		want          string
	}{
		{name: "no text", content: "PK\x03\x04\x00\x00,x\n1,2\n", is: data.ErrFormat, want: "it has zero bytes, so that it is no text"},
		{name: "UTF-16", content: "\xff\xfex\x00,\x00y\x00\n\x00", is: data.ErrFormat, want: "it is UTF-16; save it as UTF-8"},
		{name: "nothing", content: "", is: data.ErrInvalid, want: "it is empty; it needs a header and rows"},
		{name: "header alone", content: "x,z,class\n", is: data.ErrInvalid, want: "it has no labelled rows"},
		{name: "one column", content: "1\n2\n", is: data.ErrInvalid, want: "no column is left for features"},
		{name: "no features", content: "1,2\n3,4\n", options: Options{Task: "0"}, is: data.ErrInvalid, want: "no column is left for features"},
		{name: "more columns than the header", content: head + "1,2,3,a\n", is: data.ErrFormat, want: "line 3: it has 4 columns but the first line has 3"},
		{name: "fewer columns", content: head + "\"1\n\",2,a\n2,a\n", is: data.ErrFormat, want: "line 5: it has 2 columns"},
		{name: "quote in a field", content: head + "1,2\"3,a\n", is: data.ErrFormat, want: "line 3, byte 4: bare"},
		{name: "open quote", content: head + "\n1,\"3\n", is: data.ErrFormat, want: "line 4, byte 6: extraneous or missing"},
		{name: "infinite", content: "1,2,3\n-inf,2,3\n", is: data.ErrInvalid, want: "line 2: column \"0\": it is -inf; numbers must be finite"},
		{name: "word as feature", content: head + "one,2,b\n", is: data.ErrFormat, want: `line 3: column "x": "one" is not a number`},
		{name: "empty label", content: head + "1,2,\n", is: data.ErrInvalid, want: `line 3: column "class", the target: it is missing ("")`},
		{name: "empty group", content: "x,task,y\n1,,2\n", is: data.ErrInvalid, want: `line 2: column "task", the task: it is missing ("")`},
		{name: "no such label", content: head, options: Options{Format: format.Options{Label: "w"}}, is: data.ErrInvalid, want: `label: there is no column "w"; there are x, z, class`},
		{name: "no such group", content: head, options: Options{Task: "3"}, is: data.ErrInvalid, want: `group: there is no column "3"`},
		{name: "nothing to ignore", content: "1,2\n", options: Options{Ignore: []string{"x"}}, is: data.ErrInvalid, want: `ignore: there is no column "x"; there are 0, 1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			datatest.Refused(datasetOf(t, "file.csv", c.content, c.options))(t, c.is, c.want)
		})
	}
}

// Labels of files of numbers are checked as those of tables are, and told apart by their line or row.
func TestLabelsOfNumbersAreChecked(t *testing.T) {
	good := "1 1:1 2:0.5\n# comment\n\n"
	for _, c := range []struct {
		text string
		o    Options
		is   error
		want string
	}{
		{"nan 3:1\n", Options{}, data.ErrInvalid, `line 4: column "y", the target: it is missing ("nan")`},
		{"inf 3:1\n", Options{}, data.ErrInvalid, `line 4: column "y", the target: it is inf`},
		{"x 3:1\n2 3:1\n", Options{}, data.ErrFormat, `line 4: column "y": "x": it is a word among numbers`},
		{"x 3:1\n", Options{Kind: data.Regression}, data.ErrFormat, `line 4: column "y": "x": it is not a number`},
		{"2 3:1\n", Options{Targets: []string{"z"}}, data.ErrInvalid, `there is no column "z"`},
	} {
		datatest.Refused(datasetOf(t, "a.svmlight", good+c.text, c.o))(t, c.is, c.want)
	}
	d := mustDataset(t, "a.svmlight", good+"nan 3:1\n2 3:1\n", Options{SkipUnlabelled: true})
	datatest.Equal(t, d.X.Rows(), 2, "labelled rows")
	const tasks = "../../testdata/formats/tasks.npz"
	if d := datatest.Must(Dataset(tasks, Options{}))(t); !d.Regression() || d.Target[3] != 5 {
		t.Errorf("targets %v; want the first column", d.Target)
	}
	for _, target := range []string{"1", "class"} {
		d := datatest.Must(Dataset(tasks, Options{Kind: data.Classification, Targets: []string{target}}))(t)
		datatest.Equal(t, d.Label, []int32{1, 0, 2, 0, 1, 2, 0, 1}, "labels %s", target)
	}
}

// Classes that have names are classes, to a fit too, whatever the names are.
func TestNamedClassesAreClasses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npz")
	d := mustDataset(t, "a.csv", "x,y\n1,1\n2,2\n3,10\n4,01\n", Options{Kind: data.Classification})
	datatest.Check(t, format.Write(path, d))
	again := datatest.Must(Dataset(path, Options{}))(t)
	datatest.Equal(t, again.Classes, []string{"1", "2", "10"}, "classes")
	datatest.Equal(t, again.Fingerprint(), d.Fingerprint(), "the fingerprint")
	datatest.Equal(t, datatest.Must(Read([]string{path}, Options{}))(t).Problem.Classes, again.Classes, "classes of a fit")
}

func FuzzDataset(f *testing.F) {
	for _, seed := range []string{"", "x,class\n1,a\n2,b\n", "1,2.5\n3,4\n", "\ufeffx,group,y\n\"1\",a,1e3\n", "1,2\n3\n", strings.Repeat("1,", 50) + "2", "x,c,y\n,red,1\n2,blue,?\n", "when,y\n2024-01-31,1\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Dataset("fuzz.csv", Options{Format: format.Options{From: io.NopCloser(bytes.NewReader(text))}})
		if err != nil {
			return
		}
		datatest.Check(t, d.Validate())
		path := filepath.Join(t.TempDir(), "a.npz")
		if format.Write(path, d) != nil {
			return // names that NumPy cannot hold
		}
		again, err := Dataset(path, Options{})
		datatest.Need(t, err == nil && again.Fingerprint() == d.Fingerprint(),
			"the dataset changed on its way through a file: %v", err)
	})
}
