package data

import (
	"compress/gzip"
	"fmt"
	"io"

	"l2mt/data/atomic"
)

// Write writes the dataset to a file, in the format that its name promises:
// .svmlight, .libsvm or .svm (each also with .gz), or .npz, which alone keeps
// everything. The file appears whole or not at all.
func Write(path string, d *Dataset) error {
	format, err := formatOfName(path)
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	var write func(io.Writer, *Dataset) error
	switch {
	case format == NPZ:
		write = WriteNPZ
	case format == SVMLight && isGzip(path):
		write = writeGzip
	case format == SVMLight:
		write = WriteSVMLight
	default:
		return fmt.Errorf("data: %s: %w: datasets are not written as %s; name it .npz or .svmlight", path, ErrFormat, format)
	}
	if err := atomic.Write(path, func(w io.Writer) error { return write(w, d) }); err != nil {
		return fmt.Errorf("data: %w", err)
	}
	return nil
}

func writeGzip(w io.Writer, d *Dataset) error {
	z := gzip.NewWriter(w)
	if err := WriteSVMLight(z, d); err != nil {
		return err
	}
	return z.Close()
}
