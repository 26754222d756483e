package format

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"l2mt/data"
	"slices"
	"strings"
)

// MATLAB's version 5 format, which save -v7 (packed by zlib), save -v6 and
// SciPy's savemat write, is read by hand: no well-kept Go library does. The
// format is that of "MAT-File Format" (The MathWorks): a header of 128 bytes,
// then one element per variable. An element is a tag, saying type and size, and
// its bytes. A variable is an element of type miMatrix, or one of type
// miCompressed that holds such an element; it consists of elements in turn:
// flags, dimensions, name, content. A cell array's content is a variable for
// every cell.
//
// Opening a file reads the heads of all variables. Contents are read only of
// the variables asked for, and nothing that an element says of its size is
// believed: an element must lie within the one around it, memory grows with
// what has been read, and packed content may only grow as far as inflatedLimit
// allows. So memory stays in proportion to the size of the file: at most some 12
// bytes for each byte of unpacked features.

// The types of elements.
const (
	miInt8       = 1
	miUint8      = 2
	miInt16      = 3
	miUint16     = 4
	miInt32      = 5
	miUint32     = 6
	miSingle     = 7
	miDouble     = 9
	miInt64      = 12
	miUint64     = 13
	miMatrix     = 14
	miCompressed = 15
	miUTF8       = 16
	miUTF16      = 17
	miUTF32      = 18
)

// matNumber says how the numbers of an element are stored.
var matNumber = map[uint32]struct {
	kind byte // as in array
	size int
}{
	miInt8: {'i', 1}, miUint8: {'u', 1}, miInt16: {'i', 2}, miUint16: {'u', 2}, miInt32: {'i', 4}, miUint32: {'u', 4},
	miInt64: {'i', 8}, miUint64: {'u', 8}, miSingle: {'f', 4}, miDouble: {'f', 8},
}

// The classes of variables that matter here. mxDouble to mxUint64 are numbers.
const (
	mxCell   = 1
	mxChar   = 4
	mxSparse = 5
	mxDouble = 6
	mxSingle = 7
	mxUint64 = 15
	mxOpaque = 17
)

var mxNames = []string{"nothing", "cell", "struct", "object", "char", "sparse", "double", "single",
	"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "function", "object"}

const (
	matHeader   = 128
	complexFlag = 0x0800
	// maxMatDepth bounds cells within cells; a dataset needs one level.
	maxMatDepth = 4
	// maxMatName bounds names; MATLAB's own have up to 63 letters.
	maxMatName = 1 << 10
	// maxMatDims bounds the number of dimensions.
	maxMatDims = 32
)

// matFile is an open .mat file.
type matFile struct {
	r         io.ReaderAt
	size      int64
	order     binary.ByteOrder
	variables []*matVariable
}

// matVariable is a variable of the file, of which only the head has been read.
type matVariable struct {
	matHead
	at int64 // of its tag in the file
}

// matHead is what comes before a variable's content.
type matHead struct {
	name    string
	class   int
	complex bool
	dims    []int
}

func (h matHead) isNumber() bool {
	return h.class == mxSparse || h.class >= mxDouble && h.class <= mxUint64
}

// count is the product of the dimensions.
func (h matHead) count() int {
	n := 1
	for _, d := range h.dims {
		n *= d
	}
	return n
}

// String describes the variable: "X (139 x 28 double)".
func (h matHead) String() string {
	var dims []string
	for _, n := range h.dims {
		dims = append(dims, fmt.Sprint(n))
	}
	return strings.TrimPrefix(fmt.Sprintf("%s (%s %s)", h.name, strings.Join(dims, " x "), mxNames[h.class]), " ")
}

// openMAT checks the header and finds the variables.
func openMAT(r io.ReaderAt, size int64) (*matFile, error) {
	f := &matFile{r: r, size: size}
	if err := f.readHeader(); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for at := int64(matHeader); at < size; {
		s, next, err := f.stream(at)
		if err != nil {
			return nil, err
		}
		v := &matVariable{at: at}
		if v.matHead, err = s.head(); err != nil {
			return nil, err
		}
		if seen[v.name] {
			return nil, fmt.Errorf("byte %d: %w: a second variable is called %q; names must differ", at, data.ErrFormat, v.name)
		}
		seen[v.name] = true
		f.variables = append(f.variables, v)
		at = next
	}
	return f, nil
}

func (f *matFile) readHeader() error {
	head := make([]byte, 4*matHeader+8) // an HDF5 file's own header may come this late
	n, err := f.r.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return err
	}
	head = head[:n]
	hdf := []byte("\x89HDF\r\n\x1a\n")
	switch {
	case bytes.HasPrefix(head, hdf), len(head) > 4*matHeader && bytes.HasPrefix(head[4*matHeader:], hdf), bytes.HasPrefix(head, []byte("MATLAB 7.3")):
		return fmt.Errorf("%w: it is a MATLAB 7.3 file, which is HDF5; write it again with save -v7", data.ErrFormat)
	case len(head) >= matHeader && string(head[126:matHeader]) == "IM":
		f.order = binary.LittleEndian
	case len(head) >= matHeader && string(head[126:matHeader]) == "MI":
		f.order = binary.BigEndian
	case len(head) >= 4 && slices.Contains(head[:4], 0):
		return fmt.Errorf("%w: it seems to be a MATLAB 4 file; write it again with save -v7", data.ErrFormat)
	case len(head) < matHeader:
		return fmt.Errorf("%w: it has %d bytes; a MATLAB file begins with a header of %d", data.ErrFormat, len(head), matHeader)
	default:
		return fmt.Errorf("%w: bytes 126 and 127 are %q; the header of a MATLAB file has IM or MI there", data.ErrFormat, head[126:matHeader])
	}
	if version := f.order.Uint16(head[124:]); version != 0x0100 {
		return fmt.Errorf("%w: MATLAB file version %#x; only version 5 (0x100) is read: write it again with save -v7", data.ErrFormat, version)
	}
	return nil
}

// stream returns the content of the variable whose tag is at this byte, unpacked,
// and where the next variable begins.
func (f *matFile) stream(at int64) (s *matStream, next int64, err error) {
	s = &matStream{r: bufio.NewReader(io.NewSectionReader(f.r, at, f.size-at)), order: f.order, at: at, end: f.size}
	e, err := s.tag()
	if err != nil {
		return nil, 0, err
	}
	s.stored, next = e.size, s.at+e.size
	if e.kind == miCompressed {
		z, err := zlib.NewReader(s.r)
		if err != nil {
			return nil, 0, s.fault(s.at, "the packed variable does not begin as zlib data do: %v", err)
		}
		s.r, s.end = bufio.NewReader(z), inflatedLimit(e.size)
		s.where, s.at = fmt.Sprintf(" of what is packed at byte %d", at), 0
		if e, err = s.tag(); err != nil {
			return nil, 0, err
		}
	}
	if e.kind != miMatrix {
		return nil, 0, s.fault(s.at, "an element of type %d stands where a variable should (type %d or, packed, %d)", e.kind, miMatrix, miCompressed)
	}
	s.end = s.at + e.size
	return s, next, nil
}

// read returns a variable with its content, numbers as float32 or float64.
func (f *matFile) read(v *matVariable, float32s bool) (*matArray, error) {
	s, _, err := f.stream(v.at)
	if err != nil {
		return nil, err
	}
	s.float32s = float32s
	a, err := s.array(0)
	if err == nil && s.where != "" {
		err = s.drain()
	}
	if err != nil {
		return nil, fmt.Errorf("variable %s: %w", v.name, err)
	}
	return a, nil
}

// matStream reads the elements of one variable.
type matStream struct {
	r      io.Reader
	order  binary.ByteOrder
	stored int64  // bytes that the variable takes in the file
	where  string // what at counts from, if not from the start of the file
	at     int64  // the next byte
	end    int64  // where the element that is being read ends

	float32s bool // read entries as float32
}

// matElement is an element whose tag has been read.
type matElement struct {
	kind uint32
	size int64 // without padding
	next int64 // where the next element begins
}

// fault returns an error that says where.
func (s *matStream) fault(at int64, format string, args ...any) error {
	return fmt.Errorf("byte %d%s: %w: %s", at, s.where, data.ErrFormat, fmt.Sprintf(format, args...))
}

// Read reads within the element at hand.
func (s *matStream) Read(b []byte) (int, error) {
	if s.at >= s.end {
		return 0, io.EOF
	}
	n, err := s.r.Read(b[:min(int64(len(b)), s.end-s.at)])
	s.at += int64(n)
	if err == io.EOF && s.at < s.end {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (s *matStream) bytes(n int64, what string) ([]byte, error) {
	at, b := s.at, make([]byte, n)
	if _, err := io.ReadFull(s, b); err != nil {
		return nil, s.fault(at, "%s is cut short: %v", what, err)
	}
	return b, nil
}

// tag reads the tag of an element: type and size in 4 bytes each, or, for at
// most 4 bytes of content, in 2 each.
func (s *matStream) tag() (matElement, error) {
	at := s.at
	b, err := s.bytes(4, "a tag")
	if err != nil {
		return matElement{}, err
	}
	word := s.order.Uint32(b)
	e := matElement{kind: word & 0xffff, size: int64(word >> 16)}
	if e.size > 0 {
		e.next = s.at + 4
		if e.size > 4 {
			return e, s.fault(at, "a short element claims %d bytes; it has room for 4", e.size)
		}
	} else {
		if b, err = s.bytes(4, "a tag"); err != nil {
			return e, err
		}
		e.size = int64(s.order.Uint32(b))
		e.next = s.at + (e.size+7)&^7
	}
	if s.at+e.size > s.end {
		if s.where != "" && at == 0 {
			return e, tooInflated(s.end)
		}
		return e, s.fault(at, "an element of %d bytes where %d are left", e.size, s.end-s.at)
	}
	e.next = min(e.next, s.end)
	return e, nil
}

// enter confines reading to an element until leave is called.
func (s *matStream) enter(e matElement) (leave func() error) {
	end := s.end
	s.end = s.at + e.size
	return func() error {
		s.end = end
		if _, err := io.CopyN(io.Discard, s, e.next-s.at); err != nil {
			return s.fault(s.at, "the file is cut short or damaged: %v", err)
		}
		return nil
	}
}

// drain reads what is packed to its end, where the checksum is.
func (s *matStream) drain() error {
	s.end = inflatedLimit(s.stored)
	switch _, err := io.Copy(io.Discard, s); err {
	case nil, io.ErrUnexpectedEOF: // the checksum was right
		return nil
	default:
		return s.fault(s.at, "the packed variable is damaged: %v", err)
	}
}
