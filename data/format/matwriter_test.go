package format

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"l2mt/data"
)

// matWriter writes what parseMAT reads.
type matWriter struct {
	order  binary.AppendByteOrder
	short  bool // short elements where they are possible
	packed bool
}

func (w matWriter) element(kind uint32, content []byte) []byte {
	if n := len(content); w.short && 0 < n && n <= 4 {
		e := w.order.AppendUint32(nil, uint32(n)<<16|kind)
		return append(append(e, content...), make([]byte, 4-n)...)
	}
	e := w.order.AppendUint32(nil, kind)
	e = append(w.order.AppendUint32(e, uint32(len(content))), content...)
	return append(e, make([]byte, -len(content)&7)...)
}

func (w matWriter) numbers(kind uint32, values []float64) []byte {
	var b []byte
	for _, v := range values {
		switch kind {
		case miInt8:
			b = append(b, byte(int8(v)))
		case miUint8:
			b = append(b, byte(v))
		case miInt16:
			b = w.order.AppendUint16(b, uint16(int16(v)))
		case miUint16, miUTF16:
			b = w.order.AppendUint16(b, uint16(v))
		case miInt32:
			b = w.order.AppendUint32(b, uint32(int32(v)))
		case miUint32, miUTF32:
			b = w.order.AppendUint32(b, uint32(v))
		case miInt64:
			b = w.order.AppendUint64(b, uint64(int64(v)))
		case miUint64:
			b = w.order.AppendUint64(b, uint64(v))
		case miSingle:
			b = w.order.AppendUint32(b, math.Float32bits(float32(v)))
		case miDouble:
			b = w.order.AppendUint64(b, math.Float64bits(v))
		}
	}
	return w.element(kind, b)
}

// variable is an element of type miMatrix.
func (w matWriter) variable(name string, class, flags uint32, dims []float64, content ...[]byte) []byte {
	b := w.element(miUint32, w.order.AppendUint32(w.order.AppendUint32(nil, flags|class), 7))
	b = append(b, w.numbers(miInt32, dims)...)
	b = append(b, w.element(miInt8, []byte(name))...)
	return w.element(miMatrix, append(b, bytes.Join(content, nil)...))
}

// columnsOf returns the entries column by column.
func columnsOf(rows [][]float64) (dims, entries []float64) {
	dims = []float64{float64(len(rows)), float64(len(rows[0]))}
	for j := range rows[0] {
		for _, row := range rows {
			entries = append(entries, row[j])
		}
	}
	return dims, entries
}

func (w matWriter) dense(name string, class, kind uint32, rows [][]float64) []byte {
	dims, entries := columnsOf(rows)
	return w.variable(name, class, 0, dims, w.numbers(kind, entries))
}

// sparse leaves room for spare entries.
func (w matWriter) sparse(name string, kind uint32, rows [][]float64, spare int) []byte {
	var row, value []float64
	begin := []float64{0}
	for j := range rows[0] {
		for i := range rows {
			if rows[i][j] != 0 {
				row, value = append(row, float64(i)), append(value, rows[i][j])
			}
		}
		begin = append(begin, float64(len(row)))
	}
	row, value = append(row, make([]float64, spare)...), append(value, make([]float64, spare)...)
	dims := []float64{float64(len(rows)), float64(len(rows[0]))}
	return w.variable(name, mxSparse, 0, dims, w.numbers(miInt32, row), w.numbers(miInt32, begin), w.numbers(kind, value))
}

func (w matWriter) cell(name string, cells ...[]byte) []byte {
	return w.variable(name, mxCell, 0, []float64{1, float64(len(cells))}, cells...)
}

func (w matWriter) char(name string, kind uint32, text string) []byte {
	content := w.element(kind, []byte(text))
	if kind == miUint16 || kind == miUTF16 || kind == miUTF32 {
		var units []float64
		for _, r := range text {
			units = append(units, float64(r))
		}
		content = w.numbers(kind, units)
	}
	return w.variable(name, mxChar, 0, []float64{1, float64(len([]rune(text)))}, content)
}

// words is a column of cells.
func (w matWriter) words(name string, kind uint32, words ...string) []byte {
	var cells [][]byte
	for _, word := range words {
		cells = append(cells, w.char("", kind, word))
	}
	return w.variable(name, mxCell, 0, []float64{float64(len(words)), 1}, cells...)
}

// pack makes a packed element, which is not padded.
func (w matWriter) pack(element []byte) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	z.Write(element)
	z.Close()
	e := w.order.AppendUint32(nil, miCompressed)
	return append(w.order.AppendUint32(e, uint32(b.Len())), b.Bytes()...)
}

func (w matWriter) file(variables ...[]byte) []byte {
	b := []byte(fmt.Sprintf("%-124s", "MATLAB 5.0 MAT-file, made by a test"))
	b = w.order.AppendUint16(b, 0x0100)
	b = w.order.AppendUint16(b, 'M'<<8|'I')
	for _, v := range variables {
		if w.packed {
			v = w.pack(v)
		}
		b = append(b, v...)
	}
	return b
}

func randomWriter(rng *rand.Rand) matWriter {
	w := matWriter{order: binary.LittleEndian, short: rng.IntN(2) == 0, packed: rng.IntN(2) == 0}
	if rng.IntN(2) == 0 {
		w.order = binary.BigEndian
	}
	return w
}

func parseMATBytes(content []byte, o Options) (*data.Dataset, error) {
	t, err := parseMAT(bytes.NewReader(content), int64(len(content)), o)
	if err != nil {
		return nil, err
	}
	return t.dataset("made", o)
}

func mustParseMAT(t testing.TB, content []byte, o Options) *data.Dataset {
	t.Helper()
	d, err := parseMATBytes(content, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// randomRows draws rows of numbers that the type can store.
func randomRows(rng *rand.Rand, kind uint32, n, d int) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, d)
		for j := range rows[i] {
			v := float64(rng.IntN(100))
			if kind == miInt8 || kind == miInt16 || kind == miInt32 || kind == miInt64 || kind >= miSingle && kind <= miDouble {
				v -= 50
			}
			if kind == miSingle || kind == miDouble {
				v /= 8
			}
			if rng.IntN(2) == 0 {
				v = 0
			}
			rows[i][j] = v
		}
	}
	return rows
}
