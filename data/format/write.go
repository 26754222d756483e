package format

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"l2mt/data"
	"l2mt/data/files"
)

// Write writes the dataset to an .npz file, which keeps everything. The file appears
// whole or not at all.
func Write(path string, d *data.Dataset) error {
	if strings.ToLower(filepath.Ext(path)) != ".npz" {
		return fmt.Errorf("format: %s: %w: datasets are written as .npz; name it so", path, data.ErrFormat)
	}
	if err := files.Write(path, func(w io.Writer) error { return WriteNPZ(w, d) }); err != nil {
		return fmt.Errorf("format: %w", err)
	}
	return nil
}
