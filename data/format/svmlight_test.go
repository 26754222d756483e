package format

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"l2mt/data"
	"l2mt/data/datatest"
)

// A label, spaces, a qid and numbers may be written in many ways.
func TestSVMLightAsPeopleWriteIt(t *testing.T) {
	text := " +1 qid:7  1:1. \t 3:.5\r\n# 9:1\n\n2\tqid:-3 2:1e-3 5:0 # 6:1\n1 qid:7 2:-0 3:007 4:123456789012345678901234"
	d := mustReadBytes(t, "a.svm", []byte(text), Options{})
	want := [][]float64{{1, 0, 0.5, 0, 0}, {0, float64(float32(1e-3)), 0, 0, 0}, {0, 0, 7, float64(float32(123456789012345678901234)), 0}}
	if got := full(d.X); !cmp.Equal(got, want) || d.X.NNZ() != 5 {
		t.Errorf("%d entries %v, want %v", d.X.NNZ(), got, want)
	}
	if !slices.Equal(d.Classes, []string{"1", "2"}) || !slices.Equal(d.Label, []int32{0, 1, 0}) || !slices.Equal(d.Groups, []string{"-3", "7"}) || !slices.Equal(d.Group, []int32{1, 0, 1}) {
		t.Errorf("labels %v of %q, groups %v of %q", d.Label, d.Classes, d.Group, d.Groups)
	}
}

func TestSVMLightColumns(t *testing.T) {
	for text, cols := range map[string]int{
		"1 3:1\n":            3,
		"1 0:1 3:1\n":        4,
		"1 1:1\n2 7:0\n":     7, // a zero says how many columns there are
		"1 1:1\n2 65536:1\n": 65536,
	} {
		if d := mustReadBytes(t, "a.svm", []byte(text), Options{}); d.X.Cols() != cols {
			t.Errorf("%q has %d columns, want %d", text, d.X.Cols(), cols)
		}
	}
}

func TestSVMLightRefusesBadLines(t *testing.T) {
	good := "1 1:1 2:0.5\n# comment\n\n"
	checkRefusals(t, ".svmlight", []refusal{
		{name: "nothing", content: "", is: data.ErrInvalid, want: "no rows"},
		{name: "comments alone", content: "# nothing\n\n", is: data.ErrInvalid, want: "no rows"},
		{name: "labels alone", content: "1\n2\n", is: data.ErrInvalid, want: "no features"},
		{name: "not text", content: "\x00\x01\x02:\x03", is: data.ErrFormat, want: "line 1"},
		{name: "NaN", content: good + "1 2:nan", is: data.ErrInvalid, want: "line 4: index 2: the feature is nan"},
		{name: "infinite", content: good + "1 2:-Inf\n", is: data.ErrInvalid, want: "line 4: index 2: the feature is -Inf"},
		{name: "beyond float32", content: good + "1 2:1e39\n", is: data.ErrInvalid, want: "line 4: index 2: the feature is 1e39"},
		{name: "word as feature", content: good + "1 2:x 3:1\n", is: data.ErrFormat, want: `line 4: index 2: the feature "x"`},
		{name: "no value", content: good + "1 2: 3:1\n", is: data.ErrFormat, want: `line 4: index 2: the feature ""`},
		{name: "no colon", content: good + "1 2 3:1\n", is: data.ErrFormat, want: `line 4: "2" is not index:value, with an index up to 2147483647`},
		{name: "no index", content: good + "1 :2\n", is: data.ErrFormat, want: `":2" is not index:value`},
		{name: "negative index", content: good + "1 -1:2\n", is: data.ErrFormat, want: `"-1:2" is not index:value`},
		{name: "word as index", content: good + "1 a:2\n", is: data.ErrFormat, want: `"a:2" is not index:value`},
		{name: "index beyond int32", content: good + "1 2147483648:2\n", is: data.ErrFormat, want: `line 4: "2147483648:2" is not index:value`},
		{name: "index twice", content: good + "1 2:1 2:1\n", is: data.ErrFormat, want: "line 4: the index 2 comes after 2"},
		{name: "indices descend", content: good + "1 3:1 2:1\n", is: data.ErrFormat, want: "line 4: the index 2 comes after 3"},
		{name: "several labels", content: good + "1,2 3:1\n", is: data.ErrFormat, want: `line 4: it begins with "1,2"; it must begin with the row's label`},
		{name: "no label", content: good + "1:1 3:1\n", is: data.ErrFormat, want: `line 4: it begins with "1:1"`},
		{name: "label without number", content: good + "nan 3:1\n", is: data.ErrInvalid, want: "line 4: label: it is nan"},
		{name: "word among numbers", content: good + "x 3:1\n", is: data.ErrFormat, want: `line 4: label: "x" is among`},
		{name: "number among words", content: "x 3:1\n1 3:1", is: data.ErrFormat, want: `line 2: label: "1" is among`},
		{name: "word as target", content: good + "x 3:1\n", options: Options{Kind: data.Regression}, is: data.ErrFormat, want: `line 4: label: "x" is not a number`},
		{name: "qid missing", content: "1 qid:1 1:1\n" + good, is: data.ErrFormat, want: "line 2: either every row has a qid or none"},
		{name: "qid added", content: good + "1 qid:1 1:1\n", is: data.ErrFormat, want: "line 4: either every row has a qid or none"},
		{name: "qid without number", content: "1 qid:a 1:1\n", is: data.ErrFormat, want: `line 1: the qid "a"`},
	})
}

// fuzzed checks what a reader made of any input: a sound dataset that survives being
// written and read.
func fuzzed(t *testing.T, d *data.Dataset) {
	datatest.Check(t, d.Validate())
	var first, second bytes.Buffer
	if err := WriteNPZ(&first, d); err != nil {
		return // names that NumPy cannot hold
	}
	again := mustReadBytes(t, "a.npz", first.Bytes(), Options{})
	if again.Fingerprint() != d.Fingerprint() {
		t.Fatal("the dataset changed on its way through a file")
	}
	if err := WriteNPZ(&second, again); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Fatalf("written again the file differs (%v)", err)
	}
}

// addSeeds gives a fuzz target the files with one of the endings.
func addSeeds(f *testing.F, endings ...string) {
	f.Helper()
	files := datatest.Must(os.ReadDir(formats))(f)
	for _, file := range files {
		if !slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(file.Name(), e) }) {
			continue
		}
		content := datatest.Must(os.ReadFile(formats + file.Name()))(f)
		f.Add(content)
	}
}

func FuzzSVMLight(f *testing.F) {
	addSeeds(f, ".svmlight")
	for _, seed := range []string{"", "1 qid:3 1:2\n-1 qid:4 2:1e-3 # x\n", "1.5 0:1\n2 7:0\n", "a 1:.5\r\n\r\nb 2147483647:1", "1 1:1 1:2", "0x1p3 1:0x1p-2"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if d, err := fromBytes("fuzz.svm", text, Options{}); err == nil {
			fuzzed(t, d)
		}
	})
}

// Features are numbered where most columns have no entry: 16 MB of weights would be
// zeros for each task.
func TestColumnsWithoutEntriesAreLeftOut(t *testing.T) {
	d := mustRead(t, inFile(t, "wide.svm", "1 1:1 7:2\n2 7:3 2147483647:1\n"), Options{})
	datatest.Equal(t, d.Features, []string{"0", "6", "2147483646"}, "features")
	if have, want := full(d.X), [][]float64{{1, 2, 0}, {0, 3, 1}}; !cmp.Equal(have, want) {
		t.Errorf("X is %v, want %v", have, want)
	}
	datatest.Equal(t, d.Notes, []string{"3 of 2147483647 columns have entries; the others are left out"}, "notes")
}
