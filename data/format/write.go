package format

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"l2mt/data"
	"l2mt/data/files"
)

// Write writes the dataset to a file, in the format that its name promises:
// .svmlight, .libsvm or .svm (each also with .gz), or .npz, which alone keeps
// everything. The file appears whole or not at all.
func Write(path string, d *data.Dataset) error {
	format, err := formatOfName(path)
	if err != nil {
		return fmt.Errorf("format: %w", err)
	}
	write := WriteSVMLight
	switch {
	case format == NPZ:
		write = WriteNPZ
	case format == SVMLight && isGzip(path):
		write = func(w io.Writer, d *data.Dataset) error {
			z := gzip.NewWriter(w)
			return errors.Join(WriteSVMLight(z, d), z.Close())
		}
	case format != SVMLight:
		return fmt.Errorf("format: %s: %w: datasets are not written as %s; name it .npz or .svmlight", path, data.ErrFormat, format)
	}
	if err := files.Write(path, func(w io.Writer) error { return write(w, d) }); err != nil {
		return fmt.Errorf("format: %w", err)
	}
	return nil
}
