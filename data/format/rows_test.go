package format

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"l2mt/data"
	"l2mt/data/datatest"
)

// allRows are the rows of a text that comes in blocks of about the given size.
func allRows(text string, size int) (rows [][]string, at []int, err error) {
	r := &Rows{stored: &counter{}, in: lines{bufio.NewReaderSize(iotest.HalfReader(strings.NewReader(text)), 16)}, comma: ',', line: 1, size: size}
	for {
		b, err := r.next()
		if err == io.EOF {
			return rows, at, nil
		}
		if err == nil {
			err = b.each(func(line int, row []string) error {
				rows, at = append(rows, slices.Clone(row)), append(at, line)
				return nil
			})
		}
		if err != nil {
			return rows, at, err
		}
	}
}

// csvRows are those of encoding/csv, to which a CR alone is no end of a line.
func csvRows(text string) (rows [][]string, lines []int, err error) {
	parts := strings.Split(text, "\r\n")
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], "\r", "\n")
	}
	r := csv.NewReader(strings.NewReader(strings.Join(parts, "\r\n")))
	r.FieldsPerRecord = -1
	for {
		row, err := r.Read()
		if err == io.EOF {
			return rows, lines, nil
		}
		if err != nil {
			return rows, lines, err
		}
		line, _ := r.FieldPos(0)
		rows, lines = append(rows, row), append(lines, line)
	}
}

func FuzzRows(f *testing.F) {
	for _, seed := range []string{
		"a,b\n1,2\n", "a,b\r\n1,\r\n\r\n,\r\n", "\"a\nb\",\"c\"\"d\"\n\n\"\",x", "\"open,1\n2", "a\"b,c\n", "\"a\"b\n", "\"a\"\r", "\"a\r\nb\"\r\nc\r", "a\rb,\"c\"\r\rd", "\"", "\"\"\"\"", "a\r\r\nb\r",
	} {
		f.Add(seed, 3)
	}
	f.Fuzz(func(t *testing.T, text string, size int) {
		want, wantLines, wantErr := csvRows(text)
		got, lines, err := allRows(text, 1+max(size, -size)%1000)
		datatest.Holds(t, fmt.Sprint(got) == fmt.Sprint(want) && slices.Equal(lines, wantLines) && (err == nil) == (wantErr == nil),
			"%q: rows %q at %v, %v; encoding/csv says %q at %v, %v", text, got, lines, err, want, wantLines, wantErr)
	})
}

// A table of many blocks is the same rows, with the lines that they begin on.
func TestRowsComeInBlocks(t *testing.T) {
	var text bytes.Buffer
	text.WriteString("\ufeffid,\"a\nname\"\n")
	const n = 60_000
	for i := range n {
		fmt.Fprintf(&text, "%d,\"x\n%d\"\n\n", i, i)
	}
	r := datatest.Must(OpenRows("many", Options{Header: HeaderYes, From: io.NopCloser(&text)}))(t)
	datatest.Need(t, slices.Equal(r.Names, []string{"id", "a\nname"}) && r.Width == 2,
		"%d columns %q", r.Width, r.Names)
	blocks, next := 0, 0
	for ; ; blocks++ {
		block, err := r.Next()
		if err == io.EOF {
			break
		}
		datatest.Check(t, err)
		id, name := &Column{At: 0}, &Column{At: 1}
		lines := datatest.Must(block.Into([]*Column{id, name, {At: -1}}))(t)
		for i, line := range lines {
			if got := name.Label(i).Text; id.Numbers[i] != float64(next) || got != fmt.Sprintf("x\n%d", next) || line != 3+3*next {
				t.Fatalf("%v and %q on line %d, want %d", id.Numbers[i], got, line, next)
			}
			next++
		}
	}
	datatest.Holds(t, next == n && blocks >= 3, "%d rows in %d blocks", next, blocks)
}

// Columns are the same however a table falls into blocks, spellings too.
func TestReadJoinsBlocks(t *testing.T) {
	cells := []string{"1", "2.50", "ab", "AB", "aB", "", "7.0", "7", "x", "-3"}
	r := rand.New(rand.NewPCG(5, 7))
	var text strings.Builder
	for range 400 {
		fmt.Fprintf(&text, "%s,%s\n", cells[r.IntN(len(cells))], cells[r.IntN(len(cells))])
	}
	read := func(size int) string {
		rows := &Rows{stored: &counter{}, in: strings.NewReader(text.String()), comma: ',', line: 1, size: size, Width: 2, Decimal: "."}
		columns := []*Column{{At: 0, Joins: true}, {At: 1, Joins: true, AsText: true}}
		read := fmt.Sprint(datatest.Must(rows.Read(columns))(t))
		for _, c := range columns {
			read += fmt.Sprint(c.Numbers, c.Texts, c.Joined, c.index)
		}
		return read
	}
	whole := read(1 << 20)
	for _, size := range []int{20, 70, 1000} {
		datatest.Equal(t, read(size), whole, "with blocks of %d bytes", size)
	}
}

// The name of a column that is asked for tells a header that has numbers in it.
func TestHeadersWithNumbers(t *testing.T) {
	for _, o := range []Options{{Label: "y"}, {Group: "y"}} {
		o.From = io.NopCloser(strings.NewReader("2019,y\n1,2\n"))
		r, err := OpenRows("a.csv", o)
		datatest.Holds(t, err == nil && slices.Equal(r.Names, []string{"2019", "y"}),
			"%+v: names %q, %v", o, r.Names, err)
	}
}

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
		o.From = io.NopCloser(strings.NewReader(text))
		_, columns, err := columnsOf("a", o, false)
		datatest.Need(t, err == nil, "%q: %v", text, err)
		var got []float64
		for i := range columns[0].Numbers {
			for _, c := range columns {
				got = append(got, c.Numbers[i])
			}
		}
		datatest.Holds(t, err == nil && slices.Equal(got, want), "%q: %v, %v, want %v", text, got, err, want)
	}
}

func TestCellsAsAskedFor(t *testing.T) {
	r := datatest.Must(OpenRows("a", Options{Separator: "#", Decimal: ",", From: io.NopCloser(strings.NewReader("x#y#z\n1.234#No#NO\n"))}))(t)
	columns := []*Column{{At: 0}, {At: 1}, {At: 2, AsText: true}}
	if _, err := r.Read(columns); err != nil || columns[0].Numbers[0] != 1234 || columns[2].Texts[0] != "NO" {
		t.Errorf("%v %q, %v", columns[0].Numbers, columns[2].Texts, err)
	}
}

// A label, spaces, a qid and numbers may be written in many ways.
func TestSVMLightAsPeopleWriteIt(t *testing.T) {
	text := " +1 qid:7  1:1. \t 3:.5\r\n# 9:1\n\n2\tqid:-3 2:1e-3 5:0 # 6:1\n1 qid:7 2:-0 3:007 4:123456789012345678901234"
	d := mustReadBytes(t, "a.svm", []byte(text))
	want := [][]float64{{1, 0, 0.5, 0, 0}, {0, float64(float32(1e-3)), 0, 0, 0}, {0, 0, 7, float64(float32(123456789012345678901234)), 0}}
	if got := full(d.X); !cmp.Equal(got, want) || d.X.NNZ() != 5 {
		t.Errorf("%d entries %v, want %v", d.X.NNZ(), got, want)
	}
	datatest.Holds(t, slices.Equal(d.Classes, []string{"1", "2"}) && slices.Equal(d.Label, []int32{0, 1, 0}) && slices.Equal(d.Groups, []string{"-3", "7"}) && slices.Equal(d.Group, []int32{1, 0, 1}),
		"labels %v of %q, groups %v of %q", d.Label, d.Classes, d.Group, d.Groups)
}

func TestSVMLightColumns(t *testing.T) {
	for text, cols := range map[string]int{
		"1 3:1\n":            3,
		"1 0:1 3:1\n":        4,
		"1 1:1\n2 7:0\n":     7, // a zero says how many columns there are
		"1 1:1\n2 65536:1\n": 65536,
	} {
		d := mustReadBytes(t, "a.svm", []byte(text))
		datatest.Holds(t, d.X.Cols() == cols, "%q has %d columns, want %d", text, d.X.Cols(), cols)
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
		{name: "qid missing", content: "1 qid:1 1:1\n" + good, is: data.ErrFormat, want: "line 2: the row has a qid and rows before have none"},
		{name: "qid added", content: good + "1 qid:1 1:1\n", is: data.ErrFormat, want: "line 4: the row has a qid and rows before have none"},
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
	again := mustReadBytes(t, "a.npz", first.Bytes())
	datatest.Need(t, again.Fingerprint() == d.Fingerprint(), "the dataset changed on its way through a file")
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
		f.Add(datatest.Must(os.ReadFile(formats + file.Name()))(f))
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
