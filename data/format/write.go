package format

import (
	"compress/gzip"
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
	var write func(io.Writer, *data.Dataset) error
	switch {
	case format == NPZ:
		write = WriteNPZ
	case format == SVMLight && isGzip(path):
		write = writeGzip
	case format == SVMLight:
		write = WriteSVMLight
	default:
		return fmt.Errorf("format: %s: %w: datasets are not written as %s; name it .npz or .svmlight", path, data.ErrFormat, format)
	}
	if err := files.Write(path, func(w io.Writer) error { return write(w, d) }); err != nil {
		return fmt.Errorf("format: %w", err)
	}
	return nil
}

func writeGzip(w io.Writer, d *data.Dataset) error {
	z := gzip.NewWriter(w)
	if err := WriteSVMLight(z, d); err != nil {
		return err
	}
	return z.Close()
}
