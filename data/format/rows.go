package format

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"golang.org/x/sync/errgroup"

	"l2mt/data"
)

// Rows are the rows of a table of comma- or tab-separated text, or of a Parquet file. One block of
// them is in memory at a time.
type Rows struct {
	// Names are the names of the columns, numbers from 0 where the table is Bare, without a header.
	Names []string
	Bare  bool
	// Width is the number of columns.
	Width int
	// Decimal is the decimal mark of numbers, a point or a comma.
	Decimal string

	name    string
	parquet parquet.Rows    // nil for text
	columns []parquetColumn // nil for text
	closer  io.Closer
	in      io.Reader
	stored  *counter // the bytes on disk
	comma   rune
	first   *Block // the block that the header was in
	rest    []byte // text that was read behind the last block
	line    int    // the first line of rest, from 1; of a Parquet file the next row
	size    int    // about how much text a block has
	end     bool
}

// OpenRows opens a CSV, TSV or Parquet file, or the stream that o has, packed by gzip or not, and
// reads its header. The file's name decides the format if o does not; a stream is CSV unless o says
// otherwise. The stream is closed with the rows, or by an error.
func OpenRows(path string, o Options) (*Rows, error) {
	kind, err := Of(path, o)
	if err != nil {
		return nil, err
	}
	if !kind.HasColumns() {
		return nil, data.Invalid("%s: its format is %s; rows are read from %s, %s and %s",
			path, kind, CSV, TSV, Parquet)
	}
	in := o.From
	if in == nil {
		in, err = os.Open(path)
		if err != nil {
			return nil, err
		}
	}
	o.Format = kind
	r := &Rows{
		name:    path,
		closer:  in,
		line:    1,
		size:    blockSize,
		Decimal: o.Decimal,
	}
	if err := r.open(in, o); err != nil {
		return nil, r.located(errors.Join(err, r.Close()))
	}
	return r, nil
}

// open reads the first row, or the columns of a Parquet file. That is read from where its columns
// are: of a stream all is kept.
func (r *Rows) open(in io.ReadCloser, o Options) error {
	start := bufio.NewReaderSize(in, buffered)
	magic, _ := start.Peek(len(parquetMagic))
	if string(magic) == parquetMagic {
		r.Decimal = "."
		r.comma = ','
		f, ok := in.(*os.File)
		if ok {
			info, err := f.Stat()
			return cmp.Or(err, r.beginParquet(f, info.Size()))
		}
		content, err := io.ReadAll(start)
		return cmp.Or(err,
			r.beginParquet(bytes.NewReader(content), int64(len(content))))
	}
	text, err := unpack(start, r.name)
	if err != nil {
		return err
	}
	r.stored = text.packed
	return r.begin(bufio.NewReaderSize(text, buffered), o)
}

// begin reads the first row. A table that is empty has no columns.
func (r *Rows) begin(in *bufio.Reader, o Options) error {
	start, _ := in.Peek(4 << 10)
	switch {
	case bytes.HasPrefix(start, []byte("\ufeff")): // the mark that spreadsheets put before UTF-8
		in.Discard(len("\ufeff"))
	case bytes.HasPrefix(start, []byte("\xff\xfe")) ||
		bytes.HasPrefix(start, []byte("\xfe\xff")):
		return data.Malformed("line 1: it is UTF-16; save it as UTF-8")
	case bytes.IndexByte(start, 0) >= 0:
		return data.Malformed("it has zero bytes, so that it is no text")
	}
	r.in = lines{in}
	b, err := r.next()
	if err == io.EOF {
		return nil
	}
	if err != nil {
		return err
	}
	switch o.Separator {
	case "":
		r.comma = separatorOf(b.text, o.Format)
	case "tab":
		r.comma = '\t'
	default:
		separator := []rune(o.Separator)
		if len(separator) > 1 || strings.ContainsAny(o.Separator, "\"\r\n") {
			return data.Invalid("separator %q: it must be a character, or tab", o.Separator)
		}
		r.comma = separator[0]
	}
	if r.Decimal == "" {
		r.Decimal = b.decimalOf()
	} else if written[r.Decimal] == nil {
		return data.Invalid("decimal %q: it must be a point or a comma", r.Decimal)
	}
	var first []string
	err = b.each(func(_ int, cells []string) error {
		first = slices.Clone(cells)
		return io.EOF
	})
	if err != io.EOF {
		return err
	}
	r.Width = len(first)
	r.first = b
	if err := bounded(1, r.Width, r.Width, r.stored.n); err != nil {
		return fmt.Errorf("line %d: %w", b.line, err)
	}
	for j, cell := range first {
		first[j] = strings.TrimSpace(cell)
	}
	names := func(column string) bool {
		return !IsNumber(column) && slices.Contains(first, column)
	}
	noNumber := !slices.ContainsFunc(first, func(cell string) bool {
		return IsNumber(r.clean(cell, false))
	})
	// Columns without names are called 0, 1, 2 by pandas.
	counts := len(first) > 2 && slices.Equal(first, Numbered(len(first)))
	header := names(o.Label) || names(o.Group) || noNumber || counts
	r.Names = first
	r.Bare = o.Header == HeaderNo || o.Header == "" && !header
	if r.Bare {
		r.Names = Numbered(r.Width)
	}
	b.header = !r.Bare
	return nil
}

// lines ends lines that end in a CR alone, as old spreadsheets have them, in LF.
type lines struct{ in *bufio.Reader }

func (r lines) Read(b []byte) (int, error) {
	n, err := r.in.Read(b)
	for i := 0; ; i++ {
		next := bytes.IndexByte(b[i:n], '\r')
		if next < 0 {
			return n, err
		}
		i += next
		follows := b[i+1 : n]
		if i+1 == n {
			follows, _ = r.in.Peek(1)
		}
		if !bytes.HasPrefix(follows, []byte{'\n'}) {
			b[i] = '\n'
		}
	}
}

// HasNumbers reports whether a column says that it has numbers. Text does not say.
func (r *Rows) HasNumbers(column int) bool {
	return r.columns != nil && r.columns[column].number()
}

// Close closes the file or stream.
func (r *Rows) Close() error {
	return r.closer.Close()
}

// Read reads all rows into columns, each from its place in the table, and returns
// the rows' first lines.
func (r *Rows) Read(columns []*Column) (lines []int, err error) {
	for {
		b, err := r.Next()
		if err == io.EOF {
			return lines, nil
		}
		if err != nil {
			return nil, err
		}
		read, err := b.Into(columns)
		if err != nil {
			return nil, err
		}
		lines = append(lines, read...)
		n := len(lines)
		if err := bounded(n, r.Width, n*r.Width, b.stored); err != nil {
			return nil, r.located(err)
		}
	}
}

// Each lets work make something of several blocks at a time, and passes that on in order, the same
// for any number of workers.
func Each[T any](
	r *Rows, workers int,
	work func(*Block) (T, error), sink func(T) error,
) error {
	for open := true; open; {
		var results []func() error
		var group errgroup.Group
		group.SetLimit(workers)
		for open && len(results) < 4*workers {
			block, err := r.Next()
			open = err == nil
			if err == io.EOF {
				break
			}
			var value T
			group.Go(func() error {
				if err == nil {
					value, err = work(block)
				}
				return nil
			})
			results = append(results, func() error {
				if err != nil {
					return err
				}
				return sink(value)
			})
		}
		_ = group.Wait() // each block has its error, in order
		for _, pass := range results {
			err := pass()
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Fault is an error of the row that begins on a line.
func (r *Rows) Fault(line int, err error) error {
	return r.located(fmt.Errorf("line %d: %w", line, err))
}

func (r *Rows) located(err error) error {
	return fmt.Errorf("%s: %w", r.name, err)
}

const (
	// blockSize is enough for the work on a block to outweigh passing it on.
	blockSize = 256 << 10
	// buffered is enough to tell the kind of a text; larger reads pass the buffer by.
	buffered = 8 << 10
	// maxRow bounds the length of a row: a quote that is not closed makes one row
	// of the rest.
	maxRow = 16 << 20
)

// Next returns the next block of rows, or io.EOF. Blocks stay valid: each may
// be looked at while the next is read.
func (r *Rows) Next() (*Block, error) {
	b, err := r.next()
	if err != nil && err != io.EOF {
		err = r.located(err)
	}
	return b, err
}

func (r *Rows) next() (*Block, error) {
	if r.parquet != nil {
		return r.nextParquet()
	}
	if b := r.first; b != nil {
		r.first = nil
		return b, nil
	}
	text := append(make([]byte, 0, len(r.rest)+r.size), r.rest...)
	for {
		cut := lastRow(text)
		if r.end {
			cut = len(text)
		}
		switch {
		case cut == 0 && r.end:
			return nil, io.EOF
		case cut > 0 && (r.end || len(text) == cap(text)):
			b := &Block{
				rows:   r,
				stored: r.stored.n,
			}
			b.text = text[:cut]
			b.line = r.line
			r.rest = text[cut:]
			r.line += bytes.Count(b.text, []byte{'\n'})
			return b, nil
		case len(text) > maxRow:
			return nil, data.Malformed("line %d: the row is longer than %d bytes; is a quote not closed?", r.line, maxRow)
		case len(text) == cap(text):
			text = slices.Grow(text, len(text))
		}
		n, err := io.ReadFull(r.in, text[len(text):cap(text)])
		text = text[:len(text)+n]
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			r.end = true
		} else if err != nil {
			return nil, err
		}
	}
}

// lastRow returns the end of the last whole row of the text, behind its last
// line break that is not between quotes.
func lastRow(text []byte) int {
	if bytes.IndexByte(text, '"') < 0 {
		return bytes.LastIndexByte(text, '\n') + 1
	}
	last := 0
	quoted := false
	for i, c := range text {
		if c == '"' {
			quoted = !quoted
		} else if c == '\n' && !quoted {
			last = i + 1
		}
	}
	return last
}

// Block is some rows of a table, one after the other.
type Block struct {
	rows   *Rows
	text   []byte
	line   int   // the first
	header bool  // the first row is the header
	stored int64 // bytes on disk up to its end
}

// Into adds the rows to columns, each from its place in the table, and returns the
// rows' first lines.
func (b *Block) Into(columns []*Column) (lines []int, err error) {
	points := b.rows.Decimal == "."
	err = b.each(func(line int, cells []string) error {
		width := b.rows.Width
		if len(cells) != width {
			return data.Malformed("line %d: it has %d columns but the first line has %d", line, len(cells), width)
		}
		lines = append(lines, line)
		for _, c := range columns {
			if c.At >= 0 && !(points && c.addNumber(cells[c.At])) {
				c.Add(b.rows.clean(cells[c.At], c.AsText))
			}
		}
		return nil
	})
	if err != nil {
		return nil, b.rows.located(err)
	}
	return lines, nil
}

// each calls f for every row that is not empty with its first line, from 1, and its cells,
// in a slice that is used again.
func (b *Block) each(f func(line int, cells []string) error) error {
	if len(b.text) > 2*blockSize { // a row is longer than a block, and becomes cells as a whole
		cells := 1 + bytes.Count(b.text, []byte(string(b.rows.comma)))
		err := bounded(1, 0, 3*cells, b.stored)
		if err != nil {
			return fmt.Errorf("line %d: %w", b.line, err)
		}
	}
	if !utf8.Valid(b.text) {
		valid := b.text[:bytes.IndexRune(b.text, utf8.RuneError)]
		line := b.line + bytes.Count(valid, []byte{'\n'})
		return data.Malformed("line %d: it is not UTF-8 but maybe Windows-1252, as old spreadsheets write it; save it as UTF-8", line)
	}
	in := csv.NewReader(bytes.NewReader(b.text))
	in.Comma = b.rows.comma
	in.FieldsPerRecord = -1
	in.ReuseRecord = true
	for header := b.header; ; header = false {
		cells, err := in.Read()
		var fault *csv.ParseError
		switch {
		case err == io.EOF:
			return nil
		case errors.As(err, &fault):
			return data.Malformed("line %d, byte %d: %w", b.line+fault.Line-1,
				fault.Column, fault.Err)
		case err == nil && !header:
			line, _ := in.FieldPos(0)
			err = f(b.line+line-1, cells)
		}
		if err != nil {
			return err
		}
	}
}
