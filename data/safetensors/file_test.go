package safetensors

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestOpenAgreesWithRead: tensors read one at a time are those of the whole
// file, also where they span several chunks.
func TestOpenAgreesWithRead(t *testing.T) {
	long := Tensor{"long", F32, []int{3, 30011}, nil}
	r := rand.New(rand.NewPCG(1, 2))
	for range 3 * 30011 {
		long.Value = append(long.Value, r.NormFloat64())
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := Write(path, append([]Tensor{long}, some...), nil); err != nil {
		t.Fatal(err)
	}
	want, _, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var names []string
	for _, w := range want {
		names = append(names, w.Name)
		shape, err := f.Shape(w.Name)
		if err != nil || !reflect.DeepEqual(shape, w.Shape) {
			t.Errorf("%s: shape %v, %v; want %v", w.Name, shape, err, w.Shape)
		}
		got, err := f.Float32s(w.Name)
		if err != nil || !slices.EqualFunc(got, w.Value, func(g float32, w float64) bool { return g == float32(w) }) {
			t.Errorf("%s: other numbers, or %v", w.Name, err)
		}
	}
	if got := f.Names(); !slices.Equal(got, names) {
		t.Errorf("names %q, want %q", got, names)
	}
	if _, err := f.Float32s("absent"); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "absent") {
		t.Errorf("a missing tensor gives %v", err)
	}
}

func TestOpenRefusesWhatReadRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bad.safetensors")
	for name, b := range malformed {
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		if f, err := Open(path); !errors.Is(err, ErrFormat) || f != nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}
