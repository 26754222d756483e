package format

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"l2mt/data"
)

// An array of NumPy is a header, in text, and the entries of one array. It is
// read here rather than with sbinet/npyio, which loads truncated files without
// an error, allocates what the header promises before it has seen a single entry,
// and panics on malformed headers.

// array is an array whose header has been read and whose entries have not.
type array struct {
	shape   []int
	count   int    // of entries
	fortran bool   // columns one after the other
	code    string // of the type: a letter and a size
	kind    string // the type's name
	size    int    // bytes per entry
	entries io.Reader
	stored  int64 // bytes that the array takes on disk
}

var little = binary.LittleEndian

// kinds are the names of NumPy's types, by their letter. Behind a number's name are its bits.
var kinds = map[byte]string{
	'b': "bool", 'i': "int", 'u': "uint", 'f': "float", 'S': textKind, 'U': textKind,
}

const textKind = "text"

// number decodes an entry.
func (a *array) number(entry []byte) float64 {
	switch a.code {
	case "f2":
		return float64(float16(little.Uint16(entry)))
	case "f4":
		return float64(math.Float32frombits(little.Uint32(entry)))
	case "f8":
		return math.Float64frombits(little.Uint64(entry))
	}
	var word [8]byte
	copy(word[:], entry)
	bits := little.Uint64(word[:])
	unused := 64 - 8*a.size
	if a.code[0] == 'i' {
		return float64(int64(bits<<unused) >> unused)
	}
	return float64(bits)
}

// text decodes an entry, which is padded with zeros.
func (a *array) text(entry []byte) string {
	if a.code[0] == 'U' {
		var text []rune
		for c := range slices.Chunk(entry, 4) {
			text = append(text, rune(little.Uint32(c)))
		}
		entry = []byte(string(text))
	}
	return strings.TrimRight(string(entry), "\x00")
}

// float16 widens a half-precision number: sign, 5 bits of exponent, 10 of
// fraction.
func float16(h uint16) float32 {
	sign := uint32(h) >> 15 << 31
	size := uint32(h) << 17 >> 4 // as a single, whose exponent begins 112 lower
	if size >= 31<<23 {          // an infinity or no number
		return math.Float32frombits(sign | size | 255<<23)
	}
	return math.Float32frombits(sign | math.Float32bits(math.Float32frombits(size)*0x1p112))
}

// npyMagic begins arrays of format 1.0. Later ones are for records of many fields.
const npyMagic = "\x93NUMPY\x01\x00"

// npyHeader has the fields of a header such as
//
//	{'descr': '<f4', 'fortran_order': False, 'shape': (8677, 1000), }
var npyHeader = regexp.MustCompile(`^{'descr':\s*'([^']*)',\s*'fortran_order':\s*(True|False),\s*'shape':\s*\(([\d, ]*)\)`)

// npyType is the type of an entry with its lowest byte first. Text is never empty.
var npyType = regexp.MustCompile(`^[<|=]?(b1|[iu][1248]|f[248]|[SU][1-9]\d{0,5})$`)

// newArray reads the header of an array of length bytes in all, and checks that
// the entries it promises are exactly the rest. On disk the array takes stored
// bytes, fewer if it is packed.
func newArray(r io.Reader, length, stored int64) (*array, error) {
	var begin struct {
		Magic  [len(npyMagic)]byte
		Length uint16 // of the text
	}
	err := binary.Read(r, little, &begin)
	if err != nil || string(begin.Magic[:]) != npyMagic {
		return nil, data.Malformed("it begins with %q; a NumPy array begins with %q",
			begin.Magic[:], npyMagic)
	}
	text := make([]byte, begin.Length)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, data.Malformed("the NumPy header is cut short: %w", err)
	}
	header := npyHeader.FindStringSubmatch(string(text))
	if header == nil {
		return nil, data.Malformed("the NumPy header %.80q lacks a simple type (of numbers or text), fortran_order or shape", text)
	}
	match := npyType.FindStringSubmatch(header[1])
	if match == nil {
		return nil, data.Malformed("its entries have the NumPy type %q; they must be numbers (<f4, <f8, <i4, |b1, ...) or text (<U, |S), to which NumPy's astype converts them", header[1])
	}
	code := match[1]
	a := &array{
		count:   1,
		fortran: header[2] == "True",
		code:    code,
		entries: r,
		stored:  stored,
	}
	a.size, _ = strconv.Atoi(code[1:])
	a.kind = kinds[code[0]]
	if a.kind != textKind {
		a.kind += strconv.Itoa(8 * a.size)
	} else if code[0] == 'U' {
		a.size *= 4
	}
	promised := float64(a.size) // bytes
	for dimension := range strings.FieldsSeq(
		strings.ReplaceAll(header[3], ",", " ")) {
		n, err := strconv.Atoi(dimension)
		promised *= float64(n)
		if err != nil || promised > math.MaxInt64 {
			return nil, data.Malformed("the array's shape (%s) is too large for any memory", header[3])
		}
		a.shape = append(a.shape, n)
		a.count *= n
	}
	rest := length - int64(binary.Size(begin)+len(text))
	if promised != float64(rest) {
		return nil, data.Malformed("the header promises an array of %v, %.0f bytes, but %d follow", a, promised, rest)
	}
	return a, nil
}

// String describes the array: "8677 x 1000 float32".
func (a *array) String() string {
	shape := strings.Trim(fmt.Sprint(a.shape), "[]")
	return strings.TrimSpace(
		strings.ReplaceAll(shape, " ", " x ") + " " + a.kind)
}

// numbersOf reads the entries of an array of numbers, row by row.
func numbersOf[T float32 | float64](a *array) ([]T, error) {
	if a.kind == textKind {
		return nil, data.Malformed("the array is %v; it must hold numbers", a)
	}
	entry, err := entriesOf(a, func(b []byte) T {
		return T(a.number(b))
	})
	if err != nil || !a.fortran || len(a.shape) != 2 {
		return entry, err
	}
	var byRow []T
	for i := range a.shape[0] {
		for j := range a.shape[1] {
			byRow = append(byRow, entry[j*a.shape[0]+i])
		}
	}
	return byRow, nil
}

// textsOf reads the entries of an array of text. Another has none.
func textsOf(a *array) ([]string, error) {
	if a.kind != textKind || a.count == 0 {
		return nil, nil
	}
	return entriesOf(a, a.text)
}

// entriesOf reads the entries in the order of the file. Room for one entry a
// stored byte is made at once; more room follows entries that were read.
func entriesOf[T any](a *array, decode func([]byte) T) ([]T, error) {
	words := a.count * max(1, a.size/8)
	err := bounded(0, 0, words, a.stored)
	if err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(a.entries, 64<<10)
	b := make([]byte, a.size)
	entry := make([]T, 0, min(a.count, int(a.stored)))
	for len(entry) < a.count {
		_, err := io.ReadFull(in, b)
		if err != nil {
			return nil, data.Malformed("the array is damaged or cut short after %d of %d entries: %w",
				len(entry), a.count, err)
		}
		entry = append(entry, decode(b))
	}
	// The end has the checksum of packed entries.
	_, err = in.ReadByte()
	if err != io.EOF {
		return nil, data.Malformed("the array is damaged: %v at its end", err)
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
	shape := strings.Trim(
		strings.ReplaceAll(fmt.Sprint(o.shape), " ", ", "), "[]")
	if len(o.shape) == 1 {
		shape += ","
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", o.numpyType, shape)
	text += strings.Repeat(" ", 63-(len(npyMagic)+2+len(text))%64) + "\n"
	head := []any{[]byte(npyMagic), uint16(len(text)), []byte(text)}
	for _, part := range append(head, o.parts...) {
		err := binary.Write(w, little, part)
		if err != nil {
			return err
		}
	}
	return nil
}
