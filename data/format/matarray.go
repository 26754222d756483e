package format

import (
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The contents of MATLAB variables: numbers stored as any type, sparse
// matrices, text, and cells of these.

// matArray is a variable with its content, or a cell of one.
type matArray struct {
	matHead
	number []float64   // row by row; of a sparse matrix its entries, column by column
	value  []float32   // the same, if float32 was asked for
	row    []int32     // of every entry of a sparse matrix
	begin  []int       // where each column of a sparse matrix begins, and the end
	text   string      // of char
	cells  []*matArray // column by column
}

// head reads a variable up to its content.
func (s *matStream) head() (matHead, error) {
	var h matHead
	at := s.at
	flags, err := s.small(miUint32, "flags", 8)
	if err != nil {
		return h, err
	}
	if len(flags) != 8 {
		return h, s.fault(at, "%d bytes of flags; a variable has 8", len(flags))
	}
	word := s.order.Uint32(flags)
	h.class, h.complex = int(word&0xff), word&complexFlag != 0
	if h.class == 0 || h.class >= len(mxNames) {
		return h, s.fault(at, "an unknown class of variable, %d", h.class)
	}
	if h.class != mxOpaque { // those have no dimensions
		if h.dims, err = s.dims(); err != nil {
			return h, err
		}
	}
	name, err := s.small(miInt8, "a name", maxMatName)
	h.name = string(name)
	return h, err
}

func (s *matStream) dims() ([]int, error) {
	at := s.at
	b, err := s.small(miInt32, "dimensions", 4*maxMatDims)
	if err != nil {
		return nil, err
	}
	if len(b) < 8 || len(b)%4 != 0 {
		return nil, s.fault(at, "%d bytes of dimensions; a variable has at least two dimensions of 4 bytes", len(b))
	}
	var dims []int
	product := uint64(1)
	for b := range slices.Chunk(b, 4) {
		n := int32(s.order.Uint32(b))
		overflow, p := bits.Mul64(product, uint64(n))
		if n < 0 || overflow > 0 || p > 1<<48 {
			return nil, s.fault(at, "dimensions %v, %d are beyond all memory", dims, n)
		}
		dims, product = append(dims, int(n)), p
	}
	return dims, nil
}

// small reads an element that must have a type and fit a limit.
func (s *matStream) small(kind uint32, what string, limit int64) ([]byte, error) {
	at := s.at
	e, err := s.tag()
	if err != nil {
		return nil, err
	}
	if e.kind != kind || e.size > limit {
		return nil, s.fault(at, "an element of type %d and %d bytes stands where %s should (type %d, at most %d bytes)", e.kind, e.size, what, kind, limit)
	}
	leave := s.enter(e)
	b, err := s.bytes(e.size, what)
	if err != nil {
		return nil, err
	}
	return b, leave()
}

// array reads a variable that lies within so many cells.
func (s *matStream) array(depth int) (*matArray, error) {
	if s.at == s.end { // MATLAB's short form of []
		return &matArray{matHead: matHead{class: mxDouble, dims: []int{0, 0}}}, nil
	}
	at := s.at
	head, err := s.head()
	if err != nil {
		return nil, err
	}
	a := &matArray{matHead: head}
	switch {
	case a.complex:
		return nil, s.fault(at, "the numbers are complex; they must be real")
	case a.class == mxSparse:
		return a, s.readSparse(a)
	case a.isNumber():
		return a, s.readEntries(a, a.dims)
	case a.class == mxChar:
		return a, s.readText(a)
	case a.class == mxCell:
		return a, s.readCells(a, depth)
	}
	return nil, s.fault(at, "it is a %s; it must hold numbers, text, or cells of these", mxNames[a.class])
}

// readEntries reads the numbers of a matrix.
func (s *matStream) readEntries(a *matArray, dims []int) (err error) {
	if s.float32s {
		a.value, err = numbersIn[float32](s, dims)
	} else {
		a.number, err = numbersIn[float64](s, dims)
	}
	return err
}

// numbersIn reads an element of numbers as an array of these dimensions, row by
// row, whatever type they are stored in. No dimensions mean a vector of whatever
// length the element has.
func numbersIn[T float32 | float64](s *matStream, dims []int) ([]T, error) {
	at := s.at
	e, err := s.tag()
	if err != nil {
		return nil, err
	}
	stored, ok := matNumber[e.kind]
	if !ok {
		return nil, s.fault(at, "an element of type %d stands where numbers should", e.kind)
	}
	if dims == nil {
		dims = []int{int(e.size) / stored.size}
	}
	a := &array{shape: dims, fortran: true, order: s.order, kind: stored.kind, size: stored.size, entries: s, stored: min(e.size, s.stored)}
	if e.size != int64(a.count())*int64(a.size) {
		return nil, s.fault(at, "%d bytes of numbers; an array of %v needs %d", e.size, a, int64(a.count())*int64(a.size))
	}
	leave := s.enter(e)
	number, err := numbersOf[T](a)
	if err != nil {
		return nil, fmt.Errorf("byte %d%s: %w", at, s.where, err)
	}
	return number, leave()
}

// readSparse reads the content of a sparse matrix: the row of every entry, where
// each column begins, and the entries. There may be room for more entries than
// are in use.
func (s *matStream) readSparse(a *matArray) error {
	at := s.at
	row, err := numbersIn[float64](s, nil)
	if err != nil {
		return err
	}
	begin, err := numbersIn[float64](s, nil)
	if err != nil {
		return err
	}
	if err := s.readEntries(a, nil); err != nil {
		return err
	}
	if len(a.dims) != 2 || len(begin) != a.dims[1]+1 {
		return s.fault(at, "%d places where columns begin; %v needs one more than columns", len(begin), a.matHead)
	}
	room := min(len(row), max(len(a.value), len(a.number)))
	for j, p := range begin {
		a.begin = append(a.begin, int(p))
		if p < 0 || p > float64(room) || j == 0 && p != 0 || j > 0 && a.begin[j] < a.begin[j-1] {
			return s.fault(at, "column %d of the sparse matrix begins at entry %v; the columns must follow each other from 0 to at most %d", j, p, room)
		}
	}
	for j := range a.dims[1] {
		last := int32(-1)
		for _, i := range row[a.begin[j]:a.begin[j+1]] {
			if i <= float64(last) || i >= float64(a.dims[0]) {
				return s.fault(at, "column %d of the sparse matrix has row %v after row %d; rows must ascend within 0..%d", j, i, last, a.dims[0]-1)
			}
			last = int32(i)
			a.row = append(a.row, last)
		}
	}
	return nil
}

// readCells reads the content of a cell array.
func (s *matStream) readCells(a *matArray, depth int) error {
	if depth == maxMatDepth {
		return s.fault(s.at, "cells lie within cells more than %d deep", maxMatDepth)
	}
	if n := int64(a.count()); n > (s.end-s.at)/8 {
		return s.fault(s.at, "%d cells in %d bytes; each takes at least 8", n, s.end-s.at)
	}
	for i := range a.count() {
		at := s.at
		e, err := s.tag()
		if err != nil {
			return err
		}
		if e.kind != miMatrix {
			return s.fault(at, "an element of type %d stands where a cell should (type %d)", e.kind, miMatrix)
		}
		leave := s.enter(e)
		cell, err := s.array(depth + 1)
		if err != nil {
			return fmt.Errorf("cell %d: %w", i+1, err)
		}
		a.cells = append(a.cells, cell)
		if err := leave(); err != nil {
			return err
		}
	}
	return nil
}

// readText reads the content of char.
func (s *matStream) readText(a *matArray) error {
	at := s.at
	e, err := s.tag()
	if err != nil {
		return err
	}
	if len(a.dims) != 2 || a.dims[0] > 1 {
		return s.fault(at, "%v is not one line of text; several lines must be a cell array", a.matHead)
	}
	leave := s.enter(e)
	b, err := io.ReadAll(s)
	if err != nil {
		return s.fault(at, "text is cut short: %v", err)
	}
	a.text, err = s.decodeText(b, e.kind)
	if err != nil {
		return s.fault(at, "%v", err)
	}
	return leave()
}

// decodeText decodes char, which MATLAB stores as UTF-16 whatever the type of the
// numbers, except in UTF-8 and UTF-32.
func (s *matStream) decodeText(b []byte, kind uint32) (string, error) {
	var units []uint16
	switch kind {
	case miUTF8:
		return strings.ToValidUTF8(string(b), string(utf8.RuneError)), nil
	case miInt8, miUint8:
		for _, c := range b {
			units = append(units, uint16(c))
		}
	case miUint16, miUTF16:
		for c := range slices.Chunk(b[:len(b)&^1], 2) {
			units = append(units, s.order.Uint16(c))
		}
	case miUTF32:
		var text []rune
		for c := range slices.Chunk(b[:len(b)&^3], 4) {
			text = append(text, rune(s.order.Uint32(c)))
		}
		return string(text), nil
	default:
		return "", fmt.Errorf("text is stored as type %d", kind)
	}
	return string(utf16.Decode(units)), nil
}
