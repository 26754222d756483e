// Package safetensors reads and writes the safetensors format: named arrays of
// numbers behind a JSON header, which Python's safetensors package and many
// others read too.
//
//	8 bytes   length of the header, little-endian
//	header    {"__metadata__": {...}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
//	data      the arrays one after the other, little-endian, row-major
//
// Files written here carry a SHA-256 of the data in the metadata, which reading
// verifies where it is present.
package safetensors

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"

	"l2mt/data/files"
)

// ErrFormat marks a file that is not safetensors, or is damaged.
var ErrFormat = errors.New("malformed safetensors file")

// DType is the precision of an array in a file.
type DType string

// The precisions that this package knows.
const (
	F32 DType = "F32"
	F64 DType = "F64"
)

func (d DType) size() int {
	switch d {
	case F32:
		return 4
	case F64:
		return 8
	}
	return 0
}

// Tensor is a named array of numbers, row-major. In memory they are float64;
// DType is their precision in a file.
type Tensor struct {
	Name  string
	DType DType
	Shape []int
	Value []float64
}

const (
	lengthSize   = 8
	maxHeader    = 100 << 20 // the limit of the reference implementation
	metadataKey  = "__metadata__"
	checksumKey  = "sha256"
	headerFiller = ' '
)

// entry is the header of one tensor.
type entry struct {
	DType   DType  `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

// Encode returns the file of the given tensors, in their order, and metadata,
// in which the key "sha256" is taken.
func Encode(tensors []Tensor, metadata map[string]string) ([]byte, error) {
	var data []byte
	entries := make([]entry, len(tensors))
	for i, t := range tensors {
		if err := checkTensor(tensors[:i], t, len(t.Value)); err != nil {
			return nil, err
		}
		begin := len(data)
		data = t.DType.append(data, t.Value)
		entries[i] = entry{t.DType, append([]int{}, t.Shape...), [2]int{begin, len(data)}}
	}
	header, err := encodeHeader(tensors, entries, metadata, checksum(data))
	if err != nil {
		return nil, err
	}
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(file, header...), data...), nil
}

// checkTensor checks a tensor of count numbers that comes after others.
func checkTensor(before []Tensor, t Tensor, count int) error {
	switch {
	case t.DType.size() == 0:
		return fmt.Errorf("safetensors: tensor %q: dtype %q is not one of %s, %s", t.Name, t.DType, F32, F64)
	case t.Name == "" || t.Name == metadataKey:
		return fmt.Errorf("safetensors: tensor %d has the name %q, which is not allowed", len(before), t.Name)
	case slices.ContainsFunc(before, func(u Tensor) bool { return u.Name == t.Name }):
		return fmt.Errorf("safetensors: two tensors have the name %q", t.Name)
	}
	if size, ok := product(t.Shape); !ok || size != count {
		return fmt.Errorf("safetensors: tensor %q has shape %v but %d numbers", t.Name, t.Shape, count)
	}
	return nil
}

// append adds numbers as they stand in a file.
func (d DType) append(data []byte, value []float64) []byte {
	for _, v := range value {
		if d == F64 {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
		} else {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
		}
	}
	return data
}

// encodeHeader writes the entries in the order of the tensors, which a map
// would not keep, and pads the header so that the data is aligned.
func encodeHeader(tensors []Tensor, entries []entry, metadata map[string]string, sum string) ([]byte, error) {
	metadata = maps.Clone(metadata)
	if metadata == nil {
		metadata = map[string]string{}
	}
	metadata[checksumKey] = sum
	header, err := json.Marshal(map[string]any{metadataKey: metadata})
	if err != nil {
		return nil, fmt.Errorf("safetensors: metadata: %w", err)
	}
	header = header[:len(header)-1]
	for i, t := range tensors {
		name, err := json.Marshal(t.Name)
		if err != nil {
			return nil, fmt.Errorf("safetensors: tensor %q: %w", t.Name, err)
		}
		body, err := json.Marshal(entries[i])
		if err != nil {
			return nil, fmt.Errorf("safetensors: tensor %q: %w", t.Name, err)
		}
		header = slices.Concat(header, []byte{','}, name, []byte{':'}, body)
	}
	header = append(header, '}')
	for len(header)%lengthSize != 0 {
		header = append(header, headerFiller)
	}
	return header, nil
}

func checksum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// product multiplies the dimensions of a shape; it is not ok when one is
// negative or the product overflows.
func product(shape []int) (size int, ok bool) {
	size = 1
	for _, n := range shape {
		if n < 0 || n > 0 && size > math.MaxInt/n {
			return 0, false
		}
		size *= n
	}
	return size, true
}

// Decode reads a file. The tensors come in the order of their data. It
// allocates no more than a small multiple of the file's size, whatever the
// header says.
func Decode(file []byte) ([]Tensor, map[string]string, error) {
	c, err := newContent(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, nil, fmt.Errorf("safetensors: %w", err)
	}
	var tensors []Tensor
	for _, name := range c.names {
		e := c.entries[name]
		data := file[c.start:][e.Offsets[0]:e.Offsets[1]]
		tensors = append(tensors, Tensor{name, e.DType, e.Shape, e.DType.decode(data)})
	}
	return tensors, c.metadata, nil
}

// content is what the header of a file says, after checks: every tensor has
// the offset and size that it should have, and the data its checksum.
type content struct {
	names    []string // in the order of the data
	entries  map[string]entry
	metadata map[string]string
	start    int64 // of the data
}

func newContent(r io.ReaderAt, size int64) (*content, error) {
	c := &content{}
	if err := c.readHeader(r, size); err != nil {
		return nil, err
	}
	end, limit := 0, int(size-c.start)
	for _, name := range c.names {
		e := c.entries[name]
		if err := e.check(end, limit); err != nil {
			return nil, fmt.Errorf("%w: tensor %q: %w", ErrFormat, name, err)
		}
		end = e.Offsets[1]
	}
	if end != limit {
		return nil, fmt.Errorf("%w: %d bytes of data, but the tensors end at byte %d", ErrFormat, limit, end)
	}
	want := c.metadata[checksumKey]
	if want == "" {
		return c, nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(r, c.start, int64(limit))); err != nil {
		return nil, err
	}
	if have := hex.EncodeToString(sum.Sum(nil)); want != have {
		return nil, fmt.Errorf("%w: the data has SHA-256 %s, but the header says %s", ErrFormat, have, want)
	}
	return c, nil
}

func (c *content) readHeader(r io.ReaderAt, size int64) error {
	if size < lengthSize {
		return fmt.Errorf("%w: %d bytes, less than the length of the header takes", ErrFormat, size)
	}
	var prefix [lengthSize]byte
	if _, err := r.ReadAt(prefix[:], 0); err != nil {
		return err
	}
	length := binary.LittleEndian.Uint64(prefix[:])
	if length > min(uint64(size-lengthSize), maxHeader) {
		return fmt.Errorf("%w: a header of %d bytes in a file of %d", ErrFormat, length, size)
	}
	header := make([]byte, length)
	if _, err := io.ReadFull(io.NewSectionReader(r, lengthSize, int64(length)), header); err != nil {
		return err
	}
	c.start = lengthSize + int64(length)
	if err := c.parseHeader(header); err != nil {
		return fmt.Errorf("%w: header: %w", ErrFormat, err)
	}
	c.names = slices.SortedFunc(maps.Keys(c.entries), func(a, b string) int {
		x, y := c.entries[a].Offsets, c.entries[b].Offsets
		return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]), cmp.Compare(a, b))
	})
	return nil
}

func (c *content) parseHeader(header []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(header, &raw); err != nil {
		return err
	}
	if m, ok := raw[metadataKey]; ok {
		if err := json.Unmarshal(m, &c.metadata); err != nil {
			return fmt.Errorf("metadata: %w", err)
		}
		delete(raw, metadataKey)
	}
	c.entries = make(map[string]entry, len(raw))
	for name, m := range raw {
		var e entry
		if err := files.DecodeJSON(m, &e); err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		c.entries[name] = e
	}
	return nil
}

// check compares an entry with its offset in the data, which begins where the
// one before it ended.
func (e entry) check(begin, limit int) error {
	if e.DType.size() == 0 {
		return fmt.Errorf("dtype %q is not one of %s, %s", e.DType, F32, F64)
	}
	if e.Offsets[0] != begin || e.Offsets[1] < begin || e.Offsets[1] > limit {
		return fmt.Errorf("data at bytes %d to %d of %d; it must begin at %d", e.Offsets[0], e.Offsets[1], limit, begin)
	}
	size, ok := product(e.Shape)
	if have := e.Offsets[1] - begin; !ok || have%e.DType.size() != 0 || size != have/e.DType.size() {
		return fmt.Errorf("%d bytes of data for shape %v of %s", have, e.Shape, e.DType)
	}
	return nil
}

func (d DType) decode(data []byte) []float64 {
	value := make([]float64, len(data)/d.size())
	for i := range value {
		if d == F64 {
			value[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
		} else {
			value[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))
		}
	}
	return value
}

// Write writes a file under a temporary name, syncs and renames it, so that
// path holds either the old content or the new.
func Write(path string, tensors []Tensor, metadata map[string]string) error {
	file, err := Encode(tensors, metadata)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := files.WriteFile(path, file); err != nil {
		return fmt.Errorf("safetensors: %w", err)
	}
	return nil
}

// Read reads a file.
func Read(path string) ([]Tensor, map[string]string, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("safetensors: %w", err)
	}
	tensors, metadata, err := Decode(file)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return tensors, metadata, nil
}

// Transposed returns the transpose of a rows x cols matrix, for files that have it
// the other way round. It goes by blocks that stay in the cache.
func Transposed[T any](a []T, rows, cols int) []T {
	const block = 32
	t := make([]T, len(a))
	for i0 := 0; i0 < rows; i0 += block {
		for j0 := 0; j0 < cols; j0 += block {
			for i := i0; i < min(i0+block, rows); i++ {
				for j := j0; j < min(j0+block, cols); j++ {
					t[j*rows+i] = a[i*cols+j]
				}
			}
		}
	}
	return t
}
