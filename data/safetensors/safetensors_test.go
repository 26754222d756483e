package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var some = []Tensor{
	{"L1", F32, []int{2, 3}, []float64{1, -2, 0.5, 0, 1e-3, 3}},
	{"scalar", F64, []int{}, []float64{math.Pi}},
	{"empty", F64, []int{0, 4}, []float64{}},
	{`a "quoted" name`, F64, []int{2}, []float64{math.Inf(1), math.SmallestNonzeroFloat64}},
}

func encode(t testing.TB, tensors []Tensor, metadata map[string]string) []byte {
	t.Helper()
	b, err := Encode(tensors, metadata)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTensorsComeBackInTheirOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := Write(path, some, map[string]string{"step": "12"}); err != nil {
		t.Fatal(err)
	}
	got, metadata, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if metadata["step"] != "12" || len(metadata["sha256"]) != 64 {
		t.Errorf("the metadata is %v", metadata)
	}
	for i, want := range some {
		if want.DType == F32 {
			want.Value = append([]float64{}, want.Value...)
			for j, v := range want.Value {
				want.Value[j] = float64(float32(v))
			}
		}
		if !reflect.DeepEqual(got[i], want) {
			t.Errorf("tensor %d is %+v, want %+v", i, got[i], want)
		}
	}
}

// file makes a file by hand, as another program would.
func file(header string, data ...byte) []byte {
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), data...)
}

func TestAFileByHandIsRead(t *testing.T) {
	got, metadata, err := Decode(file(`{"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]},"a":{"dtype":"F64","shape":[1,1],"data_offsets":[0,8]}}   `,
		0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0xc0)) // 1.0 in double, -2.0 in single precision
	if err != nil || metadata != nil {
		t.Fatal(err, metadata)
	}
	want := []Tensor{{"a", F64, []int{1, 1}, []float64{1}}, {"b", F32, []int{1}, []float64{-2}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, want %+v", got, want)
	}
}

func TestTheDataIsAligned(t *testing.T) {
	b := encode(t, some, map[string]string{"x": strings.Repeat("y", 3)})
	if n := binary.LittleEndian.Uint64(b); n%8 != 0 {
		t.Errorf("the header has %d bytes, not a multiple of 8", n)
	}
}

var malformed = map[string][]byte{
	"nothing":           nil,
	"seven bytes":       make([]byte, 7),
	"a huge header":     binary.LittleEndian.AppendUint64(nil, math.MaxUint64),
	"a torn header":     file(`{"a":`),
	"an array":          file(`[]`),
	"another dtype":     file(`{"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}}`, 1),
	"a gap":             file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, make([]byte, 8)...),
	"an overlap":        file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, make([]byte, 8)...),
	"beyond the end":    file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, make([]byte, 7)...),
	"trailing data":     file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, make([]byte, 5)...),
	"another size":      file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, make([]byte, 4)...),
	"a negative size":   file(`{"a":{"dtype":"F32","shape":[-1,-1],"data_offsets":[0,4]}}`, make([]byte, 4)...),
	"an overflow":       file(`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`),
	"a descending end":  file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,-4]}}`),
	"a wrong checksum":  file(`{"__metadata__":{"sha256":"00"},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 0, 0, 0, 0),
	"metadata not text": file(`{"__metadata__":{"step":3}}`),
	"an unknown field":  file(`{"a":{"dtype":"F32","shape":[1],"offsets":[0,4]}}`, 0, 0, 0, 0),
}

func TestMalformedFilesAreRefused(t *testing.T) {
	for name, b := range malformed {
		if _, _, err := Decode(b); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	path := filepath.Join(t.TempDir(), "bad.safetensors")
	if err := os.WriteFile(path, malformed["a gap"], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Read(path); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), `tensor "a"`) {
		t.Errorf("the error does not name file and tensor: %v", err)
	}
}

func TestEncodeRefusesWhatCannotBeRead(t *testing.T) {
	for name, tensors := range map[string][]Tensor{
		"no name":       {{"", F32, []int{1}, []float64{1}}},
		"reserved name": {{"__metadata__", F32, []int{1}, []float64{1}}},
		"twice":         {{"a", F32, []int{1}, []float64{1}}, {"a", F32, []int{1}, []float64{1}}},
		"no dtype":      {{"a", "", []int{1}, []float64{1}}},
		"another size":  {{"a", F32, []int{2}, []float64{1}}},
	} {
		if _, err := Encode(tensors, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// FuzzDecode: no input makes Decode panic, and what it reads comes back from
// Encode.
func FuzzDecode(f *testing.F) {
	f.Add(encode(f, some, map[string]string{"step": "12"}))
	for _, b := range malformed {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		tensors, metadata, err := Decode(b)
		if err != nil {
			return
		}
		total := 0
		for _, x := range tensors {
			total += len(x.Value) * x.DType.size()
			if x.Name == "" {
				return // readable, but not ours to write
			}
		}
		if total > len(b) {
			t.Fatalf("%d bytes of numbers from a file of %d", total, len(b))
		}
		again, _, err := Decode(encode(t, tensors, metadata))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(encode(t, again, metadata), encode(t, tensors, metadata)) {
			t.Errorf("%v became %v", tensors, again)
		}
	})
}
