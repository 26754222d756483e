package safetensors

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// A file of arrays in single precision has the bytes that it would have with
// the same numbers as tensors.
func TestSinglesAreWrittenAsTensorsWouldBe(t *testing.T) {
	single := Single{Name: "W0", Shape: []int{piece/2 + 1, 2}}
	double := Tensor{Name: single.Name, DType: F32, Shape: single.Shape}
	for i := range piece + 2 { // more than goes through the buffer at once
		single.Value = append(single.Value, float32(math.Sin(float64(i))))
		double.Value = append(double.Value, float64(single.Value[i]))
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	metadata := map[string]string{"step": "12"}
	if err := WriteWith(path, some, []Single{single}, metadata); err != nil {
		t.Fatal(err)
	}
	want := encode(t, append(append([]Tensor{}, some...), double), metadata)
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("the files differ (%v)", err)
	}
	tensors, singles, got, err := ReadWith(path, func(name string) bool { return name == "W0" })
	if err != nil || got["step"] != "12" || len(tensors) != len(some) || !reflect.DeepEqual(singles, []Single{single}) {
		t.Errorf("read %d tensors, %d singles, %v (%v)", len(tensors), len(singles), got, err)
	}
	for i, want := range some[1:] {
		if !reflect.DeepEqual(tensors[i+1], want) {
			t.Errorf("tensor %d is %+v, want %+v", i+1, tensors[i+1], want)
		}
	}
	if sum, err := Checksum(path); err != nil || sum != got["sha256"] {
		t.Errorf("the checksum is %q, want %q (%v)", sum, got["sha256"], err)
	}
}

func TestWriteWithRefusesWhatEncodeRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	for name, single := range map[string]Single{
		"a name that is taken": {Name: "L1", Shape: []int{1}, Value: []float32{1}},
		"no name":              {Shape: []int{1}, Value: []float32{1}},
		"another size":         {Name: "W", Shape: []int{2, 2}, Value: []float32{1}},
	} {
		if err := WriteWith(path, some, []Single{single}, nil); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file was written")
	}
	if err := os.WriteFile(path, malformed["a huge header"], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Checksum(path); !errors.Is(err, ErrFormat) {
		t.Errorf("the error is %v", err)
	}
}
