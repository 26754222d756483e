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
// read here rather than with sbinet/npyio, which loads what is cut short without
// an error, allocates what the header promises before it has seen a single entry,
// and panics on malformed headers.

// array is an array whose header has been read and whose entries have not.
type array struct {
	shape   []int
	fortran bool // columns one after the other
	kind    kind
	size    int // bytes per entry
	entries io.Reader
	stored  int64 // bytes that the array takes on disk
}

// kind is what an array may hold: numbers or, of the two kinds that remain, text.
type kind struct {
	name   string
	number func(entry []byte) float64
	text   func(entry []byte) string
}

var little = binary.LittleEndian

// kinds are those of NumPy's types, which text is followed by its length.
var kinds = map[string]kind{
	"b1": {name: "bool", number: func(b []byte) float64 { return float64(b[0]) }},
	"i1": {name: "int8", number: func(b []byte) float64 { return float64(int8(b[0])) }},
	"i2": {name: "int16", number: func(b []byte) float64 { return float64(int16(little.Uint16(b))) }},
	"i4": {name: "int32", number: func(b []byte) float64 { return float64(int32(little.Uint32(b))) }},
	"i8": {name: "int64", number: func(b []byte) float64 { return float64(int64(little.Uint64(b))) }},
	"u1": {name: "uint8", number: func(b []byte) float64 { return float64(b[0]) }},
	"u2": {name: "uint16", number: func(b []byte) float64 { return float64(little.Uint16(b)) }},
	"u4": {name: "uint32", number: func(b []byte) float64 { return float64(little.Uint32(b)) }},
	"u8": {name: "uint64", number: func(b []byte) float64 { return float64(little.Uint64(b)) }},
	"f2": {name: "float16", number: func(b []byte) float64 { return float64(float16(little.Uint16(b))) }},
	"f4": {name: "float32", number: func(b []byte) float64 { return float64(math.Float32frombits(little.Uint32(b))) }},
	"f8": {name: "float64", number: func(b []byte) float64 { return math.Float64frombits(little.Uint64(b)) }},
	"S":  {name: "text", text: func(b []byte) string { return strings.TrimRight(string(b), "\x00") }},
	"U":  {name: "text", text: utf32},
}

// float16 widens a half-precision number: sign, 5 bits of exponent, 10 of
// fraction.
func float16(h uint16) float32 {
	sign := uint32(h) >> 15 << 31
	exponent := uint32(h) >> 10 & 31
	fraction := uint32(h) & 1023
	switch exponent {
	case 0: // a multiple of 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)*0x1p-24))
	case 31: // an infinity or no number
		exponent = 255 - (127 - 15)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

// utf32 reads text that is padded with zeros.
func utf32(b []byte) string {
	var text strings.Builder
	for c := range slices.Chunk(b, 4) {
		text.WriteRune(rune(little.Uint32(c)))
	}
	return strings.TrimRight(text.String(), "\x00")
}

// npyMagic is what arrays of format 1.0 begin with. Later ones are for records of many fields.
const npyMagic = "\x93NUMPY\x01\x00"

// npyHeader has the fields of a header such as
//
//	{'descr': '<f4', 'fortran_order': False, 'shape': (8677, 1000), }
var npyHeader = regexp.MustCompile(`^{'descr':\s*'([^']*)',\s*'fortran_order':\s*(True|False),\s*'shape':\s*\(([\d, ]*)\)`)

// npyType is the type of an entry of which the lowest byte comes first. Text is never empty.
var npyType = regexp.MustCompile(`^[<|=]?(?:([biuf]\d)|([SU])([1-9]\d{0,8}))$`)

// newArray reads the header of an array of length bytes in all, and checks that
// the entries it promises are exactly the rest. On disk the array takes stored
// bytes, fewer if it is packed.
func newArray(r io.Reader, length, stored int64) (*array, error) {
	fault := func(format string, args ...any) (*array, error) {
		return nil, data.ErrFormat.Errorf(format, args...)
	}
	var begin struct {
		Magic  [len(npyMagic)]byte
		Length uint16 // of the text
	}
	if err := binary.Read(r, little, &begin); err != nil || string(begin.Magic[:]) != npyMagic {
		return fault("it begins with %q; a NumPy array begins with %q", begin.Magic[:], npyMagic)
	}
	text := make([]byte, begin.Length)
	if _, err := io.ReadFull(r, text); err != nil {
		return fault("the NumPy header is cut short: %w", err)
	}
	header := npyHeader.FindStringSubmatch(string(text))
	if header == nil {
		return fault("the NumPy header %.80q lacks a simple type (of numbers or text), fortran_order or shape", text)
	}
	a := &array{fortran: header[2] == "True", entries: r, stored: stored}
	is := npyType.FindStringSubmatch(header[1])
	if is != nil {
		a.kind = kinds[is[1]+is[2]]
	}
	switch {
	case a.kind.name == "":
		return fault("entries of the NumPy type %q; they must be numbers (<f4, <f8, <i4, |b1, ...) or text (<U, |S), which NumPy's astype makes of them", header[1])
	case a.kind.number != nil:
		a.size = int(is[1][1] - '0')
	default:
		a.size, _ = strconv.Atoi(is[3])
		if is[2] == "U" {
			a.size *= 4
		}
	}
	bytes := uint64(a.size)
	between := func(c rune) bool { return c == ',' || c == ' ' }
	for dimension := range strings.FieldsFuncSeq(header[3], between) {
		n, err := strconv.ParseInt(dimension, 10, 64)
		var overflow uint64
		if overflow, bytes = bits.Mul64(bytes, uint64(n)); err != nil || overflow > 0 {
			return fault("the array's shape (%s) is beyond all memory", header[3])
		}
		a.shape = append(a.shape, int(n))
	}
	if rest := length - int64(binary.Size(begin)+len(text)); bytes != uint64(rest) {
		return fault("the header promises an array of %v, %d bytes, but %d follow", a, bytes, rest)
	}
	return a, nil
}

// String describes the array: "8677 x 1000 float32".
func (a *array) String() string {
	return strings.TrimSpace(strings.ReplaceAll(strings.Trim(fmt.Sprint(a.shape), "[]"), " ", " x ") + " " + a.kind.name)
}

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
	if a.kind.number == nil {
		return nil, data.ErrFormat.Errorf("the array is %v; it must hold numbers", a)
	}
	entry, err := entriesOf(a, func(b []byte) T { return T(a.kind.number(b)) })
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

// textsOf reads the entries of an array of text.
func textsOf(a *array) ([]string, error) {
	if a.kind.text == nil {
		return nil, data.ErrFormat.Errorf("the array is %v; it must hold text", a)
	}
	return entriesOf(a, a.kind.text)
}

// entriesOf reads the entries in the order of the file. Room for one entry a
// stored byte is made at once; beyond that it grows with what has been read.
func entriesOf[T any](a *array, decode func([]byte) T) ([]T, error) {
	const chunk = 64 << 10
	n := a.count()
	if err := bounded(0, 0, n*max(1, a.size/8), a.stored); err != nil {
		return nil, err
	}
	buf := make([]byte, min(n, max(1, chunk/a.size))*a.size)
	entry := make([]T, 0, min(n, int(a.stored)))
	for len(entry) < n {
		b := buf[:min(len(buf), (n-len(entry))*a.size)]
		if _, err := io.ReadFull(a.entries, b); err != nil {
			return nil, data.ErrFormat.Errorf("the array is damaged or cut short after %d of %d entries: %w", len(entry), n, err)
		}
		for b := range slices.Chunk(b, a.size) {
			entry = append(entry, decode(b))
		}
	}
	// The end has the checksum of packed entries.
	if _, err := io.ReadFull(a.entries, make([]byte, 1)); err != io.EOF {
		return nil, data.ErrFormat.Errorf("the array is damaged: %v at its end", err)
	}
	return entry, nil
}

// output is an array to be written: numbers, or slices of them, one after the other.
type output struct {
	name, numpyType string
	shape           []int
	parts           []any
}

// write writes the array as NumPy does, padded so that entries start at a multiple of 64
// bytes.
func (o output) write(w io.Writer) error {
	shape := strings.Trim(strings.ReplaceAll(fmt.Sprint(o.shape), " ", ", "), "[]")
	if len(o.shape) == 1 {
		shape += ","
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", o.numpyType, shape)
	text += strings.Repeat(" ", 63-(len(npyMagic)+2+len(text))%64) + "\n"
	for _, part := range append([]any{[]byte(npyMagic), uint16(len(text)), []byte(text)}, o.parts...) {
		if err := binary.Write(w, little, part); err != nil {
			return err
		}
	}
	return nil
}
