package vgg

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"l2mt/data/safetensors"
)

// npzOf makes an .npz file as numpy.savez does.
func npzOf(t *testing.T, all []safetensors.Tensor) []byte {
	t.Helper()
	var file bytes.Buffer
	z := zip.NewWriter(&file)
	for _, x := range all {
		w := must(z.Create(x.Name + ".npy"))(t)
		shape := strings.ReplaceAll(strings.Trim(fmt.Sprint(x.Shape), "[]"), " ", ", ")
		header := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%s,), }\n", shape)
		b := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(header)))
		must(w.Write(append(b, header...)))(t)
		if err := binary.Write(w, binary.LittleEndian, x.Value); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}
