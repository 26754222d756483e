package format

import (
	"fmt"
	"l2mt/data"
	"os"
	"slices"
)

// Arrays is an open .npz file whose arrays are read one at a time, whatever
// they mean: the weights of a network, say. Close it after use.
type Arrays struct {
	file    *os.File
	archive *archive
}

// OpenArrays opens an .npz file.
func OpenArrays(path string) (*Arrays, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("format: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("format: %w", err)
	}
	z, err := newArchive(f, info.Size())
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("format: %s: %w", path, err)
	}
	return &Arrays{f, z}, nil
}

// Close closes the file.
func (a *Arrays) Close() error { return a.file.Close() }

// Names returns the names of the arrays, in the order of the file.
func (a *Arrays) Names() []string { return slices.Clone(a.archive.names) }

// Shape returns the dimensions of an array.
func (a *Arrays) Shape(name string) ([]int, error) {
	return readArray(a, name, func(x *array) ([]int, error) { return x.shape, nil })
}

// Float32s reads an array of numbers, row-major.
func (a *Arrays) Float32s(name string) ([]float32, error) {
	return readArray(a, name, func(x *array) ([]float32, error) {
		if x.fortran && len(x.shape) > 2 {
			return nil, fmt.Errorf("%w: it is stored by columns; numpy.ascontiguousarray puts it by rows", data.ErrFormat)
		}
		return numbersOf[float32](x)
	})
}

func readArray[T any](a *Arrays, name string, read func(*array) (T, error)) (T, error) {
	result, err := fromArray(a.archive, name, read)
	if err != nil {
		err = fmt.Errorf("format: %s: %w", a.file.Name(), err)
	}
	return result, err
}
