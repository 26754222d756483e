package safetensors

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
)

// File is an open file whose tensors are read one at a time, where the whole
// would be too much to have in memory as float64. Close it after use.
type File struct {
	file *os.File
	*content
}

// Open opens a file and checks all of it that Read would check.
func Open(path string) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	c, err := newContent(file, info.Size())
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: safetensors: %w", path, err)
	}
	return &File{file, c}, nil
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// Names returns the names of the tensors, in the order of their data.
func (f *File) Names() []string { return slices.Clone(f.names) }

// Shape returns the dimensions of a tensor.
func (f *File) Shape(name string) ([]int, error) {
	e, err := f.entry(name)
	return e.Shape, err
}

// Float32s reads the numbers of a tensor, row-major.
func (f *File) Float32s(name string) ([]float32, error) {
	e, err := f.entry(name)
	if err != nil {
		return nil, err
	}
	size := e.DType.size()
	begin, n := int64(e.Offsets[0]), e.Offsets[1]-e.Offsets[0]
	r := io.NewSectionReader(f.file, f.start+begin, int64(n))
	value := make([]float32, 0, n/size)
	chunk := make([]byte, 64<<10) // a multiple of every size
	for len(value) < cap(value) {
		part := chunk[:min(len(chunk), (cap(value)-len(value))*size)]
		if _, err := io.ReadFull(r, part); err != nil {
			return nil, fmt.Errorf("%s: safetensors: tensor %q: %w", f.file.Name(), name, err)
		}
		value = e.DType.appendFloat32s(value, part)
	}
	return value, nil
}

// appendFloat32s decodes without room in between: what is thrown away beside
// large tensors would take as much again.
func (d DType) appendFloat32s(value []float32, data []byte) []float32 {
	for b := range slices.Chunk(data, d.size()) {
		if d == F64 {
			value = append(value, float32(math.Float64frombits(binary.LittleEndian.Uint64(b))))
		} else {
			value = append(value, math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
	}
	return value
}

func (f *File) entry(name string) (entry, error) {
	e, ok := f.entries[name]
	if !ok {
		return e, fmt.Errorf("%s: safetensors: %w: there is no tensor %q", f.file.Name(), ErrFormat, name)
	}
	return e, nil
}
