package safetensors

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"

	"l2mt/data/files"
)

// File is a file whose header is read and checked: every tensor has the offset and size
// that it should have, and the data its checksum. Tensors are read one at a time, where
// the whole would be too much to have in memory as float64. Close it after use.
type File struct {
	// Metadata is that of the file.
	Metadata map[string]string

	name    string // of the file, with what separates it from a message
	data    io.ReaderAt
	close   func() error
	start   int64    // of the data
	names   []string // in the order of the data
	entries map[string]entry
}

// Open opens a file.
func Open(path string) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	f := &File{name: path + ": ", data: file, close: file.Close}
	info, err := file.Stat()
	if err == nil {
		err = f.readHeader(info.Size())
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%ssafetensors: %w", f.name, err)
	}
	return f, nil
}

// Read reads a file. The tensors come in the order of their data, in single precision
// those whose names single picks, which may be nil.
func Read(path string, single func(name string) bool) ([]Tensor, map[string]string, error) {
	f, err := Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	tensors, err := f.tensors(single)
	return tensors, f.Metadata, err
}

// Decode is Read of a file's content, all in double precision. It allocates no more than
// a small multiple of the file's size, whatever the header says.
func Decode(content []byte) ([]Tensor, map[string]string, error) {
	f := &File{data: bytes.NewReader(content)}
	if err := f.readHeader(int64(len(content))); err != nil {
		return nil, nil, fmt.Errorf("safetensors: %w", err)
	}
	tensors, err := f.tensors(nil)
	return tensors, f.Metadata, err
}

// Checksum is the SHA-256 of the file's data: empty where the file does not say it.
func (f *File) Checksum() string { return f.Metadata[checksumKey] }

// Close closes the file.
func (f *File) Close() error { return f.close() }

// Names returns the names of the tensors, in the order of their data.
func (f *File) Names() []string { return slices.Clone(f.names) }

// Shape returns the dimensions of a tensor.
func (f *File) Shape(name string) ([]int, error) {
	e, err := f.entry(name)
	return e.Shape, err
}

// Float32s reads the numbers of a tensor, row-major.
func (f *File) Float32s(name string) ([]float32, error) { return numbers[float32](f, name) }

func (f *File) entry(name string) (entry, error) {
	e, ok := f.entries[name]
	if !ok {
		return e, fmt.Errorf("%ssafetensors: %w: there is no tensor %q", f.name, ErrFormat, name)
	}
	return e, nil
}

func (f *File) tensors(single func(name string) bool) (all []Tensor, err error) {
	for _, name := range f.names {
		t := Tensor{Name: name, DType: f.entries[name].DType, Shape: f.entries[name].Shape}
		if single != nil && single(name) {
			t.Single, err = numbers[float32](f, name)
		} else {
			t.Value, err = numbers[float64](f, name)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// numbers decodes without room in between: what is thrown away beside large tensors
// would take as much again.
func numbers[T float32 | float64](f *File, name string) ([]T, error) {
	e, err := f.entry(name)
	if err != nil {
		return nil, err
	}
	size := e.DType.size()
	begin, n := int64(e.Offsets[0]), e.Offsets[1]-e.Offsets[0]
	r := io.NewSectionReader(f.data, f.start+begin, int64(n))
	value, chunk := make([]T, 0, n/size), make([]byte, min(n, piece*size))
	for len(value) < cap(value) {
		part := chunk[:min(len(chunk), (cap(value)-len(value))*size)]
		if _, err := io.ReadFull(r, part); err != nil {
			return nil, fmt.Errorf("%ssafetensors: tensor %q: %w", f.name, name, err)
		}
		for b := range slices.Chunk(part, size) {
			if e.DType == F64 {
				value = append(value, T(math.Float64frombits(binary.LittleEndian.Uint64(b))))
			} else {
				value = append(value, T(math.Float32frombits(binary.LittleEndian.Uint32(b))))
			}
		}
	}
	return value, nil
}

// readHeader reads the header of a file of that size, and compares it with the data.
func (f *File) readHeader(size int64) error {
	in := io.NewSectionReader(f.data, 0, size)
	var length uint64
	if err := binary.Read(in, binary.LittleEndian, &length); err != nil {
		return fmt.Errorf("%w: %d bytes, less than the length of the header takes: %w", ErrFormat, size, err)
	}
	if length > min(uint64(size-lengthSize), maxHeader) {
		return fmt.Errorf("%w: a header of %d bytes in a file of %d; Python writes such files with safetensors.numpy.save_file", ErrFormat, length, size)
	}
	header := make([]byte, length)
	if _, err := io.ReadFull(in, header); err != nil {
		return err
	}
	if err := f.parseHeader(header); err != nil {
		return fmt.Errorf("%w: header: %w", ErrFormat, err)
	}
	f.start = lengthSize + int64(length)
	end, limit := 0, int(size-f.start)
	for _, name := range f.names {
		e := f.entries[name]
		if err := e.check(end, limit); err != nil {
			return fmt.Errorf("%w: tensor %q: %w", ErrFormat, name, err)
		}
		end = e.Offsets[1]
	}
	if end != limit {
		return fmt.Errorf("%w: %d bytes of data, but the tensors end at byte %d", ErrFormat, limit, end)
	}
	if f.Checksum() == "" {
		return nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, in); err != nil {
		return err
	}
	if have := hex.EncodeToString(sum.Sum(nil)); f.Checksum() != have {
		return fmt.Errorf("%w: the data has SHA-256 %s, but the header says %s", ErrFormat, have, f.Checksum())
	}
	return nil
}

func (f *File) parseHeader(header []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(header, &raw); err != nil {
		return err
	}
	f.entries = map[string]entry{}
	for name, text := range raw {
		if name == metadataKey {
			if err := json.Unmarshal(text, &f.Metadata); err != nil {
				return fmt.Errorf("metadata: %w", err)
			}
			continue
		}
		var e entry
		if err := files.DecodeJSON(text, &e); err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		f.entries[name] = e
	}
	f.names = slices.SortedFunc(maps.Keys(f.entries), func(a, b string) int {
		x, y := f.entries[a].Offsets, f.entries[b].Offsets
		return cmp.Or(slices.Compare(x[:], y[:]), cmp.Compare(a, b))
	})
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
	if size, ok := product(append([]int{e.DType.size()}, e.Shape...)); !ok || size != e.Offsets[1]-begin {
		return fmt.Errorf("%d bytes of data for shape %v of %s", e.Offsets[1]-begin, e.Shape, e.DType)
	}
	return nil
}
