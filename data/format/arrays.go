package format

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"l2mt/data"
	"l2mt/data/safetensors"
)

// Weights is an open file of named arrays. Close it after use.
type Weights interface {
	Names() []string
	Shape(name string) ([]int, error)
	Float32s(name string) ([]float32, error)
	Close() error
}

// OpenWeights opens an .npz or a .safetensors file.
func OpenWeights(path string) (Weights, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".npz":
		return OpenArrays(path)
	case ".safetensors":
		return safetensors.Open(path)
	}
	return nil, fmt.Errorf("%s: %w: its name must end in .safetensors or .npz", path, data.ErrFormat)
}

// Arrays is an open .npz file, a zip file of NumPy arrays, which are read one at a
// time, whatever they mean: the weights of a network, say. Close it after use.
type Arrays struct {
	file  *os.File
	size  int64
	names []string // in the file's order
	of    map[string]*zip.File
}

// OpenArrays opens an .npz file.
func OpenArrays(path string) (*Arrays, error) {
	z, err := openArrays(path)
	if err != nil {
		return nil, fmt.Errorf("format: %s: %w", path, err)
	}
	return z, nil
}

func openArrays(path string) (z *Arrays, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		z, err = newArrays(f, info.Size())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	z.file = f
	return z, nil
}

func newArrays(r io.ReaderAt, size int64) (*Arrays, error) {
	packed, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("%w: it is no .npz file, or cut short: %w", data.ErrFormat, err)
	}
	z := &Arrays{size: size, of: map[string]*zip.File{}}
	for _, f := range packed.File {
		name := strings.TrimSuffix(f.Name, ".npy")
		z.names = append(z.names, name)
		z.of[name] = f
	}
	return z, nil
}

// Close closes the file.
func (z *Arrays) Close() error { return z.file.Close() }

// Names returns the names of the arrays, in the order of the file.
func (z *Arrays) Names() []string { return slices.Clone(z.names) }

// Shape returns the dimensions of an array.
func (z *Arrays) Shape(name string) ([]int, error) {
	shape, err := fromArray(z, name, func(a *array) ([]int, error) { return a.shape, nil })
	return shape, z.located(err)
}

// Float32s reads an array of numbers, row-major.
func (z *Arrays) Float32s(name string) ([]float32, error) {
	numbers, err := fromArray(z, name, func(a *array) ([]float32, error) {
		if a.fortran && len(a.shape) > 2 {
			return nil, fmt.Errorf("%w: it is stored by columns; numpy.ascontiguousarray puts it by rows", data.ErrFormat)
		}
		return numbersOf[float32](a)
	})
	return numbers, z.located(err)
}

func (z *Arrays) located(err error) error {
	if err != nil {
		err = fmt.Errorf("format: %s: %w", z.file.Name(), err)
	}
	return err
}

// fromArray reads an array with read.
func fromArray[T any](z *Arrays, name string, read func(*array) (T, error)) (result T, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("array %s: %w", name, err)
		}
	}()
	f := z.of[name]
	if f == nil {
		return result, fmt.Errorf("%w: it is missing", data.ErrFormat)
	}
	stored := int64(min(f.CompressedSize64, uint64(z.size)))
	limit := inflatedLimit(stored)
	if f.UncompressedSize64 > uint64(limit) {
		return result, tooInflated(limit)
	}
	r, err := f.Open()
	if err != nil {
		return result, fmt.Errorf("%w: %w", data.ErrFormat, err)
	}
	defer r.Close()
	a, err := newArray(r, int64(f.UncompressedSize64), stored)
	if err != nil {
		return result, err
	}
	return read(a)
}
