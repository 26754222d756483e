package format

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"l2mt/data"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writeArrays makes an .npz file of one array by hand.
func writeArrays(t *testing.T, name, header string, entries any) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "w.npz")
	f := must(os.Create(path))(t)
	defer f.Close()
	z := zip.NewWriter(f)
	w := must(z.Create(name))(t)
	text := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(header)))
	must(w.Write(append(text, header...)))(t)
	if err := binary.Write(w, binary.LittleEndian, entries); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestArraysAreReadByName(t *testing.T) {
	path := writeArrays(t, "block1/kernel:0.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2, 3)}", []float64{1, 2, 3, 4, 5, -6})
	a := must(OpenArrays(path))(t)
	defer a.Close()
	if got := a.Names(); !slices.Equal(got, []string{"block1/kernel:0"}) {
		t.Errorf("names %q", got)
	}
	if got, err := a.Shape("block1/kernel:0"); err != nil || !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("shape %v, %v", got, err)
	}
	if got, err := a.Float32s("block1/kernel:0"); err != nil || !slices.Equal(got, []float32{1, 2, 3, 4, 5, -6}) {
		t.Errorf("numbers %v, %v", got, err)
	}
	if _, err := a.Float32s("block2"); !errors.Is(err, data.ErrFormat) || !strings.Contains(err.Error(), "block2") || !strings.Contains(err.Error(), path) {
		t.Errorf("a missing array gives %v", err)
	}
}

func TestArraysByColumnsAreNotMisread(t *testing.T) {
	a := must(OpenArrays(writeArrays(t, "w.npy", "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2, 3)}", make([]float32, 6))))(t)
	defer a.Close()
	if _, err := a.Float32s("w"); !errors.Is(err, data.ErrFormat) {
		t.Errorf("the error is %v", err)
	}
}

func TestWhatIsNoArchiveIsNotOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npz")
	if err := os.WriteFile(path, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenArrays(path); !errors.Is(err, data.ErrFormat) {
		t.Errorf("the error is %v", err)
	}
}
