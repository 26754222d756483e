package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"

	"l2mt/data"
	"l2mt/data/datatest"
)

// contentOf is a stream of a table.
func contentOf(content []byte) Options {
	return Options{From: io.NopCloser(bytes.NewReader(content))}
}

// Rust's writer of Arrow and the CSV file of the same cells agree in every type: numbers of all
// sizes, decimals, categories, booleans, dates, times and gaps, in six row groups.
func TestParquetHasTheCellsOfCSV(t *testing.T) {
	for _, streams := range []bool{false, true} {
		var tables [2][]*Column
		for i, name := range []string{"people.csv", "people.parquet"} {
			var in Options
			if streams {
				in = contentOf(datatest.Must(os.ReadFile(formats + name))(t))
			}
			names, columns, err := columnsOf(formats+name, in, false)
			datatest.Need(t, err == nil && len(names) == 9 && names[8] == "score",
				"%s: columns %q, %v", name, names, err)
			tables[i] = columns
		}
		for j, want := range tables[0] {
			have := tables[1][j]
			for i := range 40 {
				datatest.Holds(t, have.Label(i) == want.Label(i) || math.IsNaN(want.Label(i).Number),
					"column %d, row %d: %v, the CSV file has %v", j, i, have.Label(i), want.Label(i))
			}
			datatest.Holds(t, have.Len() == 40 && slices.Equal(have.Texts, want.Texts),
				"column %d: %d rows with the texts %q, want %q", j, have.Len(), have.Texts, want.Texts)
		}
	}
}

// The content says that a file is a Parquet file, under any name.
func TestParquetIsKnownByItsContent(t *testing.T) {
	content := datatest.Must(os.ReadFile(formats + "people.parquet"))(t)
	for _, name := range []string{"a.csv", "b", "c.npz"} {
		kind, err := Of(inFile(t, name, string(content)), Options{Format: CSV})
		datatest.Holds(t, kind == Parquet && err == nil, "%s is %q, %v", name, kind, err)
	}
}

// A file that is written has the lines of the CSV file, with numbers as numbers and gaps as gaps.
func TestParquetIsWritten(t *testing.T) {
	var b bytes.Buffer
	w := datatest.Must(NewParquetWriter(&b, []string{"z", "a", "m, n"}, []bool{true, false, true}))(t)
	for _, lines := range []string{"1,2.5,x\n", "2,,\n", "3,-1e300,\"y\n\"\"z\"\n"} {
		if n, err := io.WriteString(w, lines); n != len(lines) || err != nil {
			t.Fatal(n, err)
		}
	}
	datatest.Check(t, w.Close())
	names, columns, err := columnsOf("table", contentOf(b.Bytes()), false)
	datatest.Need(t, err == nil && slices.Equal(names, []string{"z", "a", "m, n"}),
		"columns %q, %v", names, err)
	var have []string
	for _, c := range columns {
		for i := range c.Len() {
			have = append(have, c.Label(i).String())
		}
	}
	if want := []string{"1", "2", "3", "2.5", "NaN", "-1e+300", "x", "NaN", "y\n\"z"}; columns[1].Text(1) < 0 || !cmp.Equal(have[3:4], want[3:4]) || have[5] != want[5] || have[8] != want[8] {
		t.Errorf("cells %q, want %q", have, want)
	}
	file := datatest.Must(parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len())))(t)
	for j, want := range []string{"STRING", "DOUBLE", "STRING"} {
		datatest.Equal(t, file.Root().Columns()[j].Type().String(), want, "column %d has the type", j)
	}
}

// Every cut is noticed, and flipped bits do no more than give an error or other cells.
func TestDamagedParquet(t *testing.T) {
	datatest.Long(t)
	content := datatest.Must(os.ReadFile(formats + "people.parquet"))(t)
	sound := func(err error) bool { return errors.Is(err, data.ErrFormat) || errors.Is(err, data.ErrInvalid) }
	for i := 4; i < len(content); i += 61 {
		_, _, err := columnsOf("table", contentOf(content[:i]), true)
		datatest.Need(t, sound(err), "cut to %d of %d bytes: error %v", i, len(content), err)
		flipped := slices.Clone(content)
		flipped[i] ^= 1 << (i % 8)
		_, _, err = columnsOf("table", contentOf(flipped), true)
		datatest.Need(t, err == nil || sound(err), "a flipped bit in byte %d: error %v", i, err)
	}
}

func TestParquetRefusals(t *testing.T) {
	datatest.Long(t)
	type nested struct {
		X    float64
		Tags []string
	}
	var lists, many, binary, decimals, times bytes.Buffer
	datatest.Check(t, parquet.Write(&lists, []nested{{1, []string{"a"}}}))
	datatest.Check(t, parquet.Write(&binary, []struct{ B []byte }{{[]byte{0xff}}}))
	datatest.Check(t, parquet.Write(&times, make([]struct{ T deprecated.Int96 }, 1)))
	datatest.Check(t, parquet.Write(&decimals, []struct {
		D [16]byte `parquet:",decimal(2:38)"`
	}{{}}))
	type equal struct {
		X int32 `parquet:",dict"`
	}
	w := parquet.NewGenericWriter[equal](&many)
	for range 150 {
		datatest.Must(w.Write(make([]equal, 100_000)))(t)
	}
	datatest.Check(t, w.Close())
	for want, content := range map[string]*bytes.Buffer{
		`column "Tags" is a list or a struct`:                                   &lists,
		`line 1: it is not UTF-8`:                                               &binary,
		`column "T" is a time of 96 bits or a decimal of bytes (INT96)`:         &times,
		`column "D" is a time of 96 bits or a decimal of bytes (DECIMAL(38,2))`: &decimals,
		fmt.Sprintf("more than a file of %d bytes", many.Len()):                 &many,
	} {
		var err error
		got := datatest.Allocated(func() { _, _, err = columnsOf("table", contentOf(content.Bytes()), false) })
		datatest.Holds(t, err != nil && strings.Contains(err.Error(), want) && got <= 300<<20,
			"error %v, want %q; %d bytes allocated for %d", err, want, got, content.Len())
	}
}
