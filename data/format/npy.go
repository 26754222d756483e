package format

import (
	"encoding/binary"
	"fmt"
	"io"
	"l2mt/data"
	"math"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// An array of NumPy is a header, in text, and the entries of one array. It is
// read here rather than with sbinet/npyio, which has no float16, loads what is cut
// short without an error, allocates what the header promises before it has seen a
// single entry, and panics on malformed headers: what keeps it from that is most of
// this file.

// array is an array whose header has been read and whose entries have not.
type array struct {
	shape   []int
	fortran bool // columns one after the other
	order   binary.ByteOrder
	kind    byte // numbers: f, i, u, b; text: U (UTF-32), S (bytes)
	size    int  // bytes per entry
	entries io.Reader
	stored  int64 // bytes that the array takes on disk
}

// maxArrayHeader bounds the header; NumPy itself stops at 10,000 bytes.
const maxArrayHeader = 1 << 16

// newArray reads the header of an array of length bytes in all, and checks that
// the entries it promises are exactly the rest. On disk the array takes stored
// bytes, fewer if it is packed.
func newArray(r io.Reader, length, stored int64) (*array, error) {
	header, start, err := readArrayHeader(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", data.ErrFormat, err)
	}
	a := &array{entries: r, stored: stored}
	bytes, err := a.parse(header)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", data.ErrFormat, err)
	}
	if bytes != uint64(length-start) {
		return nil, fmt.Errorf("%w: the header promises an array of %v, %d bytes, but %d follow", data.ErrFormat, a, bytes, length-start)
	}
	return a, nil
}

// readArrayHeader returns the header's text and where the entries start.
func readArrayHeader(r io.Reader) (header string, start int64, err error) {
	magic := make([]byte, 8) // and the version
	if _, err := io.ReadFull(r, magic); err != nil || string(magic[:6]) != "\x93NUMPY" {
		return "", 0, fmt.Errorf("it begins with %q; a NumPy array begins with \"\\x93NUMPY\" and a version", magic)
	}
	if magic[6] < 1 || magic[6] > 3 {
		return "", 0, fmt.Errorf("NumPy format version %d.%d; versions 1 to 3 are read", magic[6], magic[7])
	}
	length := make([]byte, 2, 4)
	if magic[6] > 1 {
		length = length[:4]
	}
	if _, err := io.ReadFull(r, length); err != nil {
		return "", 0, fmt.Errorf("the NumPy header is cut short: %w", err)
	}
	n := binary.LittleEndian.Uint32(length[:cap(length)])
	if n > maxArrayHeader {
		return "", 0, fmt.Errorf("the NumPy header claims %d bytes; the most is %d", n, maxArrayHeader)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return "", 0, fmt.Errorf("the NumPy header is cut short: %w", err)
	}
	return string(text), int64(len(magic)+len(length)) + int64(n), nil
}

// The fields of a header such as
//
//	{'descr': '<f4', 'fortran_order': False, 'shape': (8677, 1000), }
var (
	npyType    = regexp.MustCompile(`'descr':\s*'([<>|=]?)(\w)(\d*)'`)
	npyRead    = regexp.MustCompile(`^(f[248]|[iu][1248]|b1|[US][1-9]\d{0,8})$`)
	npyFortran = regexp.MustCompile(`'fortran_order':\s*(True|False)`)
	npyShape   = regexp.MustCompile(`'shape':\s*\(([\d, ]*)\)`)
)

// parse reads how entries are stored and the dimensions, and returns how many bytes
// the entries take.
func (a *array) parse(header string) (bytes uint64, err error) {
	kind, fortran, shape := npyType.FindStringSubmatch(header), npyFortran.FindStringSubmatch(header), npyShape.FindStringSubmatch(header)
	if kind == nil || fortran == nil || shape == nil {
		return 0, fmt.Errorf("the NumPy header %.80q lacks a simple type (of numbers or text), fortran_order or shape", header)
	}
	if !npyRead.MatchString(kind[2] + kind[3]) {
		return 0, fmt.Errorf("entries of the NumPy type %q; they must be real numbers (f2, f4, f8, i or u) or text (U or S)", kind[2]+kind[3])
	}
	a.order = binary.LittleEndian
	if kind[1] == ">" {
		a.order = binary.BigEndian
	}
	a.kind, a.fortran = kind[2][0], fortran[1] == "True"
	a.size, _ = strconv.Atoi(kind[3])
	if a.kind == 'U' {
		a.size *= 4
	}
	bytes = uint64(a.size)
	for _, text := range strings.FieldsFunc(shape[1], func(c rune) bool { return c == ',' || c == ' ' }) {
		n, err := strconv.ParseInt(text, 10, 64)
		var overflow uint64
		overflow, bytes = bits.Mul64(bytes, uint64(n))
		if err != nil || overflow > 0 {
			return 0, fmt.Errorf("the array's shape (%s) is beyond all memory", shape[1])
		}
		a.shape = append(a.shape, int(n))
	}
	return bytes, nil
}

// String describes the array: "8677 x 1000 float32".
func (a *array) String() string {
	var text []string
	for _, n := range a.shape {
		text = append(text, strconv.Itoa(n))
	}
	kind := map[byte]string{'f': "float", 'i': "int", 'u': "uint", 'b': "bool", 'U': "text", 'S': "text"}[a.kind]
	if a.isNumber() && a.kind != 'b' {
		kind += strconv.Itoa(8 * a.size)
	}
	return strings.TrimSpace(strings.Join(text, " x ") + " " + kind)
}

func (a *array) isNumber() bool { return a.kind != 'U' && a.kind != 'S' }

// count is the number of entries.
func (a *array) count() int {
	n := 1
	for _, m := range a.shape {
		n *= m
	}
	return n
}

// numbersOf reads the entries of an array of numbers, row by row.
func numbersOf[T float32 | float64](a *array) ([]T, error) {
	if !a.isNumber() {
		return nil, fmt.Errorf("%w: the array is %v; it must hold numbers", data.ErrFormat, a)
	}
	entry, err := entriesOf(a, func(b []byte) T { return T(a.number(b)) })
	if err != nil || !a.fortran || len(a.shape) != 2 {
		return entry, err
	}
	byRow := make([]T, 0, len(entry))
	for i := range a.shape[0] {
		for j := range a.shape[1] {
			byRow = append(byRow, entry[j*a.shape[0]+i])
		}
	}
	return byRow, nil
}

// freeTexts is how many texts an array may have however small it is packed. Each
// takes some 32 bytes of memory, and in the file a bit may be enough.
const freeTexts = 4 << 20

// textOf reads the entries of an array of text.
func textOf(a *array) ([]string, error) {
	if n := a.count(); int64(n) > max(freeTexts, 4*a.stored) {
		return nil, fmt.Errorf("%w: %d texts in %d bytes", data.ErrFormat, n, a.stored)
	}
	switch a.kind {
	case 'U':
		return entriesOf(a, a.utf32)
	case 'S':
		return entriesOf(a, func(b []byte) string { return strings.TrimRight(string(b), "\x00") })
	}
	return nil, fmt.Errorf("%w: the array is %v; it must hold text", data.ErrFormat, a)
}

// entriesOf reads the entries in the order of the file. Room for one entry a
// stored byte is made at once; beyond that it grows with what has been read.
func entriesOf[T any](a *array, decode func([]byte) T) ([]T, error) {
	const chunk = 64 << 10
	n := a.count()
	buf := make([]byte, min(n, max(1, chunk/a.size))*a.size)
	entry := make([]T, 0, min(n, int(a.stored)))
	for len(entry) < n {
		b := buf[:min(len(buf), (n-len(entry))*a.size)]
		if _, err := io.ReadFull(a.entries, b); err != nil {
			return nil, fmt.Errorf("%w: the array is damaged or cut short after %d of %d entries: %w", data.ErrFormat, len(entry), n, err)
		}
		for b := range slices.Chunk(b, a.size) {
			entry = append(entry, decode(b))
		}
	}
	// The end has the checksum of packed entries.
	if _, err := io.ReadFull(a.entries, make([]byte, 1)); err != io.EOF {
		return nil, fmt.Errorf("%w: the array is damaged: %v at its end", data.ErrFormat, err)
	}
	return entry, nil
}

// number is an entry that is a number.
func (a *array) number(b []byte) float64 {
	var v uint64
	switch a.size {
	case 1:
		v = uint64(b[0])
	case 2:
		v = uint64(a.order.Uint16(b))
	case 4:
		v = uint64(a.order.Uint32(b))
	case 8:
		v = a.order.Uint64(b)
	}
	switch {
	case a.kind == 'f' && a.size == 2:
		return float64(float16(uint16(v)))
	case a.kind == 'f' && a.size == 4:
		return float64(math.Float32frombits(uint32(v)))
	case a.kind == 'f':
		return math.Float64frombits(v)
	case a.kind == 'i': // the sign of the highest bit fills what the entry lacks
		shift := 64 - 8*a.size
		return float64(int64(v<<shift) >> shift)
	}
	return float64(v)
}

// float16 widens a half-precision number: sign, 5 bits of exponent, 10 of
// fraction.
func float16(h uint16) float32 {
	sign, exponent, fraction := uint32(h)>>15<<31, uint32(h)>>10&31, uint32(h)&1023
	switch exponent {
	case 0: // a multiple of 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)*0x1p-24))
	case 31: // an infinity or no number
		exponent = 255 - (127 - 15)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

// utf32 reads text that is padded with zeros.
func (a *array) utf32(b []byte) string {
	var text strings.Builder
	for c := range slices.Chunk(b, 4) {
		text.WriteRune(rune(a.order.Uint32(c)))
	}
	return strings.TrimRight(text.String(), "\x00")
}

// writeArrayHeader writes what readArrayHeader reads as NumPy does, padded so
// that entries start at a multiple of 64 bytes.
func writeArrayHeader(w io.Writer, numpyType string, shape []int) error {
	dims := strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", ", "), "[]")
	if len(shape) == 1 {
		dims += ","
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", numpyType, dims)
	const start = 10 // magic, version and length
	padding := 63 - (start+len(text))%64
	text += strings.Repeat(" ", padding) + "\n"
	magic := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(text)))
	_, err := w.Write(append(magic, text...))
	return err
}
