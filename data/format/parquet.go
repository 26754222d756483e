package format

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	logical "github.com/parquet-go/parquet-go/format"

	"l2mt/data"
)

// parquetMagic begins Parquet files.
const parquetMagic = "PAR1"

// blockCells is about the number of cells in a block of a Parquet file.
const blockCells = 16 << 10

// guard makes errors of what panics on a damaged file.
func guard(read func() error) (err error) {
	defer func() {
		fault := recover()
		if fault != nil {
			err = fmt.Errorf("%v", fault)
		}
		kind := errors.Is(err, data.ErrFormat) ||
			errors.Is(err, data.ErrInvalid)
		if err != nil && err != io.EOF && !kind {
			err = data.Malformed("the Parquet file is damaged or cut short: %w", err)
		}
	}()
	return read()
}

// beginParquet reads the columns of a Parquet file.
func (r *Rows) beginParquet(in io.ReaderAt, size int64) error {
	r.stored = &counter{n: size}
	return guard(func() error {
		file, err := parquet.OpenFile(in, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
		if err != nil {
			return err
		}
		for _, column := range file.Root().Columns() {
			if !column.Leaf() || column.Repeated() {
				return data.Invalid("column %q is a list or a struct; a table has one value in a cell, so write the file without the column", column.Name())
			}
			kind := column.Type()
			meaning := cmp.Or(kind.LogicalType(), &logical.LogicalType{}).Value
			c := parquetColumn{kind.Kind(), meaning}
			_, decimal := meaning.(*logical.DecimalType)
			if c.kind == parquet.Int96 || decimal && !c.number() {
				return data.Invalid("column %q is a time of 96 bits or a decimal of bytes (%v); write the file with times of 64 bits, or numbers", column.Name(), kind)
			}
			r.Names = append(r.Names, indexName.ReplaceAllString(column.Name(), ""))
			r.columns = append(r.columns, c)
		}
		for _, group := range file.Metadata().RowGroups {
			for _, column := range group.Columns {
				n := column.MetaData.TotalUncompressedSize
				if n < 0 || n > limit(size) {
					return tooMuch(size)
				}
			}
		}
		r.Width = len(r.Names)
		r.parquet = parquet.MultiRowGroup(file.RowGroups()...).Rows()
		return nil
	})
}

// nextParquet returns the next block of a Parquet file, whose rows become lines of a CSV file.
func (r *Rows) nextParquet() (b *Block, err error) {
	err = guard(func() error {
		rows := make([]parquet.Row, 1+blockCells/r.Width)
		n, err := r.parquet.ReadRows(rows)
		if n == 0 {
			return cmp.Or(err, io.EOF)
		}
		var text bytes.Buffer
		for i, row := range rows[:n] {
			if len(row) != r.Width {
				return data.Malformed("row %d: it has %d cells; the file has %d columns", r.line+i, len(row), r.Width)
			}
			for j, v := range row {
				cell := ""
				if !v.IsNull() {
					cell = r.columns[j].cell(v)
				}
				if cell == "NaN" && r.columns[j].number() {
					cell = ""
				}
				text.WriteString(`"` + strings.ReplaceAll(cell, `"`, `""`) + `",`)
			}
			text.Bytes()[text.Len()-1] = '\n'
		}
		b = &Block{
			rows:   r,
			line:   r.line,
			stored: r.stored.n,
		}
		b.text = text.Bytes()
		r.line += n
		return nil
	})
	return b, err
}

// parquetColumn is a column by the type of its values.
type parquetColumn struct {
	kind    parquet.Kind
	meaning any // of the values, nil if it is the kind's
}

// number reports whether the column has numbers.
func (c parquetColumn) number() bool {
	switch c.meaning.(type) {
	case *logical.DateType, *logical.TimestampType:
		return false
	case *logical.Float16Type:
		return true
	}
	return c.kind < parquet.ByteArray && c.kind != parquet.Boolean
}

// cell is a value as a cell.
func (c parquetColumn) cell(v parquet.Value) string {
	const day = 24 * 60 * 60
	switch l := c.meaning.(type) {
	case *logical.DateType:
		return time.Unix(day*int64(v.Int32()), 0).UTC().Format(time.DateOnly)
	case *logical.TimestampType:
		unit := l.Unit.Value.Duration()
		n := v.Int64()
		perSecond := int64(time.Second / unit)
		instant := time.Unix(n/perSecond, n%perSecond*int64(unit))
		return instant.UTC().Format("2006-01-02 15:04:05.999999999")
	case *logical.DecimalType:
		nearest, _ := strconv.ParseFloat(fmt.Sprintf("%se%d", v, -l.Scale), 64)
		return parquet.DoubleValue(nearest).String()
	case *logical.IntType:
		if !l.IsSigned {
			return fmt.Sprint(v.Uint64())
		}
	case *logical.Float16Type:
		return fmt.Sprint(float16(little.Uint16(v.ByteArray())))
	}
	switch {
	case c.kind != parquet.Boolean:
		return v.String()
	case v.Boolean():
		return "True"
	}
	return "False"
}

// ParquetWriter makes a Parquet file of the lines of a CSV file, which are written to it some
// whole lines at a time, without the header.
type ParquetWriter struct {
	words []bool // columns of text; others are numbers
	rows  *parquet.GenericWriter[any]
}

// columns are fields in an order of their own.
type columns struct {
	parquet.Group
	names []string
}

// Fields are the columns.
func (c columns) Fields() []parquet.Field {
	fields := make([]parquet.Field, len(c.names))
	for _, f := range c.Group.Fields() {
		fields[slices.Index(c.names, f.Name())] = f
	}
	return fields
}

// NewParquetWriter writes to out. Close the writer in the end.
func NewParquetWriter(out io.Writer, names []string, words []bool) (*ParquetWriter, error) {
	c := columns{parquet.Group{}, names}
	for j, name := range names {
		node := parquet.String()
		if !words[j] {
			node = parquet.Leaf(parquet.DoubleType)
		}
		c.Group[name] = parquet.Optional(node)
	}
	if len(c.Group) < len(names) {
		return nil, data.Invalid("two columns have the same name; in a Parquet file every column needs its own: %q", names)
	}
	schema := parquet.NewSchema("table", c)
	return &ParquetWriter{words,
		parquet.NewGenericWriter[any](out, schema,
			parquet.Compression(&parquet.Snappy))}, nil
}

// Write adds lines.
func (w *ParquetWriter) Write(lines []byte) (int, error) {
	cells, err := csv.NewReader(bytes.NewReader(lines)).ReadAll()
	var rows []parquet.Row
	for _, line := range cells {
		var row parquet.Row
		for j, text := range line {
			v := parquet.ByteArrayValue([]byte(text))
			if !w.words[j] {
				n, _ := strconv.ParseFloat(text, 64)
				v = parquet.DoubleValue(n)
			}
			if text == "" {
				v = parquet.NullValue()
			}
			row = append(row, v.Level(0, min(1, len(text)), j))
		}
		rows = append(rows, row)
	}
	if len(rows) > 0 {
		_, err = w.rows.WriteRows(rows)
	}
	return len(lines), err
}

// Close ends the file.
func (w *ParquetWriter) Close() error {
	return w.rows.Close()
}
