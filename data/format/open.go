package format

import (
	"bufio"
	"compress/gzip"
	"io"
	"strings"

	"l2mt/data"
)

// Files are opened and unpacked here. The size that a file states is not
// relied on: readers allocate as content arrives, and compressed content may
// only grow so far, so a small file cannot fill the memory.

const (
	// maxInflation bounds the growth of compressed content over its size on
	// disk. Text and features rarely pass 20; deflate's own limit is 1,032.
	maxInflation = 256
	// minInflated is the size that even the smallest compressed file may grow to.
	minInflated = 16 << 20
)

// unpack returns the text of f, which may be packed by gzip, and must be if its name
// promises that.
func unpack(f io.Reader, name string) (*text, error) {
	packed := &counter{r: f}
	in := bufio.NewReaderSize(packed, buffered)
	t := &text{in, packed}
	start, _ := in.Peek(len(gzipMagic))
	if string(start) == gzipMagic ||
		strings.HasSuffix(strings.ToLower(name), ".gz") {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, data.Malformed("it is not a gzip file, or damaged: %w", err)
		}
		t.Reader = &inflated{counter{r: z}, packed}
	}
	return t, nil
}

// text is unpacked. The bytes on disk that it was read from are counted.
type text struct {
	io.Reader
	packed *counter
}

// gzipMagic begins gzip files.
const gzipMagic = "\x1f\x8b"

// counter counts the bytes that are read through it.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// limit is how large content may become that takes so many bytes on disk.
func limit(stored int64) int64 {
	return max(minInflated, maxInflation*stored)
}

func tooMuch(stored int64) error {
	return data.Malformed("it unpacks to more than %d bytes, over %d times its size; unpack it yourself if that is right", limit(stored), maxInflation)
}

// inflated is unpacked text that ends in an error if it grows too much.
type inflated struct {
	counter
	packed *counter
}

func (t *inflated) Read(b []byte) (int, error) {
	n, err := t.counter.Read(b)
	if t.n > limit(t.packed.n) {
		return n, tooMuch(t.packed.n)
	}
	if err != nil && err != io.EOF {
		err = data.Malformed("the gzip file is damaged or cut short: %w", err)
	}
	return n, err
}

// A table takes memory for its cells, and for its rows and columns however few cells they
// have. A few bytes, packed well, can be millions of any.
const (
	// freeCells is the number of cells that any file may have.
	freeCells = 4 << 20
	// cellsPerByte is the number of cells that a file may have for each byte on disk: packed
	// pictures have 3, plain text has at most 1.
	cellsPerByte = 4
	// cellsOfRow and cellsOfColumn are the memory of a row and of a column, in cells.
	cellsOfRow    = 8
	cellsOfColumn = 32
)

// bounded refuses a table that takes more than a file of so many bytes may.
func bounded(rows, cols, cells int, stored int64) error {
	size := float64(cells) + cellsOfRow*
		float64(rows) + cellsOfColumn*float64(cols)
	if size <= max(freeCells, cellsPerByte*float64(stored)) {
		return nil
	}
	return data.Invalid("it has %d cells, in %d rows and %d columns, more than a file of %d bytes may have; divide the file, or unpack it if it is packed", cells, rows, cols, stored)
}
