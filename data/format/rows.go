package format

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"l2mt/data"
)

// Rows are the rows of a table of comma- or tab-separated text, read one after the
// other.
type Rows struct {
	// Names are the names of the columns, nil without a header.
	Names []string
	// Width is the number of columns.
	Width int

	name  string
	text  *lines
	in    *csv.Reader // of text
	close func() error
	first []string // the first row, where it is no header
	line  int      // of the last row
	err   error    // what the reading ended with
}

// OpenRows opens a CSV or TSV file, packed by gzip or not, and reads its header.
// The file's name decides the format if o does not. Close the rows after use.
func OpenRows(path string, o Options) (*Rows, error) {
	kind, err := Of(path, o.Format)
	if err != nil {
		return nil, fmt.Errorf("format: %w", err)
	}
	if kind != CSV && kind != TSV {
		return nil, fmt.Errorf("format: %s: %w: its format is %s; rows are read from %s and %s", path, data.ErrInvalid, kind, CSV, TSV)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("format: %w", err)
	}
	o.Format = kind
	r, err := NewRows(f, path, o)
	if err != nil {
		f.Close()
	}
	return r, err
}

// NewRows reads a table from a stream, packed by gzip or not. Unless o says so
// it is comma-separated. The stream is closed with the rows.
func NewRows(in io.ReadCloser, name string, o Options) (*Rows, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	text, err := unpack(in, isGzip(name))
	if err != nil {
		return nil, fmt.Errorf("format: %s: %w", name, err)
	}
	r, err := newRows(text, o)
	if err != nil {
		text.Close()
		return nil, fmt.Errorf("format: %s: %w", name, err)
	}
	r.name, r.close = name, text.Close
	return r, nil
}

// newRows reads the first row. A table that is empty has no columns.
func newRows(text io.Reader, o Options) (*Rows, error) {
	in := bufio.NewReaderSize(text, 64<<10)
	start, _ := in.Peek(4 << 10)
	switch {
	case bytes.HasPrefix(start, []byte("\ufeff")): // the mark that spreadsheets put before UTF-8
		in.Discard(len("\ufeff"))
	case bytes.HasPrefix(start, []byte("\xff\xfe")) || bytes.HasPrefix(start, []byte("\xfe\xff")):
		return nil, fmt.Errorf("line 1: %w: it is UTF-16; save it as UTF-8", data.ErrFormat)
	case bytes.IndexByte(start, 0) >= 0:
		return nil, fmt.Errorf("%w: it has zero bytes, which no text has", data.ErrFormat)
	}
	r := &Rows{text: &lines{in: in}}
	r.in = csv.NewReader(bufio.NewReaderSize(r.text, 64<<10))
	r.in.FieldsPerRecord, r.in.ReuseRecord = -1, true
	if o.Format == TSV {
		r.in.Comma = '\t'
	}
	_, first, err := r.row()
	switch {
	case err == io.EOF:
		return r, nil
	case err != nil:
		return nil, err
	}
	r.Width = len(first)
	if r.Width == 1 && strings.ContainsAny(first[0], ";\t") {
		return nil, fmt.Errorf("line 1: %w: %q is one cell; cells are separated by commas or, if the format is %s, by tabs", data.ErrFormat, first[0], TSV)
	}
	first = slices.Clone(first)
	named := func(column string) bool { return !IsNumber(column) && slices.Contains(first, column) }
	if o.Header == HeaderYes || o.Header == HeaderAuto &&
		(named(o.Label) || named(o.Group) || !slices.ContainsFunc(first, IsNumber) || isCount(first)) {
		r.Names = first
	} else {
		r.first = first
	}
	return r, nil
}

// maxRow is how long a row may be: a quote that is not closed makes one of all that
// follows.
const maxRow = 256 << 20

// lines ends lines that end in a CR alone, as old spreadsheets have them, in LF.
type lines struct {
	in  *bufio.Reader
	row int // the bytes read for the row at hand
}

func (r *lines) Read(b []byte) (int, error) {
	if r.row > maxRow {
		return 0, fmt.Errorf("%w: the row is longer than %d bytes; is a quote not closed?", data.ErrFormat, maxRow)
	}
	n, err := r.in.Read(b)
	r.row += n
	for at := 0; ; at++ {
		next := bytes.IndexByte(b[at:n], '\r')
		if next < 0 {
			return n, err
		}
		at += next
		follows := b[at+1 : n]
		if at+1 == n {
			follows, _ = r.in.Peek(1)
		}
		if !bytes.HasPrefix(follows, []byte{'\n'}) {
			b[at] = '\n'
		}
	}
}

// isCount reports whether cells are 0, 1, 2 and so on: the names that pandas gives to
// columns without any, rather than a row.
func isCount(cells []string) bool {
	for j, cell := range cells {
		if cell != strconv.Itoa(j) {
			return false
		}
	}
	return len(cells) > 2
}

// Close closes what the rows are read from.
func (r *Rows) Close() error { return r.close() }

// row returns the next row that is not empty, the line that it begins on, from 1, and
// its cells without spaces around them, or io.EOF. The slice of cells is used again.
func (r *Rows) row() (line int, cells []string, err error) {
	if r.err != nil {
		return 0, nil, r.err
	}
	if cells, r.first = r.first, nil; cells == nil {
		r.text.row = 0
		cells, r.err = r.in.Read()
	}
	var fault *csv.ParseError
	switch {
	case errors.As(r.err, &fault):
		r.err = fmt.Errorf("line %d, byte %d: %w: %w", fault.Line, fault.Column, data.ErrFormat, fault.Err)
	case r.err != nil && r.err != io.EOF && r.line > 0:
		r.err = fmt.Errorf("after line %d: %w", r.line, r.err)
	case r.err == nil:
		r.line, _ = r.in.FieldPos(0)
		if r.Width > 0 && len(cells) != r.Width {
			r.err = fmt.Errorf("line %d: %w: it has %d columns but the first line has %d", r.line, data.ErrFormat, len(cells), r.Width)
		}
	}
	for j, cell := range cells {
		cells[j] = strings.TrimSpace(cell)
	}
	return r.line, cells, r.err
}

// Read reads all rows into columns, a column of the table into each that is not nil,
// and returns the lines that the rows begin on.
func (r *Rows) Read(columns []*Column) (lines []int, err error) {
	if lines, err = r.read(columns); err != nil {
		err = r.located(err)
	}
	return lines, err
}

func (r *Rows) read(columns []*Column) (lines []int, err error) {
	for {
		line, cells, err := r.row()
		if err == io.EOF {
			return lines, nil
		}
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
		for j, c := range columns {
			if c != nil {
				c.Add(cells[j])
			}
		}
	}
}

func (r *Rows) located(err error) error { return fmt.Errorf("format: %s: %w", r.name, err) }

// blockCells is enough for the work on a block to outweigh passing it on.
const blockCells = 16 << 10

// Block is some rows of a table, one after the other.
type Block struct {
	rows  *Rows
	lines []int
	cells []string
}

// Next returns the next block of rows, or io.EOF. Blocks stay valid: each may
// be looked at while the next is read.
func (r *Rows) Next() (*Block, error) {
	b := &Block{rows: r, cells: make([]string, 0, blockCells+r.Width)}
	for len(b.cells) < blockCells {
		line, cells, err := r.row()
		switch {
		case err == nil:
			b.lines, b.cells = append(b.lines, line), append(b.cells, cells...)
		case len(b.lines) > 0: // the error is the next block
			return b, nil
		case err == io.EOF:
			return nil, err
		default:
			return nil, r.located(err)
		}
	}
	return b, nil
}

// Len is the number of rows.
func (b *Block) Len() int { return len(b.lines) }

// Each calls f for every row with the number of its line in the file, from 1,
// and its cells, without spaces around them. Errors come back with the file and the
// line.
func (b *Block) Each(f func(line int, cells []string) error) error {
	for i, line := range b.lines {
		if err := f(line, b.cells[i*b.rows.Width:][:b.rows.Width]); err != nil {
			return b.rows.located(fmt.Errorf("line %d: %w", line, err))
		}
	}
	return nil
}
