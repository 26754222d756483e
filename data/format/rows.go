package format

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"l2mt/data"
)

// Rows are the rows of a table of comma- or tab-separated text, of which only a
// block is in memory at a time.
type Rows struct {
	// Names are the names of the columns, nil without a header.
	Names []string
	// Width is the number of columns.
	Width int

	name      string
	in        io.Reader
	close     func() error
	separator byte
	first     *Block // the block that the header was in
	rest      []byte // what has been read behind the last block
	line      int    // on which rest begins, from 1
	size      int    // about how much text a block has
	end       bool
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
	if r.first != nil {
		r.first.name = name
	}
	return r, nil
}

// newRows reads the first row. A table that is empty has no columns.
func newRows(text io.Reader, o Options) (*Rows, error) {
	r := &Rows{in: skipByteOrderMark(text), separator: ',', line: 1, size: blockSize}
	if o.Format == TSV {
		r.separator = '\t'
	}
	b, err := r.next()
	if err == io.EOF {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(b.text, "\xff\xfe") || strings.HasPrefix(b.text, "\xfe\xff") {
		return nil, fmt.Errorf("line 1: %w: it is UTF-16; save it as UTF-8", data.ErrFormat)
	}
	if strings.IndexByte(b.text, 0) >= 0 {
		return nil, fmt.Errorf("%w: it has zero bytes, which no text has", data.ErrFormat)
	}
	s := b.splitter()
	first, err := s.row()
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
	named := func(column string) bool { return !isNumber(column) && slices.Contains(first, column) }
	if o.Header == HeaderYes || o.Header == HeaderAuto &&
		(named(o.Label) || named(o.Group) || !slices.ContainsFunc(first, isNumber) || isCount(first)) {
		r.Names = slices.Clone(first)
		b = &Block{text: s.text, line: s.line, separator: b.separator, width: r.Width}
	}
	b.width, r.first = r.Width, b
	return r, nil
}

// Close closes what the rows are read from.
func (r *Rows) Close() error { return r.close() }

// Next returns the next block of rows, or io.EOF. Blocks stay valid: each may
// be looked at while the next is read.
func (r *Rows) Next() (*Block, error) {
	b, err := r.next()
	if err != nil && err != io.EOF {
		err = fmt.Errorf("format: %s: %w", r.name, err)
	}
	return b, err
}

const (
	// blockSize is enough for the work on a block to outweigh passing it on.
	blockSize = 256 << 10
	// maxRow is how long a row may be: a quote that is not closed makes one of
	// all that follows.
	maxRow = 256 << 20
)

func (r *Rows) next() (*Block, error) {
	if b := r.first; b != nil {
		r.first = nil
		return b, nil
	}
	// Behind the rest of the last block there is room for another.
	buf := append(make([]byte, 0, len(r.rest)+r.size), r.rest...)
	for {
		cut := lastRow(buf)
		if r.end {
			cut = len(buf)
		}
		switch {
		case cut == 0 && r.end:
			return nil, io.EOF
		case cut > 0 && (r.end || len(buf) == cap(buf)):
			// Nobody writes to buf any more, so that the block can have it as it is.
			b := &Block{name: r.name, text: unsafe.String(unsafe.SliceData(buf), cut), line: r.line, separator: r.separator, width: r.Width}
			r.rest = bytes.Clone(buf[cut:])
			r.line += bytes.Count(buf[:cut], []byte{'\n'})
			return b, nil
		case len(buf) > maxRow:
			return nil, fmt.Errorf("line %d: %w: the row is longer than %d bytes; is a quote not closed?", r.line, data.ErrFormat, maxRow)
		case len(buf) == cap(buf):
			buf = slices.Grow(buf, len(buf))
		}
		n, err := io.ReadFull(r.in, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			r.end = true
		} else if err != nil {
			return nil, err
		}
	}
}

// lastRow returns where the last whole row of the text ends: behind its last
// line break that is not between quotes.
func lastRow(text []byte) int {
	if bytes.IndexByte(text, '"') < 0 {
		return bytes.LastIndexByte(text, '\n') + 1
	}
	last, quoted := 0, false
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
	name      string
	text      string
	line      int
	separator byte
	width     int
}

// Lines is how many rows the block has at most.
func (b *Block) Lines() int { return strings.Count(b.text, "\n") + 1 }

// Each calls f for every row with the number of its line in the file, from 1,
// and its cells, without spaces around them. The slice of cells is used again;
// the cells themselves may be kept, though with them the block is. Errors, those
// of f too, come back with the file and the line.
func (b *Block) Each(f func(line int, cells []string) error) error {
	err := b.each(f)
	if err != nil {
		return fmt.Errorf("format: %s: %w", b.name, err)
	}
	return nil
}

func (b *Block) each(f func(line int, cells []string) error) error {
	for s := b.splitter(); ; {
		cells, err := s.row()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case len(cells) != b.width:
			err = fmt.Errorf("%w: it has %d columns but the first line has %d", data.ErrFormat, len(cells), b.width)
		default:
			err = f(s.at, cells)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", s.at, err)
		}
	}
}

func (b *Block) splitter() *splitter {
	return &splitter{text: b.text, line: b.line, separator: b.separator}
}

// splitter cuts text into rows and cells as encoding/csv does, from which it
// differs in that rows can be cut in parallel.
type splitter struct {
	text      string
	line, at  int // the line that text begins with, and the last row did
	separator byte
	cells     []string
}

// row returns the cells of the next row that is not empty, or io.EOF.
func (s *splitter) row() ([]string, error) {
	for s.text != "" {
		line, rest := s.text, ""
		if i := strings.IndexByte(line, '\n'); i >= 0 {
			line, rest = line[:i], line[i+1:]
		}
		s.at = s.line
		s.cells = s.cells[:0]
		if strings.IndexByte(line, '"') >= 0 {
			err := s.quoted()
			return s.cells, err
		}
		s.text = rest
		s.line++
		line = strings.TrimSuffix(line, "\r")
		if line == "" {
			continue
		}
		begin := 0
		for i := range len(line) {
			if line[i] == s.separator {
				s.cells = append(s.cells, trim(line[begin:i]))
				begin = i + 1
			}
		}
		s.cells = append(s.cells, trim(line[begin:]))
		return s.cells, nil
	}
	return nil, io.EOF
}

// trim is strings.TrimSpace, at once done where there is nothing to trim.
func trim(cell string) string {
	if n := len(cell); n == 0 || isVisible(cell[0]) && isVisible(cell[n-1]) {
		return cell
	}
	return strings.TrimSpace(cell)
}

// isVisible reports whether a byte is a character of ASCII that is seen.
func isVisible(c byte) bool { return ' ' < c && c < 0x7f }

// quoted cuts a row that has quotes, and so perhaps several lines.
func (s *splitter) quoted() error {
	text, begin := s.text, 0
	fault := func(at int, err error) error {
		line := s.line + strings.Count(text[:at], "\n")
		return fmt.Errorf("line %d, byte %d: %w: %w", line, at-strings.LastIndexByte(text[:at], '\n'), data.ErrFormat, err)
	}
	for {
		cell := ""
		end := begin
		if begin < len(text) && text[begin] == '"' {
			for end = begin + 1; ; end++ {
				i := strings.IndexByte(text[end:], '"')
				if i < 0 {
					return fault(len(text), csv.ErrQuote)
				}
				cell += text[end : end+i]
				end += i + 1
				if end == len(text) || text[end] != '"' {
					break
				}
				cell += `"` // two quotes are one
			}
			cell = strings.ReplaceAll(cell, "\r\n", "\n")
		} else {
			end += cellEnd(text[begin:], s.separator)
			if cell = text[begin:end]; strings.Contains(cell, `"`) {
				return fault(begin+strings.IndexByte(cell, '"'), csv.ErrBareQuote)
			}
		}
		s.cells = append(s.cells, trim(cell))
		behind := text[end:]
		behind = strings.TrimPrefix(behind, "\r")
		switch {
		case behind == "" || behind[0] == '\n':
			end = len(text) - len(behind) + min(len(behind), 1)
			s.line += strings.Count(text[:end], "\n")
			s.text = text[end:]
			return nil
		case text[end] != s.separator:
			return fault(end-1, csv.ErrQuote)
		}
		begin = end + 1
	}
}

// cellEnd returns where a cell without quotes ends.
func cellEnd(text string, separator byte) int {
	for i := range len(text) {
		if c := text[i]; c == separator || c == '\n' {
			if c == '\n' && i > 0 && text[i-1] == '\r' {
				return i - 1
			}
			return i
		}
	}
	return len(strings.TrimSuffix(text, "\r"))
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

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}
