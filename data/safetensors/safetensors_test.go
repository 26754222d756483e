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

	"l2mt/data/datatest"
)

var some = []Tensor{
	{Name: "L1", DType: F32, Shape: []int{2, 3}, Value: []float64{1, -2, 0.5, 0, float64(float32(1e-3)), 3}},
	{Name: "scalar", DType: F64, Shape: []int{}, Value: []float64{math.Pi}},
	{Name: "empty", DType: F64, Shape: []int{0, 4}, Value: []float64{}},
	{Name: `a "quoted" name`, DType: F64, Shape: []int{2}, Value: []float64{math.Inf(1), math.SmallestNonzeroFloat64}},
}

func encode(t testing.TB, tensors []Tensor, metadata map[string]string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.safetensors")
	datatest.Check(t, Write(path, tensors, metadata))
	return datatest.Must(os.ReadFile(path))(t)
}

func TestTensorsComeBackInTheirOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	datatest.Check(t, Write(path, some, map[string]string{"step": "12"}))
	got, metadata, err := Read(path)
	datatest.Check(t, err)
	datatest.Holds(t, metadata["step"] == "12" && len(metadata["sha256"]) == 64, "the metadata is %v", metadata)
	datatest.Equal(t, got, some, "read")
}

// file makes a file by hand, as another program would.
func file(header string, data ...byte) []byte {
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), data...)
}

func TestAFileByHandIsRead(t *testing.T) {
	content := file(`{"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]},"a":{"dtype":"F64","shape":[1,1],"data_offsets":[0,8]}}   `,
		0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0xc0) // 1.0 in double, -2.0 in single precision
	got, metadata, err := Decode(content)
	datatest.Need(t, err == nil && metadata == nil, "%v, the metadata is %v", err, metadata)
	want := []Tensor{{"a", F64, []int{1, 1}, []float64{1}}, {"b", F32, []int{1}, []float64{-2}}}
	datatest.Equal(t, got, want, "read")
}

func TestTheDataIsAligned(t *testing.T) {
	b := encode(t, some, map[string]string{"x": strings.Repeat("y", 3)})
	n := binary.LittleEndian.Uint64(b)
	datatest.Holds(t, n%8 == 0, "the header has %d bytes, not a multiple of 8", n)
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

// However a file is read, the same ones are refused.
func TestMalformedFilesAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bad.safetensors")
	for name, b := range malformed {
		_, _, err := Decode(b)
		datatest.Holds(t, errors.Is(err, ErrFormat), "%s: the error is %v", name, err)
		datatest.Check(t, os.WriteFile(path, b, 0o644))
		got, _, err := Read(path)
		datatest.Holds(t, errors.Is(err, ErrFormat) && got == nil && strings.HasPrefix(err.Error(), path+": "), "%s: the error is %v", name, err)
	}
	for name, want := range map[string]string{"a gap": `tensor "a": its data is at bytes 4 to 8 of 8; it must begin at 0`, "a huge header": "its header has"} {
		_, _, err := Decode(malformed[name])
		datatest.Says(t, err, ErrFormat, want)
	}
}

func TestWriteRefusesWhatCannotBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	one := []float64{1}
	for name, tensors := range map[string][]Tensor{
		"no name":       {{"", F32, []int{1}, one}},
		"reserved name": {{"__metadata__", F32, []int{1}, one}},
		"twice":         {{"a", F32, []int{1}, one}, {"a", F32, []int{1}, one}},
		"no dtype":      {{"a", "", []int{1}, one}},
		"another size":  {{"a", F32, []int{2}, one}},
	} {
		err := Write(path, tensors, nil)
		datatest.Holds(t, err != nil && strings.HasPrefix(err.Error(), "write "+path), "%s: the error is %v", name, err)
	}
	datatest.Refused(os.Stat(path))(t, nil)
}

// Arrays of more numbers than go through the buffer come back in either precision.
func TestLongArraysComeBack(t *testing.T) {
	for _, precision := range []DType{F32, F64} {
		long := Tensor{Name: "W0", DType: precision, Shape: []int{piece + 1, 2}}
		for i := range 2*piece + 2 {
			long.Value = append(long.Value, float64(float32(math.Sin(float64(i)))))
		}
		got, _, err := Decode(encode(t, append(some[:4:4], long), nil))
		datatest.Holds(t, err == nil && reflect.DeepEqual(got, append(some[:4:4], long)), "%s: read %v (%v)", precision, got, err)
	}
}

// FuzzDecode: no input makes Decode panic, and what it reads comes back from
// a file.
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
			total += len(x.Value) * sizes[x.DType]
			if x.Name == "" {
				return // readable, but not ours to write
			}
		}
		datatest.Need(t, total <= len(b), "%d bytes of numbers from a file of %d", total, len(b))
		once := encode(t, tensors, metadata)
		again, _, err := Decode(once)
		datatest.Check(t, err)
		datatest.Holds(t, bytes.Equal(encode(t, again, metadata), once), "%v became %v", tensors, again)
	})
}
