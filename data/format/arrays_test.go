package format

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"l2mt/data"
)

func TestArraysAreReadByName(t *testing.T) {
	rows := headerOf("{'descr': '|i1', 'fortran_order': False, 'shape': (1, 2, 3)}") + "\x01\x02\x03\x04\x05\xfa"
	columns := headerOf("{'descr': '|i1', 'fortran_order': True, 'shape': (1, 2, 3)}") + "123456"
	path := inFile(t, "w.npz", packedArrays(t, map[string]string{"block1/kernel:0": rows, "by columns": columns}))
	a := must(OpenArrays(path))(t)
	defer a.Close()
	if got := a.Names(); !slices.Equal(slices.Sorted(slices.Values(got)), []string{"block1/kernel:0", "by columns"}) {
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
	if _, err := a.Float32s("by columns"); !errors.Is(err, data.ErrFormat) || !strings.Contains(err.Error(), "it is stored by columns") {
		t.Errorf("an array by columns gives %v", err)
	}
	if _, err := OpenArrays(inFile(t, "x.npz", "text")); !errors.Is(err, data.ErrFormat) {
		t.Errorf("what is no archive gives %v", err)
	}
}
