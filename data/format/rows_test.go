package format

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

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
		if err != nil {
			return rows, at, err
		}
		err = b.each(func(line int, row []string) error {
			rows, at = append(rows, slices.Clone(row)), append(at, line)
			return nil
		})
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
		if fmt.Sprint(got) != fmt.Sprint(want) || !slices.Equal(lines, wantLines) || (err == nil) != (wantErr == nil) {
			t.Errorf("%q: rows %q at %v, %v; encoding/csv says %q at %v, %v", text, got, lines, err, want, wantLines, wantErr)
		}
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
	r := datatest.Must(NewRows(io.NopCloser(&text), "many", Options{Header: HeaderYes}))(t)
	if !slices.Equal(r.Names, []string{"id", "a\nname"}) || r.Width != 2 {
		t.Fatalf("%d columns %q", r.Width, r.Names)
	}
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
	if next != n || blocks < 3 {
		t.Errorf("%d rows in %d blocks", next, blocks)
	}
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
		r, err := NewRows(io.NopCloser(strings.NewReader("2019,y\n1,2\n")), "a.csv", o)
		if err != nil || !slices.Equal(r.Names, []string{"2019", "y"}) {
			t.Errorf("%+v: names %q, %v", o, r.Names, err)
		}
	}
}

func TestErrorsOfRowsSayWhere(t *testing.T) {
	for text, want := range map[string]string{
		"x,y\n1,2\n1,2,3\n":   "a.csv: line 3: it has 3 columns but the first line has 2",
		"x,y\n1,2\n\n1,\"3\n": "a.csv: line 4, byte 6: " + csv.ErrQuote.Error(),
	} {
		r := datatest.Must(NewRows(io.NopCloser(strings.NewReader(text)), "a.csv", Options{}))(t)
		if _, err := r.Read(nil); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
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
